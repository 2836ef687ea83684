"""The top level of a JSON object, with its members left unread."""

from __future__ import annotations

from typing import Any

import msgspec

from engine.record.unread import DIGITS, LONG_NUMBER, Unread

_MANY = 500  # brackets; JSON with fewer never nests too deep to be parsed later
_SHORT = 2 * _MANY  # bytes: shorter JSON has fewer brackets, and no number of more than 1000 characters
_STEP = 16  # bytes between samples: a number of more than 1000 characters has 332 digits in a row
_LINE_FEED, _CARRIAGE_RETURN = b"\n\r"
_decode = msgspec.json.Decoder(dict[str, Unread]).decode


def top_level(data: bytes) -> dict[str, Any] | None:
    """Return the members, unread and without line ends; None if all of the JSON has to be read."""
    if _LINE_FEED in data or _CARRIAGE_RETURN in data or not can_be_skipped(data):
        return None
    try:
        return _decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None


def can_be_skipped(data: bytes) -> bool:
    """Return whether the JSON that a decoder skips is certainly valid.

    Decoders check what they skip, with three exceptions that are checked here: invalid UTF-8, numbers that are too
    long, and depth.
    """
    if len(data) > _SHORT and (may_be_deep(data) or LONG_NUMBER in data[::_STEP].translate(DIGITS)):
        return False
    return data.isascii() or _is_utf8(data)


def may_be_deep(data: bytes) -> bool:
    """Return whether there are so many brackets that the JSON may nest too deeply."""
    return len(data) > _SHORT and _up_to_many(b"[", data) + _up_to_many(b"{", data) > _MANY


def _up_to_many(byte: bytes, data: bytes) -> int:
    """Count a byte up to `_MANY` + 1. `replace` is faster than `count`: it jumps between occurrences."""
    return len(data) - len(data.replace(byte, b"", _MANY + 1))


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
