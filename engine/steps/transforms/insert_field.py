"""InsertField: puts what is known about the record, or a fixed text, into fields."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from engine.config.options import Problem
from engine.config.transforms import INSERT_FIELD
from engine.errors import TransformError
from engine.record.record import Record
from engine.record.schema import Field, Schema
from engine.steps.converters.text import EPOCH
from engine.steps.options import checked
from engine.steps.transforms.schemas import SchemaCache, with_fields
from engine.steps.transforms.side import need_fields, side_of, with_side

_PURPOSE = "field insertion"
_TIMESTAMP = Schema("INT64", name="org.apache.kafka.connect.data.Timestamp", version=1)
_SCHEMAS = {
    "topic": Schema("STRING"),
    "partition": Schema("INT32"),
    "offset": Schema("INT64"),
    "timestamp": _TIMESTAMP,
    "static": Schema("STRING"),
}  # in the order of the new fields


class _Insertion(NamedTuple):
    """What goes where; a name that ends in ! is required, one that ends in ? optional, as is every other."""

    what: str
    field: str
    optional: bool


class InsertField:
    """Kafka Connect's InsertField$Key and $Value. Null stays null; a map's field of the same name is replaced."""

    OPTIONS = INSERT_FIELD
    takes_unread = True

    def __init__(self, of: str) -> None:
        self._key = of == "Key"
        self._insertions: tuple[_Insertion, ...] = ()
        self._static: str | None = None
        self._defaults = True
        self._schemas = SchemaCache(self._extended)

    @staticmethod
    def problems(configs: Mapping[str, str]) -> list[Problem]:
        """What the table's rows can't see: nothing to insert, or a field without its text."""
        if not any(f"{what}.field" in configs for what in _SCHEMAS):
            return [("topic.field", None, "is not set, nor is any other field to insert")]
        if "static.field" in configs and "static.value" not in configs:
            return [("static.value", None, "is required with static.field")]
        return []

    def configure(self, configs: Mapping[str, str]) -> None:
        values = checked(self.OPTIONS, self.problems, configs)
        rows = ((what, values[f"{what}.field"]) for what in _SCHEMAS)
        self._insertions = tuple(_insertion(what, name) for what, name in rows if name is not None)
        self._static = values["static.value"]
        self._defaults = values["replace.null.with.default"]

    def apply(self, record: Record) -> Record:
        """The record with more fields. Raises TransformError for what has no fields, or has one of that name."""
        schema, value = side_of(record, key=self._key)
        if value is None:
            return record
        fields = dict(need_fields(schema, value, _PURPOSE, defaults=self._defaults))
        for what, name, _ in self._insertions:
            known = self._known(record, what)
            if known is None:
                continue  # an optional field stays null, a required one is the converter's to refuse
            fields[name] = _as_timestamp(known) if what == "timestamp" and schema is not None else known
        return with_side(record, schema and self._schemas(schema), fields, key=self._key)

    def _known(self, record: Record, what: str) -> Any:
        match what:
            case "topic":
                return record.topic
            case "partition":
                return record.partition
            case "timestamp":
                return record.timestamp
            case "offset" if record.offset is None:
                raise TransformError("only records of a sink have an offset to insert")
            case "offset":
                return record.offset
        return self._static

    def _extended(self, schema: Schema) -> Schema:
        new = tuple(
            Field(name, msgspec.structs.replace(_SCHEMAS[what], optional=optional))
            for what, name, optional in self._insertions
        )
        return with_fields(schema, schema.fields + new)


def _insertion(what: str, name: str) -> _Insertion:
    return _Insertion(what, name[:-1] if name.endswith(("!", "?")) else name, not name.endswith("!"))


def _as_timestamp(timestamp_ms: int) -> datetime:
    try:
        return EPOCH + timedelta(milliseconds=timestamp_ms)
    except OverflowError as error:
        raise TransformError(f"{timestamp_ms} ms is no timestamp of the years 1 to 9999") from error
