"""InsertField: adds fields with record metadata or a fixed text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from engine.config.options import Problem
from engine.config.transforms import INSERT_FIELD
from engine.errors import TransformError
from engine.record.record import Record
from engine.record.schema import Field, Schema
from engine.steps.converters.values_as_text import EPOCH
from engine.steps.options import checked
from engine.steps.transforms.field_transform import FieldTransform
from engine.steps.transforms.schemas import with_fields

_TIMESTAMP = Schema("INT64", name="org.apache.kafka.connect.data.Timestamp", version=1)
_SCHEMAS = {
    "topic": Schema("STRING"),
    "partition": Schema("INT32"),
    "offset": Schema("INT64"),
    "timestamp": _TIMESTAMP,
    "static": Schema("STRING"),
}  # in the order of the new fields
_Rows = tuple[tuple[str, Callable[[Record], Any]], ...]  # new fields, and the metadata for each


class _Insertion(NamedTuple):
    """A field to insert. A name that ends in ! is required; one that ends in ? is optional, the default."""

    what: str
    field: str
    optional: bool


class InsertField(FieldTransform[_Rows]):
    """Kafka Connect's InsertField$Key and $Value. Null stays null; a map's field of that name is replaced."""

    OPTIONS = INSERT_FIELD
    PURPOSE = "field insertion"
    takes_unread = True

    def __init__(self, of: str) -> None:
        super().__init__(of)
        self._insertions: tuple[_Insertion, ...] = ()
        self._map_plan = ()
        self._struct_plan: _Rows = ()

    @staticmethod
    def problems(configs: Mapping[str, str]) -> list[Problem]:
        """Return problems that the options table can't detect: nothing to insert, or a field without its text."""
        if not any(f"{what}.field" in configs for what in _SCHEMAS):
            return [("topic.field", None, "is not set; set at least one field to insert")]
        if "static.field" in configs and "static.value" not in configs:
            return [("static.value", None, "is required if static.field is set")]
        return []

    def configure(self, configs: Mapping[str, str]) -> None:
        values = checked(self.OPTIONS, self.problems, configs)
        rows = ((what, values[f"{what}.field"]) for what in _SCHEMAS)
        self._insertions = tuple(_insertion(what, name) for what, name in rows if name is not None)
        text = values["static.value"]
        known: dict[str, Callable[[Record], Any]] = {**_KNOWN, "static": lambda _: text}
        self._map_plan = tuple((name, known[what]) for what, name, _ in self._insertions)
        known["timestamp"] = _moment
        self._struct_plan = tuple((name, known[what]) for what, name, _ in self._insertions)
        self._begin(defaults=values["replace.null.with.default"])

    def _changed(self, record: Record, fields: dict[str, Any], plan: _Rows) -> dict[str, Any]:
        fields = fields.copy()
        for name, known_of in plan:
            known = known_of(record)
            if known is not None:  # an optional field stays null; for a required one the converter raises
                fields[name] = known
        return fields

    def _planned(self, schema: Schema) -> tuple[Schema, _Rows]:
        new = tuple(
            Field(name, msgspec.structs.replace(_SCHEMAS[what], optional=optional))
            for what, name, optional in self._insertions
        )
        return with_fields(schema, schema.fields + new), self._struct_plan


def _insertion(what: str, name: str) -> _Insertion:
    return _Insertion(what, name[:-1] if name.endswith(("!", "?")) else name, not name.endswith("!"))


def _offset(record: Record) -> int:
    if record.offset is None:
        raise TransformError("the record has no offset; offset.field works only in sinks")
    return record.offset


def _moment(record: Record) -> datetime | None:
    """Return the timestamp in its schema's type."""
    if record.timestamp is None:
        return None
    try:
        return EPOCH + timedelta(milliseconds=record.timestamp)
    except OverflowError as error:
        raise TransformError(f"the timestamp {record.timestamp} ms is outside the years 1 to 9999") from error


_KNOWN: dict[str, Callable[[Record], Any]] = {
    "topic": attrgetter("topic"),
    "partition": attrgetter("partition"),
    "offset": _offset,
    "timestamp": attrgetter("timestamp"),
}
