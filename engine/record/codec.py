"""The error context as JSON (KIP-298, "Message Format for Error Context"), written and read.

Binary is base64. `value` of a SchemaAndValue is the JSON converter's text, for BYTES base64. What is ours beyond the
KIP is optional to readers: `version`, `original_record`, `connector`, `first_failure_time`, `elapsed_ms`, `handler`,
`exception_class`, `exception_message`, `root_class`, `root_message`, `truncated`.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Callable
from typing import Any

import orjson

from engine.record.context import ErrorContext
from engine.record.decoding import DecodedContext, decode
from engine.record.record import RawRecord, Record
from engine.record.schema import Schema

__all__ = ["VERSION", "DecodedContext", "decode", "encode"]

VERSION = 1
TRACE_HEAD = 1_000  # characters of a trace that had to be cut
_OPTIONS = orjson.OPT_NON_STR_KEYS

Document = dict[str, Any]


def encode(context: ErrorContext, *, include_configs: bool, include_messages: bool, max_bytes: int) -> bytes:
    """The context as JSON of at most `max_bytes`, as far as leaving out helps; what was left out stands in `truncated`.

    Without messages the record keeps its coordinates: the dead letter is a pointer to the origin.
    """
    document = _document(context, include_configs, include_messages)
    data = _dumps(document)
    if len(data) <= max_bytes:
        return data
    left_out: list[str] = []
    for name, leave_out in _REDUCTIONS:
        if leave_out(document, context):
            left_out.append(name)
            document["truncated"] = left_out
            data = _dumps(document)
            if len(data) <= max_bytes:
                break
    return data


def _document(context: ErrorContext, include_configs: bool, include_messages: bool) -> Document:
    document: Document = {
        "version": VERSION,
        "record": context.record and _record(context.record, include_messages),
        "stages": [
            {"type": stage.type, "class": stage.class_name} | ({"config": stage.config} if include_configs else {})
            for stage in context.stages
        ],
        "index": context.index,
        "exception": context.exception,
        "exception_class": context.exception_class,
        "exception_message": context.message,
        "root_class": context.root_class,
        "root_message": context.root_message,
        "attempt": context.attempt,
        "connector": context.connector,
        "task_id": context.task_id,
        "time_of_error": context.time_of_error,
        "first_failure_time": context.first_failure_time,
        "elapsed_ms": context.elapsed_ms,
        "handler": context.handler,
    }
    original = context.original
    if original is not None and not _is_original(context.record, original):
        document["original_record"] = _coordinates(original) | (_raw_content(original) if include_messages else {})
    return document


def _is_original(record: Record | None, original: RawRecord) -> bool:
    return (
        record is not None
        and record.key == original.key
        and record.value == original.value
        and (record.topic, record.partition, record.offset) == (original.topic, original.partition, original.offset)
        and (record.key is None or isinstance(record.key, bytes))
        and (record.value is None or isinstance(record.value, bytes))
        and tuple((name, value) for name, _, value in record.headers) == original.headers
    )


def _record(record: Record, include_messages: bool) -> Document:
    document = _coordinates(record)
    if include_messages:
        document["key"] = _schema_and_value(record.key_schema, record.key)
        document["value"] = _schema_and_value(record.value_schema, record.value)
        document["headers"] = [
            {"name": name} | _schema_and_value(schema, value) for name, schema, value in record.headers
        ]
    for name in ("source_partition", "source_offset"):
        lineage = getattr(record, name)
        if lineage is not None:
            document[name] = lineage
    return document


def _coordinates(record: Record | RawRecord) -> Document:
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "timestamp_type": record.timestamp_type,
    }


def _raw_content(raw: RawRecord) -> Document:
    return {
        "key": _base64(raw.key),
        "value": _base64(raw.value),
        "headers": [{"name": name, "value": _base64(value)} for name, value in raw.headers],
    }


def _schema_and_value(schema: Schema | None, value: Any) -> Document:
    name = schema.type if schema is not None else _type_of(value)
    if value is None:
        return {"schema": name, "value": None}
    return {"schema": name, "value": _base64(value) if isinstance(value, bytes) else _dumps(value).decode()}


def _type_of(value: Any) -> str | None:
    for kind, name in (
        (type(None), None),
        (bool, "BOOLEAN"),
        (int, "INT64"),
        (float, "FLOAT64"),
        (str, "STRING"),
        (bytes, "BYTES"),
        (list, "ARRAY"),
        (dict, "MAP"),
    ):
        if isinstance(value, kind):
            return name
    return "STRING"


def _base64(data: bytes | None) -> str | None:
    return None if data is None else b64encode(data).decode()


def _dumps(value: Any) -> bytes:
    try:
        return orjson.dumps(value, default=_foreign, option=_OPTIONS)
    except TypeError:  # an integer beyond 64 bits, or text with a lone surrogate
        return orjson.dumps(_plain(value), option=_OPTIONS)


def _foreign(value: Any) -> Any:
    return _base64(value) if isinstance(value, bytes) else str(value)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(_plain(name)): _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if value is None or isinstance(value, (bool, float)):
        return value
    if isinstance(value, int):
        return value if -(2**63) <= value < 2**64 else str(value)
    return _foreign(value)


def _leave_out_record(document: Document, context: ErrorContext) -> bool:
    if "original_record" not in document or context.record is None:
        return False  # `record` is the only copy: its turn comes last
    document["record"] = _coordinates(context.record)
    return True


def _leave_out_configs(document: Document, _: ErrorContext) -> bool:
    return any(stage.pop("config", None) is not None for stage in document["stages"])


def _cut_trace(document: Document, _: ErrorContext) -> bool:
    long = [name for name in ("exception", "exception_message", "root_message") if len(document[name]) > TRACE_HEAD]
    for name in long:
        document[name] = document[name][:TRACE_HEAD]
    return bool(long)


def _become_pointer(document: Document, context: ErrorContext) -> bool:
    original = context.original
    if context.record is not None:
        document["record"] = _coordinates(context.record)
    if original is not None:
        document["original_record"] = _coordinates(original) | {
            "key_size": None if original.key is None else len(original.key),
            "value_size": None if original.value is None else len(original.value),
            "value_sha256": None if original.value is None else hashlib.sha256(original.value).hexdigest(),
        }
    return True


_REDUCTIONS: tuple[tuple[str, Callable[[Document, ErrorContext], bool]], ...] = (
    ("record", _leave_out_record),
    ("configs", _leave_out_configs),
    ("exception", _cut_trace),
    ("message", _become_pointer),
)
