"""The records of the offsets topic, in Kafka Connect's own layout. Pure.

An offset has the key `["<connector>", {source partition}]` and the source offset as value, both JSON without
schemas; null forgets it. A task's memory lies beside them under `["<connector>", "engine.task", <number>]`, a key
that Kafka Connect passes over. `["<connector>"]` says that the connector's offsets were brought here from the worker's
own topic, be they none (KIP-618, migration).
"""

from __future__ import annotations

from typing import NamedTuple

import orjson

from engine.pipeline.source_progress import canonical
from engine.ports import SourcePosition

MEMORY = "engine.task"
MIGRATED = b'{"migrated":true}'


class OffsetKey(NamedTuple):
    """Whose offset it is; `partition` is the source partition as canonical JSON."""

    connector: str
    partition: bytes


class MemoryKey(NamedTuple):
    """Whose memory it is."""

    connector: str
    task: int


def parse_key(data: bytes | None) -> OffsetKey | MemoryKey | None:
    """What a key says; None for one that nobody of ours wrote."""
    try:
        body = orjson.loads(data or b"")
    except orjson.JSONDecodeError:
        return None
    match body:
        case [str(connector), dict(partition)]:
            return OffsetKey(connector, canonical(partition))
        case [str(connector), str(mark), int(task)] if mark == MEMORY:
            return MemoryKey(connector, task)
    return None


def parse_sentinel(data: bytes | None) -> str | None:
    """The connector that a migration's word is about; None for any other key."""
    try:
        body = orjson.loads(data or b"")
    except orjson.JSONDecodeError:
        return None
    match body:
        case [str(connector)]:
            return connector
    return None


def parse_offset(data: bytes | None) -> dict[str, object] | None:
    """A source offset; None for one that was forgotten. Raises ValueError for what is none."""
    body = orjson.loads(data or b"null")
    if body is None or isinstance(body, dict):
        return body
    raise ValueError("is no JSON object")


def offset_key(connector: str, partition: SourcePosition) -> bytes:
    """The key of an offset."""
    return orjson.dumps([connector, partition])


def memory_key(connector: str, task: int) -> bytes:
    """The key of a task's memory."""
    return orjson.dumps([connector, MEMORY, task])


def sentinel_key(connector: str) -> bytes:
    """The key of a migration's word."""
    return orjson.dumps([connector])
