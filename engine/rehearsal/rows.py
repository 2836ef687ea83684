"""Input and output records of a rehearsal: JSON, with bytes in base64 and long texts cut."""

from __future__ import annotations

import base64
from typing import Any

import msgspec
from msgspec.structs import replace

from engine.errors import BadRequest
from engine.pipeline.source_steps import WRITTEN
from engine.record.record import RawRecord, Record
from engine.record.schema import BYTES, TYPES, Schema
from engine.record.stage import Stage, StageType
from engine.record.values import read_value, write_value

SHOWN_CHARACTERS = 64 * 1024
PARTS = {
    StageType.KEY_CONVERTER: ("key",),
    StageType.VALUE_CONVERTER: ("value",),
    StageType.HEADER_CONVERTER: ("headers",),
}
ALL = ("topic", "key", "value", "headers")


class ConsumedRecord(msgspec.Struct, frozen=True):
    """A record as Kafka stores it, for a sink, a stream or a KafkaSink."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    partition: int = 0
    offset: int = 0
    timestamp: int = -1
    timestamp_type: str = "CREATE_TIME"

    def raw(self) -> RawRecord:
        """Return the record as a consumer would return it."""
        return RawRecord(
            self.topic, self.partition, self.offset, self.timestamp, self.timestamp_type, self.key, self.value,
            self.headers,
        )  # fmt: skip


class TypedValue(msgspec.Struct, frozen=True):
    """Connect data as in an error context: a type name and a text, in base64 for BYTES."""

    schema: str | None = None
    value: str | None = None


class PolledRecord(msgspec.Struct, frozen=True):
    """A source record as it was given to the stage `stage`, where the rehearsal starts."""

    topic: str
    stage: int
    key: TypedValue = TypedValue()
    value: TypedValue = TypedValue()
    headers: tuple[tuple[str, TypedValue], ...] = ()
    partition: int | None = None
    timestamp: int | None = None

    def record(self, stages: tuple[Stage, ...]) -> Record:
        """Return the record before its stage. Raises BadRequest if text and type do not match."""
        key_schema, key = _data(self.key, "the key")
        value_schema, value = _data(self.value, "the value")
        rows = [(name, *_data(given, f"the header {name}")) for name, given in self.headers]
        made = Record(
            self.topic, self.partition, self.timestamp, key, value, key_schema, value_schema, tuple(rows),
        )  # fmt: skip
        written = [stage.type for stage in stages[: self.stage]]
        if StageType.KEY_CONVERTER in written:
            made = replace(made, key_schema=WRITTEN)
        return replace(made, value_schema=WRITTEN) if StageType.VALUE_CONVERTER in written else made


class RehearsalRequest(msgspec.Struct, frozen=True):
    """A rehearsal request: a connector's properties with masked secrets, and records; `polled` for a source.

    `worker` holds the worker's options. `shown` limits the characters shown of a value after each stage.
    `only_built_in` is the reason, as a sentence, why classes of other packages are not loaded; empty if they are.
    """

    config: dict[str, str]
    records: tuple[ConsumedRecord, ...] = ()
    polled: tuple[PolledRecord, ...] = ()
    worker: dict[str, str] = {}
    shown: int = SHOWN_CHARACTERS
    only_built_in: str = ""


def read_wanted(data: bytes) -> RehearsalRequest:
    """Parse the document from standard input. Raises BadRequest."""
    try:
        return msgspec.json.decode(data, type=RehearsalRequest)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise BadRequest(f"the rehearsal request is invalid: {error}") from error


def changes(stage: Stage, before: Record, after: Record, shown: int) -> dict[str, Any]:
    """Return the part of the record that the stage converts, or the parts that it changed."""
    names = PARTS.get(stage.type) or tuple(name for name in ALL if getattr(before, name) is not getattr(after, name))
    return {name: show(after, name, shown) for name in names}


def show(record: Record, name: str, shown: int) -> Any:
    """Return a part of a record, for people."""
    if name == "headers":
        return [{"name": key, **_shown(schema, value, shown)} for key, schema, value in record.headers]
    if name == "topic":
        return record.topic
    return _shown(getattr(record, f"{name}_schema"), getattr(record, name), shown)


def produced(record: Record) -> dict[str, Any]:
    """Return the message as it would be written: bytes in base64, headers as rows."""
    return {
        "topic": record.topic,
        "partition": record.partition,
        "key": _base64(record.key),
        "value": _base64(record.value),
        "headers": [[name, _base64(value)] for name, _, value in record.headers],
    }


def shown_data(value: Any, shown: int) -> dict[str, Any]:
    """Return data without a schema, for people."""
    return _shown(None, value, shown)


def _shown(schema: Schema | None, value: Any, shown: int) -> dict[str, Any]:
    kind, written = write_value(schema, value)
    is_base64 = False
    if isinstance(written, bytes):
        try:
            text: str | None = written.decode()
        except UnicodeDecodeError:
            text, is_base64 = base64.b64encode(written).decode(), True
    else:
        text = written
    cut = text is not None and len(text) > shown
    return {"schema": kind, "value": None if text is None else text[:shown], "base64": is_base64, "cut": cut}


def _data(given: TypedValue, what: str) -> tuple[Schema | None, Any]:
    if given.schema is not None and given.schema not in TYPES:
        raise BadRequest(f"{what} has the unknown type {given.schema}")
    try:
        value = read_value(given.schema, given.value)
    except ValueError as error:
        raise BadRequest(f"{what} is not a valid {given.schema}: {error}") from error
    if given.schema == "BYTES":
        return BYTES, value
    simple = given.schema in (None, "STRUCT", "ARRAY", "MAP")  # the types of their elements were not recorded
    return None if simple or given.schema is None else Schema(given.schema, optional=True), value


def _base64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()
