"""Changes entered as a form: set, unset or cast a field, change a header or the key."""

from __future__ import annotations

import copy
import re
from typing import Any

import msgspec

from dlqadmin.replays.fixes import json_values
from dlqadmin.replays.fixes.errors import ProgramRefused, RecordUnusable
from dlqadmin.replays.fixes.json_patch import Pointer, find, pointer, put, remove, written
from dlqadmin.replays.fixes.json_values import Number, encodable
from dlqadmin.replays.items.messages import Outgoing
from dlqadmin.rest.text import shortened
from engine.record.replay import PREFIX

MAX_ROWS = 100
OF_VALUE = ("set", "unset", "cast")
ACTS = (*OF_VALUE, "set_header", "unset_header", "set_key")
WHEN = ("always", "null", "missing", "null_or_missing", "present")
TYPES = ("string", "number", "integer", "boolean")
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
WHOLE = re.compile(r"(-?(?:0|[1-9][0-9]*))(?:\.0+)?")
TRUTH = {"true": True, "1": True, "false": False, "0": False}


class FormLine(msgspec.Struct, frozen=True):
    """One line of the form. `value` is parsed JSON, `name` the name of a header."""

    act: str
    path: Pointer = ()
    when: str = "always"
    to: str = ""
    name: str = ""
    value: Any = None


def parse(text: str) -> list[FormLine]:
    """Parse the lines of a form. Raises Refused."""
    rows = json_values.program(text, "The form")
    if not isinstance(rows, list) or not rows:
        raise ProgramRefused("The form has no lines. Add one that sets, unsets or casts a field.")
    if len(rows) > MAX_ROWS:
        raise ProgramRefused(f"A form has at most {MAX_ROWS} lines.")
    return [_row(f"Line {index}", row) for index, row in enumerate(rows, 1)]


def touches_value(rows: list[FormLine]) -> bool:
    """Return whether any line needs the value to be JSON."""
    return any(row.act in OF_VALUE for row in rows)


def apply(rows: list[FormLine], value: Any) -> Any:
    """Apply the lines that change the value, and return it. It is changed in place. Raises Unusable."""
    for row in rows:
        if row.act in OF_VALUE and _meant(row, value):
            value = _apply(row, value)
    return value


def frame(rows: list[FormLine], message: Outgoing) -> Outgoing:
    """Return the message after the lines that change its key and headers."""
    key, headers = message.key, list(message.headers)
    for row in rows:
        new = None if row.value is None else str(row.value).encode()
        if row.act == "set_key":
            key = new
        elif row.act == "unset_header":
            headers = [one for one in headers if one[0] != row.name]
        elif row.act == "set_header":
            # The header stays at its position.
            at = next((index for index, one in enumerate(headers) if one[0] == row.name), len(headers))
            headers = [one for one in headers if one[0] != row.name]
            headers.insert(at, (row.name, new))
    return Outgoing(key, message.value, tuple(headers))


def _meant(row: FormLine, value: Any) -> bool:
    try:
        found = find(value, row.path)
    except RecordUnusable:
        # The field is missing. By default only `set` creates it.
        return row.when in ("missing", "null_or_missing") or (row.when == "always" and row.act == "set")
    if row.when in ("null", "null_or_missing"):
        return found is None
    return row.when != "missing"


def _apply(row: FormLine, value: Any) -> Any:
    if row.act == "set":
        return put(value, row.path, copy.deepcopy(row.value), insert=False)
    if row.act == "unset":
        return remove(value, row.path)
    try:
        found = find(value, row.path)
    except RecordUnusable:
        return value
    return put(value, row.path, _cast(found, row), insert=False)


def _cast(found: Any, row: FormLine) -> Any:
    """Convert a value to another type. Null stays null. Raises Unusable."""
    if found is None or (row.to == "boolean" and isinstance(found, bool)):
        return found
    if isinstance(found, dict | list):
        raise RecordUnusable(
            f"{written(row.path)} is an {'object' if isinstance(found, dict) else 'array'}, not a single value"
        )
    # Booleans are spelled as in JSON.
    text = found.text if isinstance(found, Number) else found if isinstance(found, str) else str(found).lower()
    if row.to == "string":
        return text
    if row.to == "boolean" and text.strip().lower() in TRUTH:
        return TRUTH[text.strip().lower()]
    if row.to == "number" and NUMBER.fullmatch(text.strip()):
        return Number(text.strip())
    if row.to == "integer" and (whole := WHOLE.fullmatch(text.strip())):
        return Number(whole[1])
    shown = shortened(text, 40)
    raise RecordUnusable(f'{written(row.path)} is "{shown}", which can\'t be cast to {row.to}')


def _row(name: str, row: Any) -> FormLine:
    if not isinstance(row, dict):
        raise ProgramRefused(f"{name} is not an object.")
    act, when, to = row.get("act"), row.get("when", "always"), row.get("to", "")
    if act not in ACTS:
        raise ProgramRefused(f'{name}: "act" must be one of {", ".join(ACTS)}.')
    if act in ("set", "set_header", "set_key") and "value" not in row:
        raise ProgramRefused(f'{name} ({act}) has no "value".')
    if act not in OF_VALUE:
        return _frame_row(name, act, row)
    if when not in WHEN:
        raise ProgramRefused(f'{name}: "when" must be one of {", ".join(WHEN)}.')
    if act == "cast" and to not in TYPES:
        raise ProgramRefused(f'{name}: "to" must be one of {", ".join(TYPES)}.')
    return FormLine(act, _path(name, row.get("path")), when, to, value=row.get("value"))


def _frame_row(name: str, act: str, row: dict[str, Any]) -> FormLine:
    """Parse a line that changes the key or a header. Raises Refused."""
    if not isinstance(row.get("value"), str | None):
        raise ProgramRefused(f"{name}: the value of a key or header must be text or null.")
    header = row.get("name", "")
    if not all(encodable(text) for text in (row.get("value"), header) if isinstance(text, str)):
        raise ProgramRefused(f"{name} contains an unpaired surrogate, which UTF-8 can't encode.")
    if act != "set_key" and (not isinstance(header, str) or not header):
        raise ProgramRefused(f'{name} has no "name".')
    if act != "set_key" and header.startswith(PREFIX):
        raise ProgramRefused(
            f"{name}: the replay adds the {PREFIX}* headers when it sends the record. Choose another name."
        )
    return FormLine(act, name=header, value=row.get("value"))


def _path(name: str, text: Any) -> Pointer:
    """Parse a path: `/a/b` as in JSON Patch, a single name, or names separated by dots.

    Raises Refused.
    """
    if not isinstance(text, str) or not text:
        raise ProgramRefused(f"{name} names no field.")
    if not text.startswith("/"):
        return tuple(text.split("."))
    try:
        return pointer(text)
    except ValueError as error:
        raise ProgramRefused(f"{name}: {error}.") from None
