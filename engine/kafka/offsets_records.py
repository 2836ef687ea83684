"""Keys and values of the offsets topic, in Kafka Connect's layout. Pure.

- `["<connector>", {source partition}]` is the key of a source offset. Both are JSON without schemas; null deletes the
  offset.
- `["<connector>", "engine.task", <number>]` is the key of a task's memory. Kafka Connect ignores such keys.
- `["<connector>"]` marks that the connector's offsets were migrated from the worker's topic, even if there were none
  (KIP-618, migration).
"""

from __future__ import annotations

from typing import NamedTuple

import orjson

from engine.pipeline.source_progress import canonical
from engine.ports import SourcePosition

MEMORY = "engine.task"
MIGRATED = b'{"migrated":true}'


class OffsetKey(NamedTuple):
    """The name of an offset; `partition` is the source partition as canonical JSON."""

    connector: str
    partition: bytes


class MemoryKey(NamedTuple):
    """The name of a task's memory."""

    connector: str
    task: int


def parse_key(data: bytes | None) -> OffsetKey | MemoryKey | None:
    """Parse a key; return None for a key in another format."""
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
    """Return the connector of a migration mark's key, or None for any other key."""
    try:
        body = orjson.loads(data or b"")
    except orjson.JSONDecodeError:
        return None
    match body:
        case [str(connector)]:
            return connector
    return None


def parse_offset(data: bytes | None) -> dict[str, object] | None:
    """Parse a source offset; None for a deleted one. Raises ValueError for a value that is not an offset."""
    body = orjson.loads(data or b"null")
    if body is None or isinstance(body, dict):
        return body
    raise ValueError("is not a JSON object")


def offset_key(connector: str, partition: SourcePosition) -> bytes:
    """Return the key of an offset."""
    return orjson.dumps([connector, partition])


def memory_key(connector: str, task: int) -> bytes:
    """Return the key of a task's memory."""
    return orjson.dumps([connector, MEMORY, task])


def sentinel_key(connector: str) -> bytes:
    """Return the key of a migration mark."""
    return orjson.dumps([connector])
