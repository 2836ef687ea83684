"""The top level of a JSON object, its members left unread."""

from __future__ import annotations

from typing import Any

import msgspec

from engine.record.unread import DIGITS, LONG_NUMBER, Unread

_MANY = 500  # brackets, so that nothing nests deeper than can be read at any time
_SHORT = 2 * _MANY  # bytes: these hold fewer, and no number of more than 1000 characters
_LINE_FEED, _CARRIAGE_RETURN = b"\n\r"
_decode = msgspec.json.Decoder(dict[str, Unread]).decode


def top_level(data: bytes) -> dict[str, Any] | None:
    """The members, unread, each without a line's end in it; None for what must be read as a whole to know what it is.

    The decoder is strict in what it skips, but for what is asked here: text that is no UTF-8, numbers that are too
    long, and depth.
    """
    if _LINE_FEED in data or _CARRIAGE_RETURN in data or not (data.isascii() or _is_utf8(data)):
        return None
    if len(data) > _SHORT and (may_be_deep(data) or LONG_NUMBER in data.translate(DIGITS)):
        return None
    try:
        return _decode(data)
    except (msgspec.DecodeError, RecursionError):
        return None


def may_be_deep(data: bytes) -> bool:
    """Are there so many brackets that it may nest too deeply?"""
    return len(data) > _SHORT and data.count(b"[") + data.count(b"{") > _MANY


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
