"""A fast reader for the error contexts (KIP-298) that this project's engine writes.

It decodes only the fields that a row of the index stores, with a strict schema. Any other context fails
validation and is left to the complete reader in `kip298`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from engine.dialects.facts import DeadLetterFacts, Origin
from engine.record.record import RawRecord
from engine.record.stage import StageType

Long = Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]
Topic = Annotated[str, Meta(min_length=1)]


# gc=False: these structs contain no reference cycles, so the garbage collector need not track them.
class ContextBytes(Struct, gc=False):
    """Bytes in a `record`. A key or value of another type was already converted."""

    schema: Literal["BYTES"]
    value: bytes | None


class UnchangedRecord(Struct, gc=False):
    """A `record` that is unchanged since it was consumed."""

    topic: Topic
    partition: Long
    offset: Long
    timestamp: Long
    timestamp_type: str
    key: ContextBytes | None
    value: ContextBytes | None
    headers: list[ContextBytes]
    source_partition: UnsetType | None = UNSET


class OriginalRecord(Struct, gc=False):
    """An `original_record` with its bytes."""

    topic: Topic
    partition: Long
    offset: Long
    timestamp: Long
    timestamp_type: str
    key: bytes | None
    value: bytes | None


class ConvertedRecord(Struct, gc=False):
    """A `record` beside an `original_record`.

    Only one of its facts matters: it came from Kafka, so it has no source partition.
    """

    source_partition: UnsetType | None = UNSET


class ContextFields(Struct, gc=False, kw_only=True):
    """The fields that both kinds of contexts share."""

    index: Annotated[int, Meta(ge=0)]
    exception: str
    attempt: Long
    task_id: str
    time_of_error: Long
    stages: msgspec.Raw
    connector: str
    first_failure_time: Long
    elapsed_ms: Long
    exception_class: str
    message: str
    root_class: str
    root_message: str
    truncated: str | UnsetType | None = UNSET


class ConvertedContext(ContextFields, gc=False, kw_only=True):
    """A context whose record was converted before it failed, or left out."""

    record: ConvertedRecord | None
    original_record: OriginalRecord


class UnchangedContext(ContextFields, gc=False, kw_only=True):
    """A context whose record is the original record."""

    record: UnchangedRecord
    original_record: UnsetType | None = UNSET


class ContextStage(Struct, gc=False):
    """A stage, reduced to its type."""

    type: StageType


_converted = msgspec.json.Decoder(ConvertedContext).decode
_unchanged = msgspec.json.Decoder(UnchangedContext).decode
_stages = msgspec.json.Decoder(list[ContextStage]).decode


def read(message: RawRecord) -> DeadLetterFacts | None:
    """Return the facts without stages, notes and problems; None if `kip298` must read it."""
    data = message.value or b""
    try:
        return (
            _facts_of_original(_converted(data)) if b'"original_record"' in data else _facts_of_record(_unchanged(data))
        )
    except (ValueError, RecursionError):
        return None


def _facts_of_original(body: ConvertedContext) -> DeadLetterFacts | None:
    original = body.original_record
    return _facts(body, original, original.key, original.value)


def _facts_of_record(body: UnchangedContext) -> DeadLetterFacts | None:
    """Return None if key and value are both null: the writer may have left both out."""
    key, value = body.record.key, body.record.value
    if key is None and value is None:
        return None
    return _facts(body, body.record, None if key is None else key.value, None if value is None else value.value)


def _facts(
    body: ContextFields, origin: UnchangedRecord | OriginalRecord, key: bytes | None, value: bytes | None
) -> DeadLetterFacts | None:
    types = _types(bytes(body.stages))
    if body.index >= len(types):
        return None
    return DeadLetterFacts(
        dialect="kip298",
        stage=types[body.index],
        root_class=body.root_class or body.exception_class or "UnknownException",
        root_message=body.root_message or body.message,
        origin=Origin(
            origin.topic, origin.partition, origin.offset, origin.timestamp if origin.timestamp >= 0 else None
        ),
        connector=body.connector,
        task_id=body.task_id,
        trace=body.exception,
        attempt=body.attempt,
        failed_at=body.time_of_error or None,
        first_failure_at=body.first_failure_time or None,
        elapsed_ms=body.elapsed_ms,
        key=key,
        value=value,
        complete=True,
        truncated=body.truncated if isinstance(body.truncated, str) else None,
    )


@lru_cache(512)  # a task writes the same stages in each of its dead letters
def _types(stages: bytes) -> tuple[str, ...]:
    return tuple(str(stage.type) for stage in _stages(stages))
