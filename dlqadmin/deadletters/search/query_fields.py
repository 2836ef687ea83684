"""The fields of the query language: name, kind of value, and filter."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from enum import StrEnum

import msgspec

from dlqadmin.deadletters.models import ReplayState


class Kind(StrEnum):
    """The kind of value that a field takes."""

    NAME = "name"  # text, also as a prefix
    EXACT = "exact"  # whole text
    CHOICE = "choice"  # one of a few words
    ID = "id"  # a whole number
    NUMBER = "number"  # a whole number, a bound or a range
    TIME = "time"  # ISO 8601 or relative
    PATH = "path"  # a literal in a member or header of the record


class Field(msgspec.Struct, frozen=True):
    """One field of the query language. `choices` maps a word of the query to a value of the filter."""

    name: str
    kind: Kind
    filter: str
    doc: str
    choices: Mapping[str, str] = {}


REPLAY_STATES = {state.value: state.value for state in ReplayState}
READABLE = {"readable": "true", "unreadable": "false"}
_ROWS = (
    Field("topic", Kind.NAME, "topic", "dead letter topic"),
    Field("connector", Kind.NAME, "connector", "connector that failed"),
    Field("stage", Kind.NAME, "stage", "stage that failed"),
    Field("exception", Kind.NAME, "exception", "class of the exception, with or without its package"),
    Field("group", Kind.ID, "group", "group, by its number"),
    Field("key", Kind.EXACT, "key", "whole key; bytes as 0x…"),
    Field("after", Kind.TIME, "", "failed since: -6h, 2026-01-31, …"),
    Field("before", Kind.TIME, "", "failed before: -1h, 2026-01-31, …"),
    Field("partition", Kind.NUMBER, "partition", "partition of the dead letter topic: 3, >1, 0..2"),
    Field("offset", Kind.NUMBER, "offset", "offset in the dead letter topic: 7, >100, 10..20"),
    Field("origin_topic", Kind.NAME, "origin_topic", "topic that the record came from"),
    Field("origin_partition", Kind.NUMBER, "origin_partition", "partition that the record came from"),
    Field("origin_offset", Kind.NUMBER, "origin_offset", "offset that the record came from"),
    Field("replay", Kind.CHOICE, "replay_state", "what its last replay did", REPLAY_STATES),
    Field("is", Kind.CHOICE, "readable", "readable or unreadable", READABLE),
    Field("dialect", Kind.EXACT, "dialect", "form in which the dead letter was written"),
)
FIELDS: Mapping[str, Field] = {row.name: row for row in _ROWS}
# Fields whose second part is chosen by the user: `value.a.b` and `header.name`.
PATHS: Mapping[str, str] = {
    "value.": "a member of the JSON value: value.user.id",
    "header.": "a header: header.trace-id",
}


def find(name: str) -> Field | None:
    """Return the field of this name. Each path is a field of its own."""
    for prefix, doc in PATHS.items():
        if name.startswith(prefix) and len(name) > len(prefix):
            return Field(name, Kind.PATH, name, doc)
    return FIELDS.get(name)


def is_path(name: str) -> bool:
    """Return whether this filter is a member or header of the record."""
    return name.startswith(tuple(PATHS))


def unknown(name: str) -> str:
    """Return the error message for an unknown field."""
    if name in PATHS:
        return f"`{name}` needs a name behind the dot"
    close = difflib.get_close_matches(name.lower(), [*FIELDS, *PATHS], n=1)
    if close:
        return f"`{name}` is no field; did you mean `{close[0]}`?"
    return f"`{name}` is no field; quote the text to search for it"
