"""Conversions of texts, numbers, times, keys and headers to values that databases can store."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta

import msgspec

from engine.record.record import Headers

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MAX_MS = 253_370_764_800_000  # the year 9999
MAX_INT, MAX_LONG = 2**31 - 1, 2**63 - 1


def clean(text: str, limit: int) -> str:
    """Return text that any database stores: without NUL and lone surrogates, cut to `limit`."""
    if len(text) <= limit and text.isascii() and "\0" not in text:
        return text
    return text[:limit].replace("\0", "�").encode("utf-8", "replace").decode()


def moment(ms: int | None) -> datetime | None:
    """Convert epoch milliseconds to a time; None outside the years 1970 to 9999."""
    return None if ms is None or not 0 <= ms < MAX_MS else EPOCH + timedelta(milliseconds=ms)


def bounded(value: int | None, maximum: int = MAX_LONG) -> int | None:
    """Return the number if a column can store it, else None."""
    return value if value is not None and -maximum <= value <= maximum else None


def key_text(key: bytes | None) -> str | None:
    """Return a key as text if it is printable UTF-8, else as `0x…`."""
    if key is None:
        return None
    try:
        text = key.decode()
    except UnicodeDecodeError:
        return "0x" + key[:96].hex()
    return text[:200] if text.isprintable() else "0x" + key[:96].hex()


def key_hash(key: bytes | None) -> int | None:
    """Return a 64-bit hash of a key. Use it for equality only."""
    if key is None:
        return None
    return int.from_bytes(hashlib.blake2b(key, digest_size=8).digest(), "big", signed=True)


def pack_headers(headers: Headers) -> bytes:
    """Pack headers into bytes, keeping their order, duplicates and null values."""
    return msgspec.msgpack.encode([(clean(name, 10_000), value) for name, value in headers])


def unpack_headers(data: bytes) -> Headers:
    """Unpack the headers that `pack_headers` packed."""
    return msgspec.msgpack.decode(data, type=Headers)


def blank_headers(headers: Headers) -> Headers:
    """Return the headers with null in place of their values, in the same order."""
    return tuple((name, None) for name, _ in headers)
