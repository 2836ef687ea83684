"""The rows of a dead letter, column by column, as `bulk_insert` writes them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from dlqadmin.deadletters.group_states import HOUR
from dlqadmin.deadletters.index.bulk_insert import BulkTable
from dlqadmin.deadletters.index.column_values import (
    EPOCH,
    MAX_INT,
    bounded,
    clean,
    key_hash,
    key_text,
    moment,
    pack_headers,
)
from dlqadmin.deadletters.index.parsed_message import ParsedMessage
from dlqadmin.deadletters.models import (
    CountDay,
    CountHour,
    DeadLetter,
    DeadLetterBody,
    FingerprintSource,
    Group,
    OriginSource,
    QueuedDecoding,
    Trace,
)
from engine.dialects.facts import last, number, text
from engine.dialects.letter_values import group_name, origin_topic, short_message, task_name
from engine.record.replay import ATTEMPT, ITEM

MAX_ITEM = 60  # our item ids are shorter; anything longer is from another tool

LETTERS = BulkTable(
    DeadLetter,
    {
        "id": "int8",
        "fingerprint_id": "int8",
        "cluster": "text",
        "indexed_at": "timestamptz",
        "topic": "text",
        "partition": "int4",
        "offset": "int8",
        "failed_at": "timestamptz",
        "time_source": "text",
        "first_failure_at": "timestamptz",
        "elapsed_ms": "int8",
        "attempt": "int4",
        "connector": "text",
        "task_id": "text",
        "consumer_group": "text",
        "origin_topic": "text",
        "origin_partition": "int4",
        "origin_offset": "int8",
        "origin_timestamp": "timestamptz",
        "key_text": "text",
        "key_hash": "int8",
        "key_size": "int8",
        "value_size": "int8",
        "message": "text",
        "dialect": "text",
        "readable": "bool",
        "truncated": "text",
        "original": "text",
        "replay_item": "text",
        "replay_attempt": "int4",
        "trace_id": "text",
    },
)
BODIES = BulkTable(
    DeadLetterBody,
    {
        "dead_letter_id": "int8",
        "key": "bytea",
        "value": "bytea",
        "context": "bytea",
        "headers": "bytea",
        "original_headers": "bytea",
        "trace_heads": "text",
        "refused": "text",
    },
)
DECODINGS = BulkTable(
    QueuedDecoding, {"dead_letter_id": "int8", "due_at": "timestamptz", "tries": "int4", "reason": "text"}
)
TRACES = BulkTable(Trace, {"digest": "text", "text": "text"})
GROUPS = BulkTable(Group, {"id": "int8", "first_seen": "timestamptz", "last_seen": "timestamptz"})
CELL = {"fingerprint_id": "int8", "cluster": "text", "topic": "text", "connector": "text", "n": "int8"}
HOURS = BulkTable(CountHour, {"hour": "int4", **CELL})
DAYS = BulkTable(CountDay, {"day": "int4", **CELL})
SOURCES = BulkTable(FingerprintSource, {name: kind for name, kind in CELL.items() if name != "n"})

ORIGINS = BulkTable(OriginSource, dict.fromkeys(("cluster", "topic", "connector", "origin_topic"), "text"))

Cell = tuple[int, int, str, str, str]  # hour or day, fingerprint, cluster, topic, connector


def letter(item: ParsedMessage) -> tuple[Any, ...]:
    """Return a row of LETTERS without its first four columns, which the writer adds."""
    facts, message, origin = item.facts, item.message, item.facts.origin
    replay_item, replay_attempt = _replay_headers(item)
    return (
        message.topic,
        message.partition,
        message.offset,
        item.failed_at,
        item.time_source,
        moment(facts.first_failure_at),
        bounded(facts.elapsed_ms),
        bounded(facts.attempt, MAX_INT),
        item.connector,
        task_name(facts),
        group_name(facts) or None,
        origin_topic(facts),
        bounded(origin.partition, MAX_INT) if origin else None,
        bounded(origin.offset) if origin else None,
        moment(origin.timestamp) if origin else None,
        key_text(item.key),
        key_hash(item.key),
        None if item.key is None else len(item.key),
        None if item.value is None else len(item.value),
        short_message(facts),
        facts.dialect,
        facts.readable,
        clean(facts.truncated, 100) if facts.truncated else None,
        item.original,
        replay_item,
        replay_attempt,
        item.trace.digest or None,
    )


def body(item: ParsedMessage) -> tuple[Any, ...]:
    """Return a row of BODIES without the id of its dead letter."""
    return (
        item.key,
        item.value,
        None if item.facts.own_value else item.message.value,
        pack_headers(item.message.headers),
        None if item.original_headers is None else pack_headers(item.original_headers),
        item.trace.heads if item.trace.digest else None,
        item.refused,
    )


def hours(cells: Iterable[tuple[datetime, int, str, str, str]]) -> Counter[Cell]:
    """Count dead letters by hour, from (failed at, fingerprint, cluster, topic, connector)."""
    return Counter(((at - EPOCH) // HOUR, *rest) for at, *rest in cells)  # type: ignore[misc] # the rest is the same


def days(hourly: Mapping[Cell, int]) -> Counter[Cell]:
    """Sum hourly counts by day."""
    counted: Counter[Cell] = Counter()
    for (hour, *rest), n in hourly.items():
        counted[(hour // 24, *rest)] += n  # type: ignore[index] # the rest of a cell is the same in both
    return counted


def counts(cells: Mapping[Cell, int]) -> list[tuple[Any, ...]]:
    """Return rows of HOURS or DAYS, without those that change nothing."""
    return [(*cell, n) for cell, n in sorted(cells.items()) if n]


def _replay_headers(prepared: ParsedMessage) -> tuple[str | None, int | None]:
    """Return the replay item and attempt from the record's headers.

    Returns (None, None) if this project did not replay the record.
    """
    headers = (*(prepared.original_headers or ()), *prepared.message.headers)
    item = last(headers, ITEM)
    if not item or len(item) > MAX_ITEM:
        return None, None
    return clean(text(item), MAX_ITEM), bounded(number(last(headers, ATTEMPT)), MAX_INT)
