"""Unparsed JSON parts of a value, left by a converter when no later stage reads all of them.

Only members of an object without a schema are ever unparsed. Their containers are dicts, or dicts in dicts. The
converter that leaves parts unparsed has checked that they are valid JSON.
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import orjson

# Translates digits to 0 and everything else to NUL.
DIGITS = bytes(ord("0") if byte in b"0123456789" else 0 for byte in range(256))
LONG_NUMBER = b"0" * 19  # in translated text: a number that may need more than 64 bits
BEYOND = re.compile(rb"-[0-9]{19}|[0-9]{20}")

Unread = msgspec.Raw


def read(part: Any) -> Any:
    """Return the part of a value, parsed if necessary."""
    return _read(bytes(part)) if type(part) is Unread else part


def read_all(value: Any) -> Any:
    """Return the value with all its parts parsed. It is the same object if nothing was unparsed."""
    if type(value) is Unread:
        return read(value)
    if type(value) is dict and _holds_unread(value):
        return {name: read_all(part) for name, part in value.items()}
    return value


def _read(data: bytes) -> Any:
    """Parse a part as the whole value would be parsed: integers exactly, floats out of range as infinity."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return json.loads(data)
    return json.loads(data) if LONG_NUMBER in data.translate(DIGITS) and BEYOND.search(data) else value


def _holds_unread(value: dict[Any, Any]) -> bool:
    """Return whether a dict holds unparsed parts. Not recursive: values may nest deeper than Python's stack."""
    left = [value]
    while left:
        for part in left.pop().values():
            if type(part) is Unread:
                return True
            if type(part) is dict:
                left.append(part)
    return False
