"""MaskField: hides the content of fields."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal, InvalidOperation
from types import NoneType
from typing import Any

from engine.config.options import parse
from engine.config.transforms import MASK_FIELD
from engine.errors import TransformError
from engine.record.record import Record
from engine.record.schema import Schema
from engine.record.unread import read
from engine.steps.converters.json_data import BITS
from engine.steps.converters.values_as_text import EPOCH
from engine.steps.java.numbers import decimal_of, long_of, narrow, shortest_float32
from engine.steps.transforms.field_transform import FieldTransform
from engine.steps.transforms.schemas import schemas_of
from engine.steps.transforms.side import need_dict

_EMPTY: tuple[tuple[type | tuple[type, ...], Any], ...] = (
    (bool, False),
    (int, 0),
    (float, 0.0),
    (str, ""),
    (Decimal, Decimal(0)),
    (datetime, EPOCH),
    (date, EPOCH.date()),
    (time, time(0)),
)  # the first match counts: a bool is an int, a datetime is a date
# Masks for values of exactly these types.
_PLAIN: dict[type, Any] = {NoneType: None, bool: False, int: 0, float: 0.0, str: ""}
_Rows = tuple[tuple[str, Schema | None], ...]  # the fields to mask, and their schemas


class MaskField(FieldTransform[_Rows]):
    """Kafka Connect's MaskField$Key and $Value. Null stays null; others become the replacement, 0 or empty."""

    OPTIONS = MASK_FIELD
    PURPOSE = "masking"
    takes_unread = True

    def __init__(self, of: str) -> None:
        super().__init__(of)
        self._names: tuple[str, ...] = ()
        self._replacement: str | None = None
        self._masks: dict[type, Any] = {}
        self._map_plan = ()

    def configure(self, configs: Mapping[str, str]) -> None:
        values = parse(self.OPTIONS, configs)
        self._names = values["fields"]
        self._map_plan = tuple((name, None) for name in self._names)
        self._replacement = values["replacement"]
        self._masks = dict(_PLAIN) if self._replacement is None else {NoneType: None, str: self._replacement}
        self._begin(defaults=values["replace.null.with.default"])

    def _null(self, schema: Schema | None) -> Schema | None:
        need_dict(schema, None, self.PURPOSE)
        return schema

    def _changed(self, record: Record, fields: dict[str, Any], plan: _Rows) -> dict[str, Any]:
        fields, masks = fields.copy(), self._masks
        for name, schema in plan:
            part = fields.get(name)
            kind = type(part)
            fields[name] = masks[kind] if kind in masks else self._masked(name, schema, read(part))
        return fields

    def _planned(self, schema: Schema) -> tuple[Schema, _Rows]:
        known = schemas_of(schema)
        return schema, tuple((name, known[name]) for name in self._names if name in known)

    def _masked(self, name: str, schema: Schema | None, value: Any) -> Any:
        if value is None:
            return None
        try:
            masked = (
                _emptied(schema, value) if self._replacement is None else _replaced(schema, value, self._replacement)
            )
        except (ValueError, InvalidOperation) as error:
            raise TransformError(f"field {name}: the replacement {self._replacement} is not a number") from error
        if masked is None:
            reason = "can't be masked" if self._replacement is None else "can't be masked with a replacement"
            raise TransformError(
                f"field {name} has the type {schema.type if schema else type(value).__name__}, which {reason}"
            )
        return masked


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
            return narrow(long_of(decimal_of(text)), BITS.get(schema.type, 64) if schema else 64)
        case float():
            number = float(decimal_of(text))
            return shortest_float32(number) if schema is not None and schema.type == "FLOAT32" else number
        case str():
            return text
        case Decimal():
            return decimal_of(text)
    return None
