"""MaskField: hides the content of fields."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from typing import Any

from engine.config.options import parse
from engine.config.transforms import MASK_FIELD
from engine.errors import TransformError
from engine.record.record import Record
from engine.record.schema import Schema
from engine.record.unread import read
from engine.steps.converters.text import EPOCH
from engine.steps.java.numbers import decimal_of, long_of, narrow, shortest_float32
from engine.steps.transforms.schemas import schemas_of
from engine.steps.transforms.side import need_fields, side_of, with_side

_BITS = {"INT8": 8, "INT16": 16, "INT32": 32, "INT64": 64}
_EMPTY: tuple[tuple[type | tuple[type, ...], Any], ...] = (
    (bool, False),
    (int, 0),
    (float, 0.0),
    (str, ""),
    (Decimal, Decimal(0)),
    (datetime, EPOCH),
    (date, EPOCH.date()),
    (time, time(0)),
)  # the first that fits: a bool is an int, a datetime a date


class MaskField:
    """Kafka Connect's MaskField$Key and $Value: null stays null, the rest becomes the replacement, or 0 and empty."""

    OPTIONS = MASK_FIELD
    takes_unread = True

    def __init__(self, of: str) -> None:
        self._key = of == "Key"
        self._names: tuple[str, ...] = ()
        self._replacement: str | None = None
        self._defaults = True

    def configure(self, configs: Mapping[str, str]) -> None:
        values = parse(self.OPTIONS, configs)
        self._names = values["fields"]
        self._replacement = values["replacement"]
        self._defaults = values["replace.null.with.default"]

    def apply(self, record: Record) -> Record:
        """The record, masked. Raises TransformError for what has no fields, and for a type that has no mask."""
        schema, value = side_of(record, key=self._key)
        fields = need_fields(schema, value, "masking", defaults=self._defaults)
        schemas = schemas_of(schema)
        masked = {
            name: self._masked(name, schemas.get(name), read(fields.get(name)))
            for name in self._names
            if schema is None or name in schemas
        }
        return with_side(record, schema, {**fields, **masked}, key=self._key)

    def _masked(self, name: str, schema: Schema | None, value: Any) -> Any:
        if value is None:
            return None
        try:
            found = (
                _emptied(schema, value) if self._replacement is None else _replaced(schema, value, self._replacement)
            )
        except (ValueError, InvalidOperation) as error:
            raise TransformError(f"field {name}: {self._replacement} is no number") from error
        if found is None:
            how = "can't be masked" if self._replacement is None else "can't be masked with a replacement"
            raise TransformError(f"field {name} is a {schema.type if schema else type(value).__name__}, which {how}")
        return found


def _emptied(schema: Schema | None, value: Any) -> Any:
    if isinstance(value, dict):
        return {} if schema is None or schema.type == "MAP" else None
    if isinstance(value, list | tuple):
        return []
    return next((empty for kinds, empty in _EMPTY if isinstance(value, kinds)), None)


def _replaced(schema: Schema | None, value: Any, text: str) -> Any:
    match value:
        case bool():
            return None
        case int():
            return narrow(long_of(decimal_of(text)), _BITS.get(schema.type, 64) if schema else 64)
        case float():
            number = float(decimal_of(text))
            return shortest_float32(number) if schema is not None and schema.type == "FLOAT32" else number
        case str():
            return text
        case Decimal():
            return decimal_of(text)
    return None
