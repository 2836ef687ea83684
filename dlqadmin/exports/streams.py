"""Streamed file responses, from the database or from the disk."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import BinaryIO

from asgiref.sync import sync_to_async

from dlqadmin.exports.formats import FilePiece

READ_BYTES = 1024 * 1024


async def from_database(found: Iterator[FilePiece]) -> AsyncIterator[bytes]:
    """Yield the bytes of the pieces.

    A piece is read only when the client has taken the previous one.
    """
    while (piece := await sync_to_async(_next_piece)(found)) is not None:
        if piece.data:
            yield piece.data


async def from_disk(path: Path, start: int, length: int) -> AsyncIterator[bytes]:
    """Yield `length` bytes of a file from `start`. The file may be deleted once it is open."""
    file = await sync_to_async(_open_at)(path, start)
    try:
        while length > 0 and (data := await sync_to_async(file.read)(min(READ_BYTES, length))):
            length -= len(data)
            yield data
    finally:
        file.close()


def _open_at(path: Path, start: int) -> BinaryIO:
    file = path.open("rb")
    file.seek(start)
    return file


def _next_piece(found: Iterator[FilePiece]) -> FilePiece | None:
    return next(found, None)
