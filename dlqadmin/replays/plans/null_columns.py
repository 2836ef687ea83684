"""The column that an error calls null, and the field of a JSON value that has its name. Pure functions."""

from __future__ import annotations

import re
from typing import Any

import orjson

# SQLite writes `table.column`, PostgreSQL and MySQL quote the column.
_NULL_COLUMN = re.compile(
    r"NOT NULL constraint failed: [\w$]+\.([\w$.-]{1,128})"
    r"|null value in column [\"'`]?([\w$.-]{1,128})"
    r"|column [\"'`]([\w$.-]{1,128})[\"'`] cannot be null",
    re.IGNORECASE,
)


def null_column(message: str) -> str:
    """Return the column that is null according to the error message, or an empty text."""
    found = _NULL_COLUMN.search(message)
    return "" if found is None else next(filter(None, found.groups()))


def has_null(value: bytes | None, column: str) -> bool | None:
    """Return whether the only field of that name in a JSON value is null.

    None if the value is not JSON, or has no such field, or several.
    """
    try:
        document = orjson.loads(value or b"")
    except orjson.JSONDecodeError:
        return None
    leaves = leaves_named(document, column)
    return leaves[0] is None if len(leaves) == 1 else None


def leaves_named(document: Any, name: str) -> list[Any]:
    """Return the values of all members of that name, at any depth, that are neither objects nor arrays."""
    found, waiting = [], [document]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            found += [one for key, one in node.items() if key == name and not isinstance(one, dict | list)]
        if isinstance(node, dict | list):
            waiting += node.values() if isinstance(node, dict) else node
    return found
