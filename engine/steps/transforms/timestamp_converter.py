"""TimestampConverter: texts, numbers and logical types of time into each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from typing import Any

import msgspec

from engine.config.options import Problem
from engine.config.transforms import TIMESTAMP_CONVERTER
from engine.errors import TransformError
from engine.record.record import Record
from engine.record.schema import Field, Schema
from engine.record.unread import read
from engine.steps.converters.text import EPOCH, millis
from engine.steps.java.calendar import DAY_MS
from engine.steps.java.dates import DateFormat
from engine.steps.options import checked
from engine.steps.transforms.schemas import SchemaCache, schemas_of, with_fields
from engine.steps.transforms.side import need_fields, side_of, with_side
from engine.steps.transforms.timestamp_router import pattern_problems

_LOGICAL = "org.apache.kafka.connect.data."
_LONG_MAX = 2**63 - 1
_PER_SECOND = {"nanoseconds": 1_000_000_000, "microseconds": 1_000_000, "milliseconds": 1000, "seconds": 1}
_SCHEMAS = {
    "string": Schema("STRING"),
    "unix": Schema("INT64"),
    "Date": Schema("INT32", name=f"{_LOGICAL}Date", version=1),
    "Time": Schema("INT32", name=f"{_LOGICAL}Time", version=1),
    "Timestamp": Schema("INT64", name=f"{_LOGICAL}Timestamp", version=1),
}
_OPTIONAL = {name: msgspec.structs.replace(schema, optional=True) for name, schema in _SCHEMAS.items()}
_UTC_NOW = partial(datetime.now, UTC)
_LOGICAL_TYPES = {f"{_LOGICAL}Date", f"{_LOGICAL}Time", f"{_LOGICAL}Timestamp"}


class TimestampConverter:
    """Kafka Connect's TimestampConverter$Key and $Value. Null stays null; everything is UTC."""

    OPTIONS = TIMESTAMP_CONVERTER

    def __init__(self, of: str, now: Callable[[], datetime] = _UTC_NOW) -> None:
        self._now = now  # years of two digits are read from here
        self._key = of == "Key"
        self._field = ""
        self._target = "Timestamp"
        self._format: DateFormat | None = None
        self._per_second = 1000
        self._defaults = True
        self._schemas = SchemaCache(self._updated)

    @property
    def takes_unread(self) -> bool:
        """Does what it makes look the same in a value whose other parts are unread?"""
        return self._target in {"string", "unix"}

    @staticmethod
    def problems(configs: Mapping[str, str]) -> list[Problem]:
        """What the table's rows can't see: a pattern that is none, or none where one is needed."""
        text = configs.get("format", "").strip()
        if not text and configs.get("target.type", "").strip() == "string":
            return [("format", text, "is required with target.type=string")]
        return pattern_problems("format", configs)

    def configure(self, configs: Mapping[str, str]) -> None:
        values = checked(self.OPTIONS, self.problems, configs)
        self._field, self._target = values["field"], values["target.type"]
        self._format = DateFormat(values["format"], self._now()) if values["format"] else None
        self._per_second = _PER_SECOND[values["unix.precision"]]
        self._defaults = values["replace.null.with.default"]

    def apply(self, record: Record) -> Record:
        """The record with its time converted. Raises TransformError for what is no time."""
        schema, value = side_of(record, key=self._key)
        if not self._field:
            target = None if schema is None else self._schema(schema)
            return with_side(record, target, self._converted(schema, value), key=self._key)
        if value is None and schema is None:
            return record
        if value is None and schema is not None and schema.type == "STRUCT":
            return with_side(record, self._schemas(schema), None, key=self._key)
        fields = need_fields(schema, value, "converting timestamps", defaults=self._defaults)
        inner = schemas_of(schema)
        if schema is None or self._field in inner:
            converted = self._converted(inner.get(self._field), read(fields.get(self._field)))
            fields = {**fields, self._field: converted}
        return with_side(record, schema and self._schemas(schema), fields, key=self._key)

    def _updated(self, schema: Schema) -> Schema:
        fields = (
            Field(field.name, self._schema(field.schema)) if field.name == self._field else field
            for field in schema.fields
        )
        return with_fields(schema, fields, optional=schema.optional)

    def _schema(self, schema: Schema) -> Schema:
        return (_OPTIONAL if schema.optional else _SCHEMAS)[self._target]

    def _converted(self, schema: Schema | None, value: Any) -> Any:
        if schema is not None and schema.type not in {"INT64", "STRING"} and schema.name not in _LOGICAL_TYPES:
            raise TransformError(f"a {schema.type} is no time")
        if value is None:
            return None
        try:
            return self._written(self._read(value))
        except ValueError as error:
            raise TransformError(f"{value!r:.80} {error}") from error
        except OverflowError as error:
            raise TransformError(f"{value!r:.80} lies outside the years 1 to 9999") from error

    def _read(self, value: Any) -> int:
        """The milliseconds since 1970."""
        match value:
            case date() | time():
                return millis(value)
            case str() if self._format is not None:
                return self._format.parse(value)
            case str():
                raise TransformError("texts can't be read as times without the option format")
            case int() if not isinstance(value, bool):
                return _scaled(value, 1000, self._per_second)
        raise TransformError(f"a {type(value).__name__} is no time")

    def _written(self, time_ms: int) -> Any:
        match self._target:
            case "string" if self._format is not None:
                return self._format.format(time_ms)
            case "unix":
                return _scaled(time_ms, self._per_second, 1000)
            case "Date":
                return (EPOCH + timedelta(days=time_ms // DAY_MS)).date()
            case "Time":
                return (EPOCH + timedelta(milliseconds=time_ms % DAY_MS)).time()
        return EPOCH + timedelta(milliseconds=time_ms)


def _scaled(number: int, times: int, by: int) -> int:
    """As Java's time units convert: towards zero, and no further than 64 bits."""
    if times >= by:
        return max(-_LONG_MAX - 1, min(_LONG_MAX, number * (times // by)))
    whole = abs(number) // (by // times)
    return whole if number >= 0 else -whole
