"""Parts of a value that are still JSON: a converter may leave them so where nobody on the way looks at them all.

Only the members of an object without a schema are ever unread, and what they stand in is a dict, or dicts in dicts.
Whoever leaves parts unread has made sure that they are JSON that can be read.
"""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import orjson

DIGITS = bytes(ord("0") if byte in b"0123456789" else 0 for byte in range(256))  # all digits made 0, the rest nothing
LONG_NUMBER = b"0" * 19  # in what is translated so, a number that may need more than 64 bits
BEYOND = re.compile(rb"-[0-9]{19}|[0-9]{20}")

Unread = msgspec.Raw


def read(part: Any) -> Any:
    """The part of a value, read if it was not."""
    return _read(bytes(part)) if type(part) is Unread else part


def read_all(value: Any) -> Any:
    """The value with all its parts read; the same object where they are."""
    if type(value) is Unread:
        return read(value)
    if type(value) is dict and _holds_unread(value):
        return {name: read_all(part) for name, part in value.items()}
    return value


def _read(data: bytes) -> Any:
    """As the whole would have been read: integers exactly, floats beyond their range as infinite."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return json.loads(data)
    return json.loads(data) if LONG_NUMBER in data.translate(DIGITS) and BEYOND.search(data) else value


def _holds_unread(value: dict[Any, Any]) -> bool:
    """Without recursion: what was read may nest deeper than Python calls."""
    left = [value]
    while left:
        for part in left.pop().values():
            if type(part) is Unread:
                return True
            if type(part) is dict:
                left.append(part)
    return False
