"""Reads what the server streams, and what it wrote."""

from __future__ import annotations

import base64
import io
from typing import Any

import pyarrow.parquet
from asgiref.sync import async_to_sync


def body(response: Any) -> bytes:
    """The streamed content, read as the server reads it."""

    async def read() -> bytes:
        return b"".join([part async for part in response.streaming_content])

    assert response.status_code in (200, 206), response.content
    assert response.is_async
    return async_to_sync(read)()


def decoded(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


def table(data: bytes) -> list[dict[str, Any]]:
    """The rows of a Parquet file."""
    rows: list[dict[str, Any]] = pyarrow.parquet.read_table(io.BytesIO(data)).to_pylist()
    return rows
