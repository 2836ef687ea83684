"""The consumed record and the converted record. Both are frozen.

They are `msgspec.Struct` because a frozen dataclass takes ten times as long to build, and a record is rebuilt at every
stage (`docs/decisions/records-are-structs.md`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from engine.record.schema import Schema

Headers = tuple[tuple[str, bytes | None], ...]


class TopicPartition(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int


class RawRecord(msgspec.Struct, frozen=True, gc=False):
    """A record as Kafka stores it, in bytes. `timestamp` is in ms, −1 if the topic has none.

    It can't be part of a reference cycle, so the garbage collector skips it.
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: str  # NO_TIMESTAMP_TYPE | CREATE_TIME | LOG_APPEND_TIME
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


class Record(msgspec.Struct, frozen=True):
    """A record between stages.

    `key` and `value` are Connect data: None, bool, int, float, str, bytes, list, dict. A dict is a STRUCT or MAP, as
    the schema says; schemaless maps have no schema. Before conversion, both are bytes with schema BYTES. `headers` are
    (name, schema, value) rows; order, duplicates and None are kept. `raw` is the record as consumed, or None for
    records of a source.
    """

    topic: str
    partition: int | None
    timestamp: int | None
    key: Any
    value: Any
    key_schema: Schema | None = None
    value_schema: Schema | None = None
    headers: tuple[tuple[str, Schema | None, Any], ...] = ()
    offset: int | None = None
    timestamp_type: str = "CREATE_TIME"
    raw: RawRecord | None = None
    source_partition: dict[str, Any] | None = None
    source_offset: dict[str, Any] | None = None


class Punctuation(msgspec.Struct, frozen=True):
    """A call of a stream's schedule (KIP-1033). It has no record, only the stream time or clock time (ms)."""

    timestamp: int


# The subject of an operation: a consumed record, a record of a source, or a punctuation.
Origin = RawRecord | Record | Punctuation
