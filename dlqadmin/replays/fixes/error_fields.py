"""The fields that an error message names: null columns, missing fields, and values of a wrong type."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from dlqadmin.deadletters.index.error_messages import MESSAGES, Fault, found_parts

MAX_ERROR = 8000
MAX_NAMED = 20  # fields of many messages


class ErrorField(msgspec.Struct, frozen=True):
    """A field that an error names.

    - `name`: as it is in the error. Dots separate a table or nested fields.
    - `table`: the table of the column, or empty.
    - `type`: the type that the error asks for, in lower case, or empty.
    """

    name: str
    fault: Fault
    table: str = ""
    type: str = ""


def error_fields(message: str) -> tuple[ErrorField, ...]:
    """Return the fields that the message names, each once, in the order of the table."""
    return _once(_found(message[:MAX_ERROR]))


def fields_of_all(messages: Iterable[str]) -> tuple[ErrorField, ...]:
    """Return the fields that any of these messages names, each once, and at most MAX_NAMED."""
    return _once(field for message in dict.fromkeys(messages) for field in error_fields(message))[:MAX_NAMED]


def _found(message: str) -> Iterator[ErrorField]:
    for row in MESSAGES:
        if row.fault is not None:
            for parts in found_parts(message, row):
                if parts.name:
                    yield ErrorField(parts.name, row.fault, parts.table, parts.kind.lower())


def _once(fields: Iterable[ErrorField]) -> tuple[ErrorField, ...]:
    """Return the fields without those of the same name and table. The first one counts."""
    kept: dict[tuple[str, str], ErrorField] = {}
    for field in fields:
        same_name = any(name == field.name for name, _ in kept)
        if (field.name, field.table) not in kept and not (same_name and not field.table):
            kept[field.name, field.table] = field
    return tuple(kept.values())
