"""JSON Patch (RFC 6902). Patches are checked before any record is changed.

A `test` that fails leaves the record untouched, so tests can select records.
"""

from __future__ import annotations

import copy
import re
from typing import Any

import msgspec

from dlqadmin.replays.fixes import json_values
from dlqadmin.replays.fixes.errors import ProgramRefused, RecordUnusable

MAX_OPERATIONS = 100
MAX_COPIED_BYTES = 4 * 1024 * 1024
VALUE_BYTES = 8  # cost of each value besides its text: a million empty lists need time and memory too
VALUED, SOURCED = ("add", "replace", "test"), ("move", "copy")
OPERATIONS = (*VALUED, *SOURCED, "remove")
ESCAPES = re.compile(r"~(?![01])")

Pointer = tuple[str, ...]


class Unmet(Exception):
    """A `test` failed."""


class Operation(msgspec.Struct, frozen=True):
    """One operation. `value` is parsed JSON in which numbers keep their spelling."""

    op: str
    path: Pointer
    source: Pointer = ()
    value: Any = None


def parse(text: str) -> list[Operation]:
    """Parse the operations of a patch. Raises Refused."""
    rows = json_values.program(text, "The patch")
    if not isinstance(rows, list) or not rows:
        raise ProgramRefused(
            'A JSON Patch is an array of operations, such as [{"op": "replace", "path": "/a", "value": 0}].'
        )
    if len(rows) > MAX_OPERATIONS:
        raise ProgramRefused(f"A patch has at most {MAX_OPERATIONS} operations.")
    return [_operation(index, row) for index, row in enumerate(rows, 1)]


def apply(operations: list[Operation], value: Any) -> Any:
    """Apply the patch to the value in place and return it. Raises Unusable and Unmet."""
    copied = 0
    for one in operations:
        # A hundred copies of the whole value into itself would exhaust any memory.
        if one.op == "copy":
            copied += _size_bytes(find(value, one.source))
            if copied > MAX_COPIED_BYTES:
                raise RecordUnusable(f"the patch would copy more than {MAX_COPIED_BYTES // 1024**2} MB")
        value = _apply(one, value)
    return value


def pointer(text: str) -> Pointer:
    """Parse a JSON Pointer (RFC 6901) into steps. Raises ValueError."""
    if text and not text.startswith("/"):
        raise ValueError(f'"{text}" is not a JSON Pointer: it must begin with "/"')
    if ESCAPES.search(text):
        raise ValueError(f'"{text}" is not a JSON Pointer: write "~" as ~0, and "/" within a name as ~1')
    return tuple(step.replace("~1", "/").replace("~0", "~") for step in text.split("/")[1:])


def written(path: Pointer) -> str:
    """Format steps as a JSON Pointer."""
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in path) or "the whole value"


def find(value: Any, path: Pointer) -> Any:
    """Return the value at the path. Raises Unusable."""
    for depth, step in enumerate(path):
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and (index := _index(step)) is not None and index < len(value):
            value = value[index]
        else:
            raise RecordUnusable(f"{written(path[: depth + 1])} does not exist")
    return value


def put(value: Any, path: Pointer, new: Any, *, insert: bool) -> Any:
    """Put `new` at the path and return the value. Raises Unusable.

    In an array, `new` is inserted if `insert` is set, else it replaces the item.
    """
    if not path:
        return new
    parent, step = find(value, path[:-1]), path[-1]
    if isinstance(parent, dict):
        parent[step] = new
        return value
    index = len(parent) if isinstance(parent, list) and step == "-" else _index(step)
    if not isinstance(parent, list) or index is None or index > len(parent) - (0 if insert else 1):
        raise RecordUnusable(
            f"{written(path)} can't be set: its parent is not an object or array, or the index is out of range"
        )
    if insert:
        parent.insert(index, new)
    else:
        parent[index] = new
    return value


def remove(value: Any, path: Pointer) -> Any:
    """Remove the value at the path and return the rest. Raises Unusable."""
    find(value, path)
    if not path:
        raise RecordUnusable("the whole value can't be removed")
    parent = find(value, path[:-1])
    del parent[path[-1] if isinstance(parent, dict) else int(path[-1])]
    return value


def _apply(one: Operation, value: Any) -> Any:
    if one.op == "test":
        try:
            holds = json_values.equal(find(value, one.path), one.value)
        except RecordUnusable:
            holds = False
        if not holds:
            raise Unmet
        return value
    if one.op == "remove":
        return remove(value, one.path)
    if one.op == "replace":
        find(value, one.path)
        # Copied, because the patch is applied to many records.
        return put(value, one.path, copy.deepcopy(one.value), insert=False)
    if one.op == "add":
        return put(value, one.path, copy.deepcopy(one.value), insert=True)
    moved = find(value, one.source)
    value = remove(value, one.source) if one.op == "move" else value
    return put(value, one.path, copy.deepcopy(moved), insert=True)


def _size_bytes(value: Any) -> int:
    """Return the approximate size of the value's JSON. Counting stops above MAX_COPIED_BYTES."""
    size, left = 0, [value]
    while left and size <= MAX_COPIED_BYTES:
        one = left.pop()
        size += VALUE_BYTES
        if isinstance(one, dict):
            size += sum(map(len, one))
            left += one.values()
        elif isinstance(one, list):
            left += one
        elif isinstance(one, str):
            size += len(one)
        elif isinstance(one, json_values.Number):
            size += len(one.text)
    return size


def _operation(index: int, row: Any) -> Operation:
    name = f"Operation {index}"
    if not isinstance(row, dict):
        raise ProgramRefused(f"{name} is not an object.")
    op = row.get("op")
    if op not in OPERATIONS:
        raise ProgramRefused(f'{name}: "op" must be one of {", ".join(sorted(OPERATIONS))}.')
    if op in VALUED and "value" not in row:
        raise ProgramRefused(f'{name} ({op}) has no "value".')
    path = _pointer(name, row, "path")
    source = _pointer(name, row, "from") if op in SOURCED else ()
    # RFC 6902, section 4.4: "from" must not be a proper prefix of "path".
    if op == "move" and path[: len(source)] == source and path != source:
        raise ProgramRefused(f"{name} would move {written(source)} into itself.")
    return Operation(op, path, source, row.get("value"))


def _pointer(name: str, row: dict[str, Any], key: str) -> Pointer:
    text = row.get(key)
    if not isinstance(text, str):
        raise ProgramRefused(f'{name} has no "{key}".')
    try:
        return pointer(text)
    except ValueError as error:
        raise ProgramRefused(f"{name}: {error}.") from None


def _index(step: str) -> int | None:
    return int(step) if re.fullmatch(r"0|[1-9][0-9]{0,8}", step) else None
