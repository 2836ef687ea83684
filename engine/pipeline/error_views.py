"""Convert an error to what exception handlers, error contexts and error messages need."""

from __future__ import annotations

from collections.abc import Sequence
from types import NoneType
from typing import Any

from msgspec.structs import replace

from engine.pipeline.outcome import PendingError
from engine.policy.handlers import ErrorHandlerContext
from engine.record.context import ErrorContext
from engine.record.record import Origin, Punctuation, RawRecord, Record
from engine.record.schema import BYTES, Schema
from engine.record.stage import Stage, StageType
from engine.record.unread import read_all

Rows = tuple[tuple[str, Schema | None, Any], ...]
_POLLS = (StageType.TASK_POLL, StageType.KAFKA_CONSUME)
_READ = (bytes, str, NoneType)


def unconverted(raw: RawRecord) -> Record:
    """Return the record before any conversion: key, value and headers are bytes."""
    headers = tuple([(name, BYTES, data) for name, data in raw.headers]) if raw.headers else ()
    # By position: keyword arguments would double the cost of this line, which runs most often.
    return Record(
        raw.topic, raw.partition, raw.timestamp, raw.key, raw.value, BYTES, BYTES, headers,
        raw.offset, raw.timestamp_type, raw,
    )  # fmt: skip


def read_whole(record: Record) -> Record:
    """Return the record with all lazily read parts read; the same object if there are none."""
    if type(record.value) is bytes and type(record.key) in _READ and not record.headers:
        return record  # true of nearly all records that a converter rejects
    key, value, headers = read_all(record.key), read_all(record.value), _whole_headers(record.headers)
    if key is record.key and value is record.value and headers is record.headers:
        return record
    return replace(record, key=key, value=value, headers=headers)


def _whole_headers(headers: Rows) -> Rows:
    if not headers:
        return headers
    read = tuple((name, schema, read_all(value)) for name, schema, value in headers)
    return read if any(new[2] is not old[2] for new, old in zip(read, headers, strict=True)) else headers


def describe_to_handler(errored: PendingError) -> ErrorHandlerContext:
    """Return the place of an error as handlers see it (KIP-1033)."""
    origin, context = errored.origin, errored.context
    node, task_id, record = context.stage.label, context.task_id, context.record
    if isinstance(origin, Punctuation):
        return ErrorHandlerContext(None, -1, -1, (), node, task_id, origin.timestamp)
    timestamp = origin.timestamp if record is None or record.timestamp is None else record.timestamp
    if isinstance(origin, Record):
        return ErrorHandlerContext(origin.topic, -1, -1, (), node, task_id, -1 if timestamp is None else timestamp)
    return ErrorHandlerContext(
        origin.topic, origin.partition, origin.offset, origin.headers, node, task_id,
        origin.timestamp if timestamp is None else timestamp, origin.key, origin.value,
    )  # fmt: skip


def _describe_place(origin: Origin, stage: Stage) -> str:
    if isinstance(origin, RawRecord):
        return f"on {_coordinates(origin)}"
    if isinstance(origin, Record):
        return f"on source partition {origin.source_partition} at {origin.source_offset}"
    # A poll has no coordinates, because it has returned nothing.
    return "on a poll" if stage.type in _POLLS else f"on the punctuation at {origin.timestamp}"


def _coordinates(raw: RawRecord) -> str:
    return f"{raw.topic}-{raw.partition} at offset {raw.offset}"


def describe_stop(errored: PendingError, context: ErrorContext) -> str:
    """Return in one sentence why the task stops. `context` is the error's context as it may be shown."""
    reason = "Tolerance exceeded" if errored.tolerable else "Not tolerable"
    if errored.reply is not None:
        reason = errored.reply.reason
    where = _describe_place(errored.origin, context.stage)
    return f"{reason}: {context.stage.type} ({context.stage.label}) failed {where}: {context.message}"


def describe_batch_stop(origins: Sequence[RawRecord], context: ErrorContext) -> str:
    """Return in one sentence why the task stops at the put of these records."""
    where = f"{len(origins)} records from {_coordinates(origins[0])} to {_coordinates(origins[-1])}"
    if len(origins) == 1:
        where = _coordinates(origins[0])
    stage = f"{context.stage.type} ({context.stage.label})"
    return f"{stage} could not put the batch of {where}: {context.message}"


def describe_tolerated(context: ErrorContext) -> str:
    """Return in one sentence that an error without a record is tolerated."""
    stage = f"{context.stage.type} ({context.stage.label})"
    text = f"{context.exception_class}: {context.message}" if context.message else context.exception_class
    return f"{context.task_id}: {stage} failed without a record, and the error was tolerated: {text}"
