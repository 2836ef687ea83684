"""Conversions of texts, numbers, times, keys and headers to values that databases can store."""

from __future__ import annotations

import hashlib

import msgspec

from engine.dialects.letter_values import EPOCH, MAX_INT, MAX_LONG, bounded, clean, moment
from engine.record.record import Headers

__all__ = [
    "EPOCH",
    "MAX_INT",
    "MAX_LONG",
    "blank_headers",
    "bounded",
    "clean",
    "key_hash",
    "key_text",
    "moment",
    "pack_headers",
    "unpack_headers",
]


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
