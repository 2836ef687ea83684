"""The top level of a JSON object, its members left unread."""

from __future__ import annotations

from typing import Any

import msgspec

from engine.record.unread import DIGITS, LONG_NUMBER, Unread

_MANY = 500  # brackets, so that nothing nests deeper than can be read at any time
_SHORT = 2 * _MANY  # bytes: these hold fewer, and no number of more than 1000 characters
_STEP = 16  # bytes: a number of more than 1000 characters has 332 digits in a row, and each 16th of them is looked at
_LINE_FEED, _CARRIAGE_RETURN = b"\n\r"
_decode = msgspec.json.Decoder(dict[str, Unread]).decode


def top_level(data: bytes) -> dict[str, Any] | None:
    """The members, unread, each without a line's end in it; None for what is only known when all is read."""
    if _LINE_FEED in data or _CARRIAGE_RETURN in data or not can_be_skipped(data):
        return None
    try:
        return _decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None


def can_be_skipped(data: bytes) -> bool:
    """Is it sure that what a decoder skips can be read?

    Decoders are strict in what they skip, but for what is asked here: text that is no UTF-8, numbers that are too
    long, and depth.
    """
    if len(data) > _SHORT and (may_be_deep(data) or LONG_NUMBER in data[::_STEP].translate(DIGITS)):
        return False
    return data.isascii() or _is_utf8(data)


def may_be_deep(data: bytes) -> bool:
    """Are there so many brackets that it may nest too deeply?"""
    return len(data) > _SHORT and _up_to_many(b"[", data) + _up_to_many(b"{", data) > _MANY


def _up_to_many(byte: bytes, data: bytes) -> int:
    """How often it occurs. `count` looks at byte after byte, `replace` goes from one occurrence to the next."""
    return len(data) - len(data.replace(byte, b"", _MANY + 1))


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
