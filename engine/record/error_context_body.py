"""The JSON structure of an error context. Bytes become base64 when they are written."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from msgspec import UNSET, Struct

from engine.record.context import ErrorContext
from engine.record.record import Headers, RawRecord, Record
from engine.record.schema import Schema
from engine.record.stage import Stage
from engine.record.values import to_json, write_value

VERSION = 1
Rows = tuple[tuple[str, Schema | None, Any], ...]


class ValueRow(Struct, gc=False):
    """KIP-298's `SchemaAndValue`."""

    schema: str | None
    value: str | bytes | None


class HeaderRow(Struct, gc=False):
    """A converted header."""

    key: str
    schema: str | None
    value: str | bytes | None


class RawHeaderRow(Struct, gc=False):
    """A consumed header."""

    key: str
    value: bytes | None


class RecordRow(Struct, gc=False):
    """The input of the failed operation. Key, value and headers are set if messages are included."""

    topic: str
    partition: int | None
    timestamp: int | None
    timestamp_type: str
    offset: int | None
    key: Any = UNSET
    value: Any = UNSET
    headers: Any = UNSET
    source_partition: Any = UNSET
    source_offset: Any = UNSET


class OriginalRow(Struct, gc=False):
    """The consumed record. Sizes and a digest replace bytes that had to be left out."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    timestamp_type: str
    key: Any = UNSET
    value: Any = UNSET
    headers: Any = UNSET
    key_size: Any = UNSET
    value_size: Any = UNSET
    headers_size: Any = UNSET
    value_sha256: Any = UNSET


class ErrorContextBody(Struct, gc=False):
    """The complete error context. `stages` are rows, or encoded JSON."""

    record: RecordRow | None
    index: int
    exception: str
    attempt: int
    task_id: str
    time_of_error: int
    stages: Any
    version: int
    connector: str
    first_failure_time: int
    elapsed_ms: int
    handler: str
    exception_class: str
    message: str
    root_class: str
    root_message: str
    original_record: Any = UNSET
    truncated: Any = UNSET


def body_of(context: ErrorContext, stages: Any, *, include_messages: bool) -> ErrorContextBody:
    """Return the body of a context. The original record is left out if the record holds the same data."""
    record, original = context.record, context.original
    # Positional arguments are faster, and every error pays for this call.
    return ErrorContextBody(
        None if record is None else _record_row(record, include_messages=include_messages),
        context.index,
        context.exception,
        context.attempt,
        context.task_id,
        context.time_of_error,
        stages,
        VERSION,
        context.connector,
        context.first_failure_time,
        context.elapsed_ms,
        context.handler,
        context.exception_class,
        context.message,
        context.root_class,
        context.root_message,
        UNSET
        if original is None or (include_messages and _is_original(record, original))
        else original_row(original, include_messages=include_messages),
    )


def stage_row(stage: Stage, *, include_configs: bool) -> dict[str, Any]:
    """Return a stage, with its name if it has one, and with its configuration if configs are included."""
    body: dict[str, Any] = {"type": stage.type.value, "class": stage.class_name}
    if stage.name:
        body["name"] = stage.name
    if include_configs:
        body["config"] = stage.config
    return body


def original_row(raw: RawRecord, *, include_messages: bool) -> OriginalRow:
    """Return the consumed record, or only its coordinates if messages are not included."""
    row = OriginalRow(raw.topic, raw.partition, raw.offset, raw.timestamp, raw.timestamp_type)
    if include_messages:
        row.key, row.value = raw.key, raw.value
        row.headers = [RawHeaderRow(name, value) for name, value in raw.headers]
    return row


def pointer_row(raw: RawRecord) -> OriginalRow:
    """Return the coordinates of the consumed record, with the sizes and digest of its bytes."""
    row = original_row(raw, include_messages=False)
    row.key_size = None if raw.key is None else len(raw.key)
    row.value_size = None if raw.value is None else len(raw.value)
    row.headers_size = sum(len(name.encode("utf-8", "replace")) + len(value or b"") for name, value in raw.headers)
    row.value_sha256 = None if raw.value is None else hashlib.sha256(raw.value).hexdigest()
    return row


def _record_row(record: Record, *, include_messages: bool) -> RecordRow:
    key: Any = UNSET
    value: Any = UNSET
    headers: Any = UNSET
    if include_messages:
        key = ValueRow(*write_value(record.key_schema, record.key))
        value = ValueRow(*write_value(record.value_schema, record.value))
        rows = record.headers
        headers = [HeaderRow(name, *write_value(schema, part)) for name, schema, part in rows] if rows else ()
    within, at = record.source_partition, record.source_offset
    return RecordRow(
        record.topic,
        record.partition,
        record.timestamp,
        record.timestamp_type,
        record.offset,
        key,
        value,
        headers,
        UNSET if within is None else _texts(within),
        UNSET if at is None else _texts(at),
    )


def _texts(source: Mapping[str, Any]) -> dict[str, str]:
    return {str(name): value if isinstance(value, str) else to_json(value) for name, value in source.items()}


def _is_original(record: Record | None, raw: RawRecord) -> bool:
    """Return whether `record`, as written, holds the same data as `raw`."""
    return (
        record is not None
        and (record.value is raw.value or _same_bytes(record.value, raw.value))
        and (record.key is raw.key or _same_bytes(record.key, raw.key))
        and record.offset == raw.offset
        and record.partition == raw.partition
        and record.topic == raw.topic
        and record.timestamp == raw.timestamp
        and record.timestamp_type == raw.timestamp_type
        and (_raw_headers(record.headers) == raw.headers if record.headers else not raw.headers)
    )


def _same_bytes(value: Any, raw: bytes | None) -> bool:
    return (value is None or isinstance(value, bytes)) and value == raw


def _raw_headers(headers: Rows) -> Headers | None:
    if all(value is None or isinstance(value, bytes) for _, _, value in headers):
        return tuple((name, value) for name, _, value in headers)
    return None
