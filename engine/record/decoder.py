"""A reader of error contexts from any writer. Malformed parts become problems, never exceptions."""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec
import orjson

from engine.record.context import TOLERANCE_NAME, ErrorContext
from engine.record.record import Headers, RawRecord, Record
from engine.record.schema import TYPES, Schema
from engine.record.stage import Stage, StageType
from engine.record.values import decode_base64, read_value

Json = dict[str, Any]
T = TypeVar("T")

_KNOWN = {"record", "stages", "index", "exception", "attempt", "task_id", "time_of_error"}
_HEAD = re.compile(r"([A-Za-z_$][\w$.<>]*)(?:: ?(.*))?", re.DOTALL)
_ALIASES = {"TASK_PULL": StageType.TASK_POLL}  # the name in KIP-298's prose


class DecodedContext(msgspec.Struct, frozen=True):
    """The decoded context. `context` is None when the bytes are not an error context.

    `problems` are sentences. `fields` is the whole JSON object. `truncated` names the part that the writer left out.
    """

    context: ErrorContext | None
    problems: tuple[str, ...] = ()
    fields: dict[str, Any] = {}
    version: int | None = None
    truncated: str | None = None


def decode(data: bytes | None) -> DecodedContext:
    """Decode the context in a dead letter's value. Never raises."""
    try:
        body = orjson.loads(data) if data else None
    except ValueError as error:
        return DecodedContext(None, (f"is not JSON: {error}",))
    if not isinstance(body, dict):
        return DecodedContext(None, ("is not a JSON object",))
    if len(_KNOWN & body.keys()) < 2:
        return DecodedContext(None, ("has none of the fields of an error context",), body)
    reader = _ContextReader()
    context = reader.context(body)
    return DecodedContext(
        context,
        tuple(reader.problems),
        body,
        reader.get(body, "version", int, None),
        reader.get(body, "truncated", str, None),
    )


class _ContextReader:
    """A reader that collects problems."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def context(self, body: Json) -> ErrorContext:
        exception = self.need(body, "exception", str, "")
        heads = _heads(exception)
        time = self.need(body, "time_of_error", int, 0)
        task_id = self.need(body, "task_id", str, "")
        stages = self.stages(body)
        index = self.need(body, "index", int, -1)
        if not 0 <= index < len(stages):
            self.problems.append(f"index {index} is out of range for {len(stages)} stages")
            stages, index = (*stages, Stage(StageType.UNKNOWN, "")), len(stages)
        original = self.original(body)
        record = self.record(body, original)
        return ErrorContext(
            record=record,
            original=original or _original_of(record),
            stages=stages,
            index=index,
            exception=exception,
            exception_class=self.get(body, "exception_class", str, heads[0][0]),
            message=self.get(body, "message", str, heads[0][1]),
            root_class=self.get(body, "root_class", str, heads[-1][0]),
            root_message=self.get(body, "root_message", str, heads[-1][1]),
            attempt=self.need(body, "attempt", int, 0),
            task_id=task_id,
            connector=self.get(body, "connector", str, task_id.rpartition("-")[0] or task_id),
            time_of_error=time,
            first_failure_time=self.get(body, "first_failure_time", int, time),
            elapsed_ms=self.get(body, "elapsed_ms", int, 0),
            handler=self.get(body, "handler", str, TOLERANCE_NAME),
        )

    def need(self, body: Json, name: str, kind: type[T], default: T) -> T:
        if name not in body:
            self.problems.append(f"{name} is missing")
        return self.get(body, name, kind, default)

    def get(self, body: Json, name: str, kind: type[T], default: T, where: str = "") -> T:
        """Return the field if it has the expected type. Numbers may be written as text."""
        value = body.get(name)
        if value is None:
            return default
        if kind is int and isinstance(value, str) and re.fullmatch(r"-?[0-9]{1,19}", value):
            value = int(value)
        if isinstance(value, kind) and not (kind is int and isinstance(value, bool)):
            return value
        self.problems.append(
            f"{where}{name} is not {'text' if kind is str else 'a number' if kind is int else 'an object'}"
        )
        return default

    def stages(self, body: Json) -> tuple[Stage, ...]:
        rows = body.get("stages")
        if not isinstance(rows, list):
            self.problems.append("stages is missing" if rows is None else "stages is not a list")
            return ()
        return tuple(self.stage(row, f"stages[{place}].") for place, row in enumerate(rows))

    def stage(self, row: Any, where: str) -> Stage:
        if not isinstance(row, dict):
            self.problems.append(f"{where.removesuffix('.')} is not an object")
            return Stage(StageType.UNKNOWN, "")
        name = self.get(row, "type", str, "", where)
        kind = _ALIASES.get(name) or StageType.__members__.get(name)
        if kind is None:
            self.problems.append(f"{where}type {name[:40]!r} is unknown")
        config = self.get(row, "config", dict, {}, where)
        texts = {key: self.option(value, f"{where}config.{key}") for key, value in config.items()}
        class_name, own = self.get(row, "class", str, "", where), self.get(row, "name", str, "", where)
        return Stage(kind or StageType.UNKNOWN, class_name, texts, own)

    def option(self, value: Any, where: str) -> str:
        try:
            return value if isinstance(value, str) else orjson.dumps(value).decode()
        except TypeError:  # orjson reads deeper values than it writes
            self.problems.append(f"{where} is nested too deeply")
            return ""

    def record(self, body: Json, original: RawRecord | None) -> Record | None:
        row = self.get(body, "record", dict, None)
        if row is None:
            return None
        key_schema, key = self.value(row.get("key"), "record.key")
        value_schema, value = self.value(row.get("value"), "record.value")
        record = Record(
            topic=self.get(row, "topic", str, "", "record."),
            partition=self._number(row, "partition"),
            timestamp=self._number(row, "timestamp"),
            key=key,
            value=value,
            key_schema=key_schema,
            value_schema=value_schema,
            headers=self.headers(row.get("headers")),
            offset=self._number(row, "offset"),
            timestamp_type=self.get(row, "timestamp_type", str, "CREATE_TIME", "record."),
            source_partition=self.get(row, "source_partition", dict, None, "record."),
            source_offset=self.get(row, "source_offset", dict, None, "record."),
        )
        whole = "key" in row or "value" in row
        return msgspec.structs.replace(record, raw=original or (_original_of(record) if whole else None))

    def _number(self, row: Json, name: str) -> int | None:
        return self.get(row, name, int, None, "record.")

    def value(self, row: Any, where: str) -> tuple[Schema | None, Any]:
        """Read `{schema, value}`, or `{schema, object}` of KIP-298 Example 4."""
        if row is None:
            return None, None
        if not isinstance(row, dict):
            self.problems.append(f"{where} is not an object with schema and value")
            return None, row
        kind = self.get(row, "schema", str, None, f"{where}.")
        text = row["value"] if "value" in row else row.get("object")
        schema = Schema(kind, optional=True) if kind in TYPES else None
        if kind is not None and schema is None:
            self.problems.append(f"{where}.schema {kind[:40]!r} is unknown")
        try:
            return schema, read_value(kind, text)
        except ValueError as error:
            self.problems.append(f"{where}.value does not fit {kind}: {error}")
            return schema, text

    def headers(self, rows: Any) -> tuple[tuple[str, Schema | None, Any], ...]:
        """Read a list of headers. A single SchemaAndValue, as in KIP-298's table, is a header without a name."""
        if rows is None:
            return ()
        if isinstance(rows, dict):
            return (("", *self.value(rows, "record.headers")),)
        if not isinstance(rows, list):
            self.problems.append("record.headers is not a list")
            return ()
        found = []
        for place, row in enumerate(rows):
            where = f"record.headers[{place}]"
            if isinstance(row, dict):
                found.append((self.get(row, "key", str, "", f"{where}."), *self.value(row, where)))
            else:
                self.problems.append(f"{where} is not an object")
        return tuple(found)

    def original(self, body: Json) -> RawRecord | None:
        """Return the original record if its bytes are there. A pointer has only coordinates."""
        row = body.get("original_record")
        if row is None:
            return None
        if not isinstance(row, dict):
            self.problems.append("original_record is not an object")
            return None
        if "key" not in row and "value" not in row:
            return None
        where = "original_record."
        return RawRecord(
            topic=self.get(row, "topic", str, "", where),
            partition=self.get(row, "partition", int, -1, where),
            offset=self.get(row, "offset", int, -1, where),
            timestamp=self.get(row, "timestamp", int, -1, where),
            timestamp_type=self.get(row, "timestamp_type", str, "CREATE_TIME", where),
            key=self.bytes(row.get("key"), f"{where}key"),
            value=self.bytes(row.get("value"), f"{where}value"),
            headers=self.raw_headers(row.get("headers"), f"{where}headers"),
        )

    def raw_headers(self, rows: Any, where: str) -> Headers:
        if rows is None:
            return ()
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            self.problems.append(f"{where} is not a list of objects")
            return ()
        return tuple((self.get(row, "key", str, "", where), self.bytes(row.get("value"), where)) for row in rows)

    def bytes(self, text: Any, where: str) -> bytes | None:
        if text is None:
            return None
        try:
            return decode_base64(text)
        except (ValueError, TypeError):
            self.problems.append(f"{where} is not base64")
            return None


def _original_of(record: Record | None) -> RawRecord | None:
    """Return `record` as the consumed record if it is unconverted: key and value are bytes or null."""
    if record is None or record.raw is not None:
        return record.raw if record is not None else None
    parts = (record.key, record.value, *(value for _, _, value in record.headers))
    nothing = record.key is None and record.value is None and record.key_schema is None and record.value_schema is None
    if nothing or not all(part is None or isinstance(part, bytes) for part in parts):
        return None
    return RawRecord(
        record.topic,
        -1 if record.partition is None else record.partition,
        -1 if record.offset is None else record.offset,
        -1 if record.timestamp is None else record.timestamp,
        record.timestamp_type,
        record.key,
        record.value,
        tuple((name, value) for name, _, value in record.headers),
    )


def _heads(exception: str) -> list[tuple[str, str]]:
    """Return (class, message) of the exception and of each cause, parsed from the trace."""
    lines = exception.split("\n")
    heads = [lines[0]] + [line.removeprefix("Caused by: ") for line in lines[1:] if line.startswith("Caused by: ")]
    matches = [_HEAD.fullmatch(head.strip()) for head in heads]
    return [
        (match[1], (match[2] or "").strip()) if match else ("", head.strip())
        for match, head in zip(matches, heads, strict=True)
    ]
