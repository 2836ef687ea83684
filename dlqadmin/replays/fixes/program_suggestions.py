"""Suggested jq programs for the fields that errors name. Each says which part is a guess."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from dlqadmin.replays.fixes.error_fields import ErrorField
from dlqadmin.replays.fixes.field_paths import FieldPath, jq_path, plain_name
from dlqadmin.replays.fixes.field_statistics import SelectionStatistics
from dlqadmin.replays.fixes.selection_fields import FieldsRead, ResolvedField

MAX_SUGGESTED = 8
MAX_PATHS = 3  # for one field
GUESS = "is a guess: the error does not name a value"
NUMBERS = ("int", "float", "double", "decimal", "numeric", "long", "short", "real", "bigint")
TEXTS = ("string", "varchar", "text", "char")
DEFAULT_OF_TYPE = {"number": "0", "string": '""', "boolean": "false"}


class SuggestedProgram(msgspec.Struct, frozen=True):
    """A jq program, with a title and the reason."""

    title: str
    why: str
    program: str


def suggested_programs(read: FieldsRead) -> list[SuggestedProgram]:
    """Return programs for the fields that the errors name. A field without a path gets none."""
    found = [one for resolved in read.named for one in _of_field(resolved, read.statistics)]
    return [*found[:MAX_SUGGESTED], *_of_all(read)]


def default_value(kind: str) -> str | None:
    """Return a default for the type that an error asks for, as JSON. None if the type is unknown."""
    if kind.startswith(NUMBERS):
        return "0"
    if kind.startswith(TEXTS):
        return '""'
    return "false" if kind.startswith("bool") else None


def fill(path: FieldPath, value: str, *, inside: bool, keeps_false: bool) -> str:
    """Return a jq program that writes the value where the path has null or nothing.

    - `inside`: only where the parent is an object, so that no parent is created.
    - `keeps_false`: false stays. jq's `//=` replaces it, too.
    """
    field = jq_path(path)
    change = f"if {field} == null then {field} = {value} else . end" if keeps_false else f"{field} //= {value}"
    return f'if ({jq_path(path[:-1])} | type) == "object" then {change} else . end' if inside else change


def _of_field(resolved: ResolvedField, statistics: SelectionStatistics) -> Iterator[SuggestedProgram]:
    for path in resolved.paths[:MAX_PATHS]:
        if resolved.field.fault == "type":
            yield from _conversions(resolved.field, path, statistics)
        elif statistics.empty(path):
            yield from _fills(resolved.field, path, statistics)


def _fills(field: ErrorField, path: FieldPath, statistics: SelectionStatistics) -> Iterator[SuggestedProgram]:
    many = f"{statistics.empty(path):,} of {statistics.read:,} records"
    for value in _defaults(field, path, statistics):
        yield SuggestedProgram(
            f"Set {plain_name(path)} to {value} where it is null",
            f"The error names {field.name}. {plain_name(path)} is null or missing in {many}. {value} {GUESS}.",
            _fill(path, value, statistics),
        )


def _conversions(field: ErrorField, path: FieldPath, statistics: SelectionStatistics) -> Iterator[SuggestedProgram]:
    texts = statistics.fields[path].types["string"]
    if not field.type.startswith(NUMBERS) or not texts:
        return
    name, jq = plain_name(path), jq_path(path)
    yield SuggestedProgram(
        f"Convert {name} to a number, and other text to null",
        f"The error asks for {field.type}. {name} is text in {texts:,} of {statistics.read:,} records. "
        "Null for text that is no number is a guess.",
        f'if ({jq} | type) == "string" then {jq} |= (tonumber? // null) else . end',
    )


def _of_all(read: FieldsRead) -> Iterator[SuggestedProgram]:
    """Yield one program for all empty NOT NULL columns, because a row's error names only the first of them."""
    columns = [one for one in (*read.named, *read.constrained) if one.field.fault == "null" and len(one.paths) == 1]
    empty = {one.paths[0]: one.field for one in columns if read.statistics.empty(one.paths[0])}
    if len(empty) < 2:
        return
    parts = [_fill(path, _defaults(field, path, read.statistics)[0], read.statistics) for path, field in empty.items()]
    names = ", ".join(plain_name(path) for path in empty)
    yield SuggestedProgram(
        f"Set {len(empty)} NOT NULL columns where they are null",
        f"A database names only the first null column of a row. Errors of this connector name {names}. "
        "The values are guesses.",
        " | ".join(f"({part})" if part.startswith("if ") else part for part in parts),
    )


def _fill(path: FieldPath, value: str, statistics: SelectionStatistics) -> str:
    return fill(
        path,
        value,
        inside=len(path) > 1 and statistics.missing(path) > 0,
        keeps_false=statistics.fields[path].types["boolean"] > 0,
    )


def _defaults(field: ErrorField, path: FieldPath, statistics: SelectionStatistics) -> list[str]:
    """Return the default of the declared type, else of the type that other records have; else both usual ones."""
    if (declared := default_value(field.type)) is not None:
        return [declared]
    types = statistics.fields[path].types
    seen = [value for name, value in DEFAULT_OF_TYPE.items() if types[name]]  # type: ignore[index]  # they are JsonTypes
    return seen or ["0", '""']
