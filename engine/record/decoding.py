"""Reading error contexts of any version and any origin: what is understood, and what is not; nothing raises."""

from __future__ import annotations

import binascii
from base64 import b64decode
from typing import Any

import msgspec
import orjson

from engine.record.context import ErrorContext
from engine.record.record import RawRecord, Record
from engine.record.schema import TYPES, Schema
from engine.record.stage import Stage, StageType

_RENAMED_STAGES = {"TASK_PULL": "TASK_POLL"}  # the KIP's text names both
_MARKS = ("stages", "exception", "task_id", "time_of_error")


class DecodedContext(msgspec.Struct, frozen=True):
    """What was understood: `context` is None when the bytes are no error context at all.

    `version` is None for a context that names none; `truncated` says what its writer left out. Without
    `has_message` the context is a pointer: it names the record's coordinates and not its content.
    """

    context: ErrorContext | None
    version: int | None = None
    truncated: str | None = None
    has_message: bool = False
    problems: tuple[str, ...] = ()


def decode(data: bytes) -> DecodedContext:
    """Read a context leniently: a field of the wrong type is a problem, not an exception."""
    try:
        body = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        return DecodedContext(None, problems=(f"not JSON: {error}",))
    if not isinstance(body, dict) or not any(mark in body for mark in _MARKS):
        return DecodedContext(None, problems=("not an error context: no stages, exception, task_id or time_of_error",))
    return _Reader(body).read()


class _Reader:
    """One document being read; problems gather on the way."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.body = body
        self.problems: list[str] = []

    def read(self) -> DecodedContext:
        body = self.body
        exception = self.text("exception")
        first_class, first_message, last_class, last_message = _heads(exception)
        task_id = self.text("task_id")
        time_of_error = self.number("time_of_error", 0) or 0
        context = ErrorContext(
            record=self.record(body.get("record")),
            original=self.original(body.get("original_record")),
            stages=self.stages(body.get("stages")),
            index=self.number("index", -1) or 0,
            exception=exception,
            exception_class=self.text("exception_class") or first_class,
            message=self.text("exception_message") or first_message,
            root_class=self.text("root_class") or last_class,
            root_message=self.text("root_message") or last_message,
            attempt=self.number("attempt", 0) or 0,
            task_id=task_id,
            connector=self.text("connector") or task_id.rpartition("-")[0],
            time_of_error=time_of_error,
            first_failure_time=self.number("first_failure_time", time_of_error) or time_of_error,
            elapsed_ms=self.number("elapsed_ms", 0) or 0,
            handler=self.text("handler"),
        )
        truncated = body.get("truncated")
        parts = truncated if isinstance(truncated, list) else [truncated] if truncated else []
        return DecodedContext(
            context,
            self.number("version", None),
            ", ".join(str(part) for part in parts) or None,
            any(isinstance(one, dict) and "value" in one for one in (body.get("record"), body.get("original_record"))),
            tuple(self.problems),
        )

    def text(self, name: str) -> str:
        value = self.body.get(name)
        if value is None or isinstance(value, str):
            return value or ""
        self.problems.append(f"{name}: text expected")
        return str(value)

    def number(self, name: str, default: int | None, of: dict[str, Any] | None = None) -> int | None:
        value = (self.body if of is None else of).get(name)
        if value is None:
            return default
        if isinstance(value, int) and not isinstance(value, bool) and -(2**63) <= value < 2**63:
            return value
        if isinstance(value, str) and value.lstrip("-").isascii() and value.lstrip("-").isdigit() and len(value) < 19:
            return int(value)
        self.problems.append(f"{name}: whole number expected")
        return default

    def stages(self, value: Any) -> tuple[Stage, ...]:
        if not isinstance(value, list):
            if value is not None:
                self.problems.append("stages: list expected")
            return ()
        stages = []
        for number, row in enumerate(value):
            name = str(row.get("type")) if isinstance(row, dict) else ""
            name = _RENAMED_STAGES.get(name, name)
            if name not in StageType.__members__:
                self.problems.append(f"stages[{number}]: unknown type {name!r}")
                continue
            config = row.get("config")
            shown = {str(k): str(v) for k, v in config.items()} if isinstance(config, dict) else {}
            stages.append(Stage(StageType(name), str(row.get("class") or ""), shown))
        return tuple(stages)

    def record(self, value: Any) -> Record | None:
        if not isinstance(value, dict):
            if value is not None:
                self.problems.append("record: object expected")
            return None
        key_schema, key = self.schema_and_value("record.key", value.get("key"))
        value_schema, content = self.schema_and_value("record.value", value.get("value"))
        return Record(
            topic=str(value.get("topic") or ""),
            partition=self.number("partition", None, value),
            timestamp=self.number("timestamp", None, value),
            key=key,
            value=content,
            key_schema=key_schema,
            value_schema=value_schema,
            headers=self.headers(value.get("headers")),
            offset=self.number("offset", None, value),
            timestamp_type=str(value.get("timestamp_type") or "NO_TIMESTAMP_TYPE"),
            source_partition=_mapping(value.get("source_partition")),
            source_offset=_mapping(value.get("source_offset")),
        )

    def headers(self, value: Any) -> tuple[tuple[str, Schema | None, Any], ...]:
        if isinstance(value, dict):  # the KIP's table: one SchemaAndValue
            return (("", *self.schema_and_value("record.headers", value)),)
        rows = value if isinstance(value, list) else []
        return tuple(
            (str(row.get("name") or ""), *self.schema_and_value("record.headers", row))
            for row in rows
            if isinstance(row, dict)
        )

    def schema_and_value(self, name: str, given: Any) -> tuple[Schema | None, Any]:
        if not isinstance(given, dict):
            if given is not None:
                self.problems.append(f"{name}: schema and value expected")
            return None, None
        kind = given.get("schema")
        schema = Schema(kind, optional=True) if kind in TYPES else None
        content = given["value"] if "value" in given else given.get("object")
        if content is None:
            return schema, None
        if kind == "BYTES":
            return schema, self.base64(name, content)
        if not isinstance(content, str):
            return schema, content
        try:
            return schema, orjson.loads(content)
        except orjson.JSONDecodeError:
            return schema, content

    def original(self, value: Any) -> RawRecord | None:
        """The consumed record, if its bytes are there; a pointer has coordinates only and is None here."""
        if not isinstance(value, dict) or not ("key" in value or "value" in value):
            return None
        partition, offset = self.number("partition", None, value), self.number("offset", None, value)
        if partition is None or offset is None:
            self.problems.append("original_record: partition and offset expected")
            return None
        rows = value.get("headers")
        return RawRecord(
            topic=str(value.get("topic") or ""),
            partition=partition,
            offset=offset,
            timestamp=self.number("timestamp", -1, value) or 0,
            timestamp_type=str(value.get("timestamp_type") or "NO_TIMESTAMP_TYPE"),
            key=self.base64("original_record.key", value.get("key")),
            value=self.base64("original_record.value", value.get("value")),
            headers=tuple(
                (str(row.get("name") or ""), self.base64("original_record.headers", row.get("value")))
                for row in (rows if isinstance(rows, list) else [])
                if isinstance(row, dict)
            ),
        )

    def base64(self, name: str, value: Any) -> bytes | None:
        if value is None:
            return None
        try:
            return b64decode(value, validate=True)
        except (TypeError, ValueError, binascii.Error):
            self.problems.append(f"{name}: base64 expected")
            return None


def _mapping(value: Any) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None


def _heads(trace: str) -> tuple[str, str, str, str]:
    """Class and message of the first exception of a trace and of its last cause."""
    heads = [line.removeprefix("Caused by: ") for line in trace.splitlines() if line.startswith("Caused by: ")]
    first = trace.partition("\n")[0]
    last = heads[-1] if heads else first
    return (*_split(first), *_split(last))


def _split(head: str) -> tuple[str, str]:
    name, colon, message = head.partition(": ")
    if colon and " " not in name:
        return name, message.strip()
    return ("", head.strip()) if " " in head.strip() else (head.strip(), "")
