"""TimestampConverter: converts between text, numbers and logical time types."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from typing import Any

import msgspec

from engine.config.options import Problem
from engine.config.transforms import TIMESTAMP_CONVERTER
from engine.errors import VALUE, Message, TransformError
from engine.record.record import Record
from engine.record.schema import Field, Schema
from engine.record.unread import Unread, read
from engine.steps.converters.values_as_text import EPOCH, millis
from engine.steps.java.calendar import DAY_MS
from engine.steps.java.dates import DateFormat
from engine.steps.java.numbers import LONG_MAX, LONG_MIN
from engine.steps.options import checked
from engine.steps.transforms.field_transform import FieldTransform
from engine.steps.transforms.schemas import field_of, with_fields
from engine.steps.transforms.side import need_dict
from engine.steps.transforms.timestamp_router import pattern_problems

_LOGICAL = "org.apache.kafka.connect.data."
_MS = timedelta(milliseconds=1)
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
_Found = tuple[bool, Schema | None]  # whether the field exists, and its schema


class TimestampConverter(FieldTransform[_Found]):
    """Kafka Connect's TimestampConverter$Key and $Value. Null stays null; all times are UTC."""

    OPTIONS = TIMESTAMP_CONVERTER
    PURPOSE = "converting timestamps"
    _map_plan = True, None

    def __init__(self, of: str, now: Callable[[], datetime] = _UTC_NOW) -> None:
        super().__init__(of)
        self._now = now  # the reference for years of two digits
        self._field = ""
        self._target = "Timestamp"
        self._format: DateFormat | None = None
        self._read_number = self._write = _scaling(1, 1)

    @property
    def takes_unread(self) -> bool:
        """Return whether the output is the same for a value with unread parts."""
        return self._target in {"string", "unix"}

    @staticmethod
    def problems(configs: Mapping[str, str]) -> list[Problem]:
        """Return problems that the options table can't detect: an invalid or missing pattern."""
        text = configs.get("format", "").strip()
        if not text and configs.get("target.type", "").strip() == "string":
            return [("format", text, "is required if target.type=string")]
        return pattern_problems("format", configs)

    def configure(self, configs: Mapping[str, str]) -> None:
        values = checked(self.OPTIONS, self.problems, configs)
        self._field, self._target = values["field"], values["target.type"]
        self._of_whole = not self._field
        self._format = DateFormat(values["format"], self._now()) if values["format"] else None
        per_second = _PER_SECOND[values["unix.precision"]]
        self._read_number = _scaling(1000, per_second)
        self._write = self._writing(_scaling(per_second, 1000))
        self._begin(defaults=values["replace.null.with.default"])

    def _whole(self, schema: Schema | None, value: Any) -> tuple[Schema | None, Any]:
        return schema and self._schema(schema), self._converted(schema, value)

    def _null(self, schema: Schema | None) -> Schema | None:
        if schema is not None and schema.type != "STRUCT":
            need_dict(schema, None, self.PURPOSE)
        return schema and self._plan(schema)[0]

    def _changed(self, record: Record, fields: dict[str, Any], plan: _Found) -> dict[str, Any]:
        is_there, schema = plan
        if not is_there:
            return fields
        part = fields.get(self._field)
        converted = self._converted(schema, read(part) if type(part) is Unread else part)
        fields = fields.copy()
        fields[self._field] = converted
        return fields

    def _planned(self, schema: Schema) -> tuple[Schema, _Found]:
        fields = (
            Field(field.name, self._schema(field.schema)) if field.name == self._field else field
            for field in schema.fields
        )
        target = with_fields(schema, fields, optional=schema.optional)
        found = field_of(schema, self._field)
        return target, (False, None) if found is None else (True, found.schema)

    def _schema(self, schema: Schema) -> Schema:
        return (_OPTIONAL if schema.optional else _SCHEMAS)[self._target]

    def _converted(self, schema: Schema | None, value: Any) -> Any:
        if schema is not None and schema.type not in {"INT64", "STRING"} and schema.name not in _LOGICAL_TYPES:
            raise TransformError(f"the type {schema.type} can't be converted to a time")
        if value is None:
            return None
        try:
            return self._write(self._read_number(value) if type(value) is int else self._read(value))
        except ValueError as error:
            raise TransformError(Message(f"{VALUE} {VALUE}", f"{value!r:.80}", error)) from error
        except OverflowError as error:
            raise TransformError(Message(f"{VALUE} is outside the years 1 to 9999", f"{value!r:.80}")) from error

    def _read(self, value: Any) -> int:
        """Return the milliseconds since 1970."""
        match value:
            case date() | time():
                return millis(value)
            case str() if self._format is not None:
                return self._format.parse(value)
            case str():
                raise TransformError("a string can't be converted to a time without the option format")
            case int() if not isinstance(value, bool):
                return self._read_number(value)
        raise TransformError(f"the type {type(value).__name__} can't be converted to a time")

    def _writing(self, to_unix: Callable[[int], int]) -> Callable[[int], Any]:
        """Return the conversion from milliseconds to the target type."""
        match self._target:
            case "string" if self._format is not None:
                return self._format.format
            case "unix":
                return to_unix
            case "Date":
                return lambda time_ms: (EPOCH + timedelta(days=time_ms // DAY_MS)).date()
            case "Time":
                return lambda time_ms: (EPOCH + time_ms % DAY_MS * _MS).time()
        return lambda time_ms: EPOCH + time_ms * _MS


def _scaling(times: int, by: int) -> Callable[[int], int]:
    """Return Java's time unit conversion: rounded towards zero, saturated at 64 bits."""
    if times >= by:
        factor = times // by
        return lambda number: (
            found if LONG_MIN <= (found := number * factor) <= LONG_MAX else LONG_MIN if number < 0 else LONG_MAX
        )
    parts = by // times
    return lambda number: number // parts if number >= 0 else -(-number // parts)
