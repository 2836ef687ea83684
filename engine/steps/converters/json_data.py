"""Payloads of JsonConverter's envelope by their schema, logical types included."""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from engine.errors import ConversionError
from engine.record.schema import Schema

_LOGICAL = "org.apache.kafka.connect.data."
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PYTHON: dict[str, tuple[type, ...]] = {
    "BOOLEAN": (bool,),
    "STRING": (str,),
    "FLOAT32": (float, int),
    "FLOAT64": (float, int),
}
_BITS = {"INT8": 8, "INT16": 16, "INT32": 32, "INT64": 64}


def from_json(schema: Schema | None, value: Any, *, replace_null: bool = True) -> Any:  # noqa: C901, PLR0911 (a case a type)
    """Connect data from parsed JSON. Raises ConversionError where value and schema do not fit."""
    if schema is None:
        return value
    if value is None:
        return _null(schema, replace_null=replace_null)
    if schema.name in _READ:
        try:
            return _READ[schema.name](schema, value)
        except (ValueError, TypeError, OverflowError, ArithmeticError) as error:
            raise ConversionError(f"{value!r:.60} is no {schema.name}: {error}") from error
    match schema.type:
        case "STRUCT" if isinstance(value, dict):
            return {
                field.name: _field(field.name, field.schema, value.get(field.name), replace_null=replace_null)
                for field in schema.fields
            }
        case "ARRAY" if isinstance(value, list):
            return [from_json(schema.items, item, replace_null=replace_null) for item in value]
        case "MAP" if isinstance(value, dict):
            return {key: from_json(schema.items, item, replace_null=replace_null) for key, item in value.items()}
        case "MAP" if isinstance(value, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in value):
            pairs = [
                [from_json(kind, part) for kind, part in zip((schema.keys, schema.items), pair, strict=True)]
                for pair in value
            ]
            return dict(pairs)
        case "BYTES" if isinstance(value, str):
            return _base64(value)
        case "FLOAT32" | "FLOAT64" if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    if _fits(schema.type, value):
        return value
    raise ConversionError(f"{value!r:.60} is no {schema.type}")


def to_json(  # noqa: C901, PLR0911 (a case a type)
    schema: Schema | None, value: Any, *, numeric: bool = False, replace_null: bool = True
) -> Any:
    """What JSON can hold of Connect data. Raises ConversionError where value and schema do not fit."""
    if schema is None:
        return value
    if value is None:
        value = _null(schema, replace_null=replace_null)
        if value is None:
            return None
    if schema.name == f"{_LOGICAL}Decimal" and isinstance(value, Decimal):
        return float(value) if numeric else base64.b64encode(_unscaled(schema, value)).decode()
    if schema.name in _WRITE:
        return _WRITE[schema.name](value)
    match schema.type:
        case "STRUCT" if isinstance(value, dict):
            return {
                field.name: to_json(field.schema, value.get(field.name), numeric=numeric, replace_null=replace_null)
                for field in schema.fields
            }
        case "ARRAY" if isinstance(value, list):
            return [to_json(schema.items, item, numeric=numeric, replace_null=replace_null) for item in value]
        case "MAP" if isinstance(value, dict):
            items = [
                (key, to_json(schema.items, item, numeric=numeric, replace_null=replace_null))
                for key, item in value.items()
            ]
            return dict(items) if all(isinstance(key, str) for key in value) else [list(pair) for pair in items]
        case "BYTES" if isinstance(value, bytes):
            return base64.b64encode(value).decode()
    if _fits(schema.type, value):
        return value
    raise ConversionError(f"{value!r:.60} is no {schema.type}")


def _fits(kind: str, value: Any) -> bool:
    bits = _BITS.get(kind)
    if isinstance(value, bool) or bits is None:
        return isinstance(value, _PYTHON.get(kind, ())) and isinstance(value, bool) == (kind == "BOOLEAN")
    return isinstance(value, int) and -(1 << (bits - 1)) <= value < 1 << (bits - 1)


def _null(schema: Schema, *, replace_null: bool) -> Any:
    if schema.default is not None and replace_null:
        return schema.default
    if schema.optional:
        return None
    raise ConversionError(f"null for a {schema.type} that is not optional")


def _field(name: str, schema: Schema, value: Any, *, replace_null: bool) -> Any:
    try:
        return from_json(schema, value, replace_null=replace_null)
    except ConversionError as error:
        raise ConversionError(f"field {name}: {error}") from error


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:  # binascii.Error is one; text beyond ASCII raises its parent
        raise ConversionError(f"BYTES are not base64: {error}") from error


def _decimal(schema: Schema, value: Any) -> Decimal:
    if isinstance(value, int | float):
        return Decimal(str(value))
    scale = int((schema.parameters or {}).get("scale", "0"))
    return Decimal(int.from_bytes(base64.b64decode(value, validate=True), signed=True)).scaleb(-scale)


def _unscaled(schema: Schema, value: Decimal) -> bytes:
    scale = int((schema.parameters or {}).get("scale", "0"))
    number = int(value.scaleb(scale))
    return number.to_bytes(number.bit_length() // 8 + 1, signed=True)


def _time(_: Schema, value: Any) -> time:
    return (_EPOCH + timedelta(milliseconds=value)).time()


_READ: dict[str | None, Callable[[Schema, Any], Any]] = {
    f"{_LOGICAL}Decimal": _decimal,
    f"{_LOGICAL}Date": lambda _, value: (_EPOCH + timedelta(days=value)).date(),
    f"{_LOGICAL}Time": _time,
    f"{_LOGICAL}Timestamp": lambda _, value: _EPOCH + timedelta(milliseconds=value),
}
_WRITE: dict[str | None, Callable[[Any], Any]] = {
    f"{_LOGICAL}Date": lambda value: (value - _EPOCH.date()).days if isinstance(value, date) else value,
    f"{_LOGICAL}Time": lambda value: (
        ((value.hour * 60 + value.minute) * 60 + value.second) * 1000 + value.microsecond // 1000
        if isinstance(value, time)
        else value
    ),
    f"{_LOGICAL}Timestamp": lambda value: (
        (value - _EPOCH) // timedelta(milliseconds=1) if isinstance(value, datetime) else value
    ),
}
