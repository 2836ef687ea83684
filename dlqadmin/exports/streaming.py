"""A file as it is sent, while it is read: from the database, or from the disk."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import BinaryIO

from asgiref.sync import sync_to_async

from dlqadmin.exports.formats import Piece

READ_BYTES = 1024 * 1024


async def from_database(found: Iterator[Piece]) -> AsyncIterator[bytes]:
    """The bytes of the pieces; the next one is read when the client has taken the one before."""
    while (piece := await sync_to_async(_next)(found)) is not None:
        if piece.data:
            yield piece.data


async def from_disk(path: Path, start: int, length: int) -> AsyncIterator[bytes]:
    """So many bytes of a file from `start`; once it is open it may be deleted."""
    file = await sync_to_async(_opened)(path, start)
    try:
        while length > 0 and (data := await sync_to_async(file.read)(min(READ_BYTES, length))):
            length -= len(data)
            yield data
    finally:
        file.close()


def _opened(path: Path, start: int) -> BinaryIO:
    file = path.open("rb")
    file.seek(start)
    return file


def _next(found: Iterator[Piece]) -> Piece | None:
    return next(found, None)
