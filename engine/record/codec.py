"""Error contexts as JSON bytes and back (KIP-298, "Message Format for Error Context"; docs/error-context.md)."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import msgspec
import orjson

from engine.record.context import ErrorContext
from engine.record.decoding import DecodedContext, decode
from engine.record.record import Headers, RawRecord, Record
from engine.record.stage import Stage
from engine.record.values import to_json, write_value

__all__ = ["VERSION", "DecodedContext", "decode", "encode"]

VERSION = 1
NO_LIMIT = 2**63 - 1
_SHORT, _SHORTER, _SHORTEST = 500, 150, 30  # characters kept of a text that has to be cut
_TOPIC = 249
_ODD = re.compile("[^ -~]")  # characters that JSON may write in several bytes
_TEXTS = ("exception", "exception_class", "message", "root_class", "root_message", "task_id", "connector", "handler")

Json = dict[str, Any]


def encode(
    context: ErrorContext,
    *,
    include_configs: bool = False,
    include_messages: bool = False,
    max_bytes: int = NO_LIMIT,
) -> bytes:
    """The context as JSON, never larger than `max_bytes` where that is 4 kB or more.

    What is too large loses, in this order, the converted record, the configs, the trace, and the original
    bytes, of which size and digest remain; `truncated` names the last step taken.
    """
    body = _body(context, include_configs=include_configs, include_messages=include_messages)
    data = _dump(body)
    for step, cut in _CUTS if len(data) > max_bytes else ():
        cut(body, context)
        body["truncated"] = step
        data = _dump(body)
        if len(data) <= max_bytes:
            break
    return data


def _body(context: ErrorContext, *, include_configs: bool, include_messages: bool) -> Json:
    body: Json = {
        "record": context.record and _record(context.record, include_messages=include_messages),
        "index": context.index,
        "exception": context.exception,
        "attempt": context.attempt,
        "task_id": context.task_id,
        "time_of_error": context.time_of_error,
        "stages": [_stage(stage, include_configs=include_configs) for stage in context.stages],
        "version": VERSION,
        "connector": context.connector,
        "first_failure_time": context.first_failure_time,
        "elapsed_ms": context.elapsed_ms,
        "handler": context.handler,
        "exception_class": context.exception_class,
        "message": context.message,
        "root_class": context.root_class,
        "root_message": context.root_message,
    }
    original = context.original
    if original is not None and not (include_messages and _is_original(context.record, original)):
        body["original_record"] = _original(original, include_messages=include_messages)
    return body


def _stage(stage: Stage, *, include_configs: bool) -> Json:
    body: Json = {"type": stage.type.value, "class": stage.class_name}
    if include_configs:
        body["config"] = dict(stage.config)
    return body


def _record(record: Record, *, include_messages: bool) -> Json:
    body: Json = {
        "topic": record.topic,
        "partition": record.partition,
        "timestamp": record.timestamp,
        "timestamp_type": record.timestamp_type,
        "offset": record.offset,
    }
    if include_messages:
        body["key"] = write_value(record.key_schema, record.key)
        body["value"] = write_value(record.value_schema, record.value)
        body["headers"] = [{"key": name, **write_value(schema, value)} for name, schema, value in record.headers]
    if record.source_partition is not None:
        body["source_partition"] = _texts(record.source_partition)
    if record.source_offset is not None:
        body["source_offset"] = _texts(record.source_offset)
    return body


def _texts(source: Mapping[str, Any]) -> dict[str, str]:
    return {str(name): value if isinstance(value, str) else to_json(value) for name, value in source.items()}


def _original(raw: RawRecord, *, include_messages: bool) -> Json:
    body: Json = {
        "topic": raw.topic,
        "partition": raw.partition,
        "offset": raw.offset,
        "timestamp": raw.timestamp,
        "timestamp_type": raw.timestamp_type,
    }
    if include_messages:
        body["key"] = _base64(raw.key)
        body["value"] = _base64(raw.value)
        body["headers"] = [{"key": name, "value": _base64(value)} for name, value in raw.headers]
    return body


def _is_original(record: Record | None, raw: RawRecord) -> bool:
    """Does `record`, as written, say all that `raw` does?"""
    return (
        record is not None
        and (record.topic, record.partition, record.offset) == (raw.topic, raw.partition, raw.offset)
        and (record.timestamp, record.timestamp_type) == (raw.timestamp, raw.timestamp_type)
        and _same_bytes(record.key, raw.key)
        and _same_bytes(record.value, raw.value)
        and _raw_headers(record) == raw.headers
    )


def _same_bytes(value: Any, raw: bytes | None) -> bool:
    return (value is None or isinstance(value, bytes)) and value == raw


def _raw_headers(record: Record) -> Headers | None:
    if all(value is None or isinstance(value, bytes) for _, _, value in record.headers):
        return tuple((name, value) for name, _, value in record.headers)
    return None


def _base64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _cut_record(body: Json, context: ErrorContext) -> None:
    if "original_record" not in body and context.original is not None:
        body["original_record"] = _original(context.original, include_messages=True)  # `record` was the original
    for name in ("key", "value", "headers"):
        if body["record"]:
            body["record"].pop(name, None)


def _cut_configs(body: Json, context: ErrorContext) -> None:  # noqa: ARG001 (every cut is called alike)
    for stage in body["stages"]:
        stage.pop("config", None)


def _cut_trace(body: Json, context: ErrorContext) -> None:
    body["exception"] = f"{context.exception_class}: {context.message}"
    for name in _TEXTS[:5]:
        body[name] = body[name][:_SHORT]


def _cut_original(body: Json, context: ErrorContext) -> None:
    original = context.original
    if original is None or "value" not in body.get("original_record", ()):
        return  # there is nothing, or messages are excluded
    body["original_record"] = _original(original, include_messages=False) | {
        "key_size": None if original.key is None else len(original.key),
        "value_size": None if original.value is None else len(original.value),
        "headers_size": sum(
            len(name.encode("utf-8", "replace")) + len(value or b"") for name, value in original.headers
        ),
        "value_sha256": None if original.value is None else hashlib.sha256(original.value).hexdigest(),
    }


def _cut_to_pointer(body: Json, context: ErrorContext, shorten: Callable[[str], str], most_stages: int) -> None:
    _cut_original(body, context)
    for name in _TEXTS:
        body[name] = shorten(body[name])
    for row in (body["record"], body.get("original_record")):
        if row:
            row["topic"] = _ODD.sub("?", row["topic"][:_TOPIC])
            row.pop("source_partition", None)
            row.pop("source_offset", None)
    if len(body["stages"]) > most_stages and 0 <= context.index < len(body["stages"]):
        body["stages"], body["index"] = [body["stages"][context.index]], 0
    for stage in body["stages"]:
        stage["class"] = shorten(stage["class"])


def _shorter(text: str) -> str:
    return text[:_SHORTER]


def _shortest(text: str) -> str:
    return _ODD.sub("?", text[:_SHORTEST])


_CUTS: tuple[tuple[str, Callable[[Json, ErrorContext], None]], ...] = (
    ("record", _cut_record),
    ("configs", _cut_configs),
    ("trace", _cut_trace),
    ("pointer", partial(_cut_to_pointer, shorten=_shorter, most_stages=10)),
    ("pointer", partial(_cut_to_pointer, shorten=_shortest, most_stages=1)),
)


def _dump(body: Json) -> bytes:
    try:
        return orjson.dumps(body)
    except TypeError:
        return to_json(msgspec.to_builtins(body)).encode()
