"""The error context of KIP-298: JSON in the value of the dead letter."""

from __future__ import annotations

from typing import Any

from engine.dialects.facts import DeadLetterFacts, FactNote, Origin, SourceRecord
from engine.record.context import ErrorContext
from engine.record.error_context_json import decode
from engine.record.record import RawRecord


def read(message: RawRecord) -> DeadLetterFacts | None:
    """Return the facts of an error context of any version, or None if the value is not one."""
    if not message.value or message.value.lstrip()[:1] != b"{":
        return None
    decoded = decode(message.value)
    context = decoded.context
    if context is None:
        return None
    key, value, complete = _original_bytes(context, message)
    stage = context.stages[context.index] if 0 <= context.index < len(context.stages) else None
    return DeadLetterFacts(
        dialect="kip298",
        version=str(decoded.version) if decoded.version is not None else "",
        stage=str(stage.type) if stage else "UNKNOWN",
        root_class=context.root_class or context.exception_class or "UnknownException",
        root_message=context.root_message or context.message,
        origin=_origin(context),
        source=_source(context, decoded.fields),
        connector=context.connector,
        task_id=context.task_id,
        trace=context.exception,
        attempt=context.attempt,
        failed_at=context.time_of_error or None,
        first_failure_at=context.first_failure_time or None,
        elapsed_ms=context.elapsed_ms,
        stages=context.stages,
        index=context.index,
        key=key,
        value=value,
        complete=complete and _has_message(decoded.fields) and not _is_of_source(context),
        truncated=decoded.truncated,
        has_record=_has_record(decoded.fields),
        notes=_notes(context, decoded.fields),
        problems=decoded.problems,
    )


def _has_record(fields: dict[str, Any]) -> bool:
    """Return whether the error concerns a record. It does not if the context says that there is none."""
    return "record" not in fields or any(fields.get(name) is not None for name in ("record", "original_record"))


def _has_message(fields: dict[str, Any]) -> bool:
    """Return whether the context contains the record's value, even if it is null.

    A context without a value is a pointer: it has only the record's coordinates.
    """
    return any(
        isinstance(part, dict) and "value" in part for part in (fields.get("record"), fields.get("original_record"))
    )


def _original_bytes(context: ErrorContext, message: RawRecord) -> tuple[bytes | None, bytes | None, bool]:
    """Return the consumed record's key and value, and whether both are certainly its own bytes."""
    if context.original is not None:
        return context.original.key, context.original.value, True
    record = context.record
    if record is None:
        return message.key, None, False
    key = record.key if isinstance(record.key, bytes) else message.key
    value = record.value if isinstance(record.value, bytes) else None
    key_known = record.key is None or key is not None
    value_known = value is not None or (record.value is None and record.offset is not None)
    return key, value, key_known and value_known


def _origin(context: ErrorContext) -> Origin | None:
    source: Any = context.original or context.record
    if source is None or not source.topic or _is_of_source(context):
        return None
    timestamp = source.timestamp if source.timestamp is not None and source.timestamp >= 0 else None
    return Origin(source.topic, source.partition, source.offset, timestamp)


def _is_of_source(context: ErrorContext) -> bool:
    return context.record is not None and context.record.source_partition is not None


def _source(context: ErrorContext, fields: dict[str, Any]) -> SourceRecord | None:
    """Return the record that a source connector read, or None if the record came from Kafka."""
    record = context.record
    if record is None or record.source_partition is None:
        return None
    written = (fields.get("record") or {}).get("value")
    told = written if isinstance(written, dict) else {}
    value = told.get("value", told.get("object"))
    return SourceRecord(
        partition=_texts(record.source_partition),
        offset=_texts(record.source_offset or {}),
        schema=str(told.get("schema") or ""),
        value=value if isinstance(value, str) else None,
    )


def _texts(given: dict[str, Any]) -> dict[str, str]:
    return {str(name): str(value) for name, value in given.items()}


def _notes(context: ErrorContext, fields: dict[str, Any]) -> tuple[FactNote, ...]:
    source = "original_record" if context.original is not None else "record"
    read: tuple[tuple[str, str], ...] = (
        ("origin", f"{source}.topic, .partition, .offset, .timestamp"),
        ("key and value", f"{source}.key, .value (base64)"),
    )
    if _is_of_source(context):
        read = (("source", "record.source_partition, .source_offset"), ("value", "record.value"))
    if not _has_record(fields):
        read = (("no record", "record: null"),)
    read += (
        ("stage", "stages[index]"),
        ("exception", "exception: the last of its cause chain"),
        ("failed at", "time_of_error"),
        ("attempts", "attempt, elapsed_ms"),
    )
    return tuple(FactNote(field, source) for field, source in read)
