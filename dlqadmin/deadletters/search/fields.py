"""The fields of a dead letter: one table for filters, the query language, facets, exports and screens.

A new field needs a row here, its column in the model with a migration, and its value in
`index/letter_rows.py`. `make reference` then writes the list of the screens.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

import msgspec
from django.db.models import Q

from dlqadmin.deadletters.models import ReplayState, WorkState
from dlqadmin.deadletters.replay_marks import MARK, WORK, marked, worked
from dlqadmin.deadletters.search.computed_conditions import (
    has_exception,
    has_message,
    has_text,
    in_group,
    matches_key,
    was_replayed_by,
)
from dlqadmin.deadletters.search.member_paths import HEADER, VALUE, is_path, write_path
from dlqadmin.deadletters.search.number_ranges import any_of


class FieldKind(StrEnum):
    """The values that a filter or a query accepts for a field."""

    NAME = "name"  # text, also as a prefix; `name_lookup` finds the names
    EXACT = "exact"  # whole text
    TEXT = "text"  # as written in queries, also quoted or as a prefix
    CHOICE = "choice"  # one of a few words
    ID = "id"  # a whole number
    NUMBER = "number"  # a whole number, a bound or a range
    TIME = "time"  # ISO 8601 or relative
    PATH = "path"  # a literal in a member or header of the record


class ColumnType(StrEnum):
    """The type of a stored value, as export files name it."""

    LONG = "long"
    INT = "int"
    TEXT = "text"
    TIME = "time"
    FLAG = "flag"


class FieldHome(StrEnum):
    """The table with the field's values."""

    LETTER = "letter"  # DeadLetter only
    COUNTER = "counter"  # DeadLetter, and also the counters by hour and day
    FINGERPRINT = "fingerprint"  # Fingerprint, by which the counters count too
    MARK = "mark"  # ReplayMark, which lacks dead letters without a replay


class DeadLetterField(msgspec.Struct, frozen=True):
    """One field of a dead letter.

    - `name`: the name as a filter, in URLs, and as a facet.
    - `label`: the name on screens. `help` explains it in suggestions.
    - `kind`: the values that filters accept; None if no filter uses the field.
    - `stored_as`, `asked_as`, `exported_as`: the column of `home`, the name in the query language and the
      column in export files, if they differ from `name`. The query language lacks a field with an empty name.
    - `empty_is_null`: an empty text means that the value is unknown.
    - `words`: a query's words for values of the filter.
    - `condition`: the condition for a list of values; None if the kind determines it.
    - `of_content`: filters by this field reveal content of records.
    - `facet`: the position among the facets; 0 without a facet.
    - `export`: the position among the columns of export files; 0 without a column. Readers may rely on
      positions, so a new column takes the next number.
    - `is_fact`: the page of a record shows the value, if there is one, with a link to the records that share it.
    """

    name: str
    label: str
    help: str
    kind: FieldKind | None
    type: ColumnType
    home: FieldHome = FieldHome.LETTER
    stored_as: str | None = None
    asked_as: str | None = None
    exported_as: str | None = None
    empty_is_null: bool = False
    words: Mapping[str, str] = {}
    condition: Callable[[Sequence[str]], Q] | None = None
    of_content: bool = False
    facet: int = 0
    export: int = 0
    is_fact: bool = False

    @property
    def column(self) -> str:
        """Return the name of the column in its home."""
        return self.name if self.stored_as is None else self.stored_as

    @property
    def term(self) -> str:
        """Return the name in the query language, or an empty text."""
        return "" if self.kind is None else self.name if self.asked_as is None else self.asked_as

    @property
    def export_name(self) -> str:
        """Return the name of the column in export files."""
        return self.name if self.exported_as is None else self.exported_as

    @property
    def takes_numbers(self) -> bool:
        """Return whether filters accept numbers only."""
        return self.kind in (FieldKind.ID, FieldKind.NUMBER)

    def matches(self, values: Sequence[str]) -> Q:
        """Return a condition for any of these checked values, on the rows of DeadLetter or Fingerprint."""
        if self.condition is not None:
            return self.condition(values)
        if self.kind is FieldKind.NUMBER:
            return any_of(self.column, values)
        if self.type is ColumnType.FLAG:
            return Q(**{f"{self.column}__in": [value == "true" for value in values]})
        return Q(**{f"{self.column}__in": list(values)})


REPLAY_STATES = {state.value: state.value for state in ReplayState}
WORK_STATES = {state.value: state.value for state in WorkState}
READABLE = {"readable": "true", "unreadable": "false"}
_Row, _Kind, _Type, _Home = DeadLetterField, FieldKind, ColumnType, FieldHome  # a row fits a line
# Suggestions have the order of these rows.
_FILTERS = (
    _Row("topic", "Topic", "dead letter topic", _Kind.NAME, _Type.TEXT, _Home.COUNTER, facet=5, export=3),
    _Row(
        "connector",
        "Connector",
        "connector of the record",
        _Kind.NAME,
        _Type.TEXT,
        _Home.COUNTER,
        facet=4,
        export=12,
        empty_is_null=True,
    ),
    _Row("stage", "Stage", "stage of the error", _Kind.NAME, _Type.TEXT, _Home.FINGERPRINT, facet=1, export=14),
    _Row(
        "exception",
        "Exception",
        "exception class, with or without its package",
        _Kind.NAME,
        _Type.TEXT,
        _Home.FINGERPRINT,
        stored_as="exception_class",
        exported_as="exception_class",
        condition=has_exception,
        facet=2,
        export=15,
    ),
    _Row(
        "group",
        "Group",
        "group number",
        _Kind.ID,
        _Type.LONG,
        _Home.FINGERPRINT,
        stored_as="group_id",
        condition=in_group,
        facet=3,
        export=17,
    ),
    _Row(
        "key",
        "Key",
        "whole key or its beginning: 17*; bytes as 0x…",
        _Kind.TEXT,
        _Type.TEXT,
        stored_as="key_hash",
        condition=matches_key,
        of_content=True,
    ),
    _Row(
        "message",
        "Message",
        "words of the exception's message, or a phrase in quotes",
        _Kind.TEXT,
        _Type.TEXT,
        condition=has_message,
        export=16,
    ),
    _Row("after", "After", "failed at or after: -6h, 2026-01-31, …", _Kind.TIME, _Type.TIME, stored_as="failed_at"),
    _Row("before", "Before", "failed before: -1h, 2026-01-31, …", _Kind.TIME, _Type.TIME, stored_as="failed_at"),
    _Row(
        "partition",
        "Dead letter partition",
        "partition of the dead letter topic",
        _Kind.NUMBER,
        _Type.INT,
        asked_as="dlq_partition",
        export=4,
    ),
    _Row(
        "offset",
        "Dead letter offset",
        "offset in the dead letter topic",
        _Kind.NUMBER,
        _Type.LONG,
        asked_as="dlq_offset",
        export=5,
    ),
    _Row(
        "origin_topic",
        "Origin topic",
        "origin topic of the record",
        _Kind.NAME,
        _Type.TEXT,
        export=8,
        empty_is_null=True,
    ),
    _Row(
        "origin_partition",
        "Origin partition",
        "origin partition of the record: 3, >1, 0..2",
        _Kind.NUMBER,
        _Type.INT,
        asked_as="partition",
        facet=6,
        export=9,
    ),
    _Row(
        "origin_offset",
        "Origin offset",
        "origin offset of the record: 7, >100, 10..20",
        _Kind.NUMBER,
        _Type.LONG,
        asked_as="offset",
        export=10,
    ),
    _Row(
        MARK,
        "Replay state",
        "result of the last replay",
        _Kind.CHOICE,
        _Type.TEXT,
        _Home.MARK,
        stored_as="state",
        asked_as="replay",
        words=REPLAY_STATES,
        condition=marked,
        facet=7,
        export=22,
    ),
    _Row(
        "replay_id",
        "Sent by replay",
        "the header dlq.replay.id of a record that a replay sent and that failed again",
        _Kind.EXACT,
        _Type.TEXT,
        stored_as="replay_item",
        condition=was_replayed_by,
    ),
    _Row(
        WORK,
        "Work",
        "work that is left: open, replaying, passed or set_aside",
        _Kind.CHOICE,
        _Type.TEXT,
        _Home.MARK,
        stored_as="state",
        words=WORK_STATES,
        condition=worked,
        facet=8,
    ),
    _Row(
        "readable",
        "Readable",
        "readable or unreadable",
        _Kind.CHOICE,
        _Type.FLAG,
        asked_as="is",
        words=READABLE,
        export=20,
    ),
    _Row("dialect", "Dialect", "format of the dead letter", _Kind.EXACT, _Type.TEXT, export=19),
    _Row(
        "consumer_group",
        "Consumer group",
        "consumer group that failed, if the dead letter names it",
        _Kind.EXACT,
        _Type.TEXT,
        export=23,
        is_fact=True,
    ),
    _Row(
        "cluster",
        "Cluster",
        "Kafka cluster of the dead letter topic",
        _Kind.NAME,
        _Type.TEXT,
        _Home.COUNTER,
        facet=9,
        export=2,
    ),
    _Row(
        "text",
        "Text",
        "part of a message or exception, or a whole key",
        _Kind.EXACT,
        _Type.TEXT,
        asked_as="",
        condition=has_text,
        of_content=True,
    ),
)
_EXPORTED_ONLY = (
    _Row("id", "Id", "number in the index", None, _Type.LONG, export=1),
    _Row("failed_at", "Failed at", "time of the failure", None, _Type.TIME, export=6),
    _Row("indexed_at", "Indexed at", "time at which the index took it", None, _Type.TIME, export=7),
    _Row(
        "origin_timestamp",
        "Origin timestamp",
        "timestamp of the record in its origin topic",
        None,
        _Type.TIME,
        export=11,
    ),
    _Row("task_id", "Task", "task that failed", None, _Type.TEXT, export=13, empty_is_null=True),
    _Row("attempt", "Attempt", "number of retries before the failure", None, _Type.INT, export=18),
    _Row("original", "Original", "source of the original bytes", None, _Type.TEXT, export=21),
)
# Fields whose second part is chosen by the user: `value.a.b` and `header.name`.
PATHS: Mapping[str, str] = {
    VALUE: 'a member of the JSON value: value.user.id, value."US Gross"',
    HEADER: "a header: header.trace-id",
}

FIELDS: Mapping[str, DeadLetterField] = {row.name: row for row in (*_FILTERS, *_EXPORTED_ONLY)}
TERMS: Mapping[str, DeadLetterField] = {row.term: row for row in FIELDS.values() if row.term}
# Former names in the query language, which saved searches and links still contain.
ALIASES: Mapping[str, DeadLetterField] = {name: FIELDS[name] for name in ("origin_partition", "origin_offset")}
FILTER_FIELDS: Mapping[str, DeadLetterField] = {row.name: row for row in _FILTERS if row.kind is not FieldKind.TIME}
# The dimensions of counters. Filters by these alone are counted exactly, without reading records.
COUNTED = tuple(row.name for row in FILTER_FIELDS.values() if row.home in (FieldHome.COUNTER, FieldHome.FINGERPRINT))
FACETS = tuple(row.name for row in sorted(FILTER_FIELDS.values(), key=lambda row: row.facet) if row.facet)
EXPORTED = tuple(row for row in sorted(FIELDS.values(), key=lambda row: row.export) if row.export)
FACTS = tuple(row for row in FILTER_FIELDS.values() if row.is_fact)


def find(term: str) -> DeadLetterField | None:
    """Return the field with this name in the query language. Each path is a field of its own."""
    for prefix, explanation in PATHS.items():
        if term.startswith(prefix) and len(term) > len(prefix):
            path = write_path(term)
            return DeadLetterField(path, path, explanation, FieldKind.PATH, ColumnType.TEXT) if path else None
    return TERMS.get(term) or ALIASES.get(term)


def unknown(term: str) -> str:
    """Return the error message for an unknown field."""
    if term in PATHS:
        return f"`{term}` needs a name after the dot"
    if is_path(term):
        return f"`{term}` has a quote in the wrong place. Quote whole names between dots"
    close = difflib.get_close_matches(term.lower(), [*TERMS, *PATHS], n=1)
    if close:
        return f"Unknown field `{term}`. Did you mean `{close[0]}`?"
    return f"Unknown field `{term}`. To search for this text, quote it"
