"""Connect data from the payloads of JsonConverter's envelope, by their schema."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from engine.errors import ConversionError
from engine.record.schema import Schema
from engine.steps.converters.scalars import crowded
from engine.steps.converters.text import DAY_MS, EPOCH
from engine.steps.defaults import default_of
from engine.steps.java.numbers import long_of, narrow, shortest_float32

LOGICAL = "org.apache.kafka.connect.data."
_BITS = {"INT8": 8, "INT16": 16, "INT32": 32, "INT64": 64}
_MAX_DECIMAL = 10_000  # bytes: turning them into digits takes time by the square
_QUARTET = re.compile(r"[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==")
_QUARTETS = re.compile(rf"[\x00-\x20]*(?:(?:{_QUARTET.pattern})[\x00-\x20]*)*")


class Inexact(Exception):
    """A number that the fast parser may have rounded stands where its digits count: the text must be read again."""


def from_json(schema: Schema | None, value: Any, *, replace_null: bool = True) -> Any:
    """Connect data. Raises ConversionError, or Inexact where a float is not good enough.

    As in Kafka Connect, a payload of another type is read as 0, false or null, and a number that is too large wraps.
    """
    if schema is None:
        return value
    if value is None:
        return _null(schema, replace_null=replace_null)
    logical = _LOGICAL.get(schema.name) if schema.name is not None else None
    if logical is not None:
        try:
            return logical(schema, value)
        except (ValueError, OverflowError, ArithmeticError) as error:
            raise ConversionError(f"{value!r:.60} is no {schema.name}: {error}") from error
    return _READ[schema.type](schema, value, replace_null)


def _null(schema: Schema, *, replace_null: bool) -> Any:
    if schema.default is not None and replace_null:
        return default_of(schema)
    if schema.optional:
        return None
    raise ConversionError(f"null for a {schema.type} that is not optional")


def _boolean(_schema: Schema, value: Any, _replace: bool) -> bool:
    return value is True


def _integer(schema: Schema, value: Any, _replace: bool) -> int:
    bits = _BITS[schema.type]
    match value:
        case bool():
            return 0
        case int():
            return narrow(value, bits)
        case float():
            raise Inexact
        case Decimal():
            return narrow(long_of(value), bits)
    return 0


def _floating(schema: Schema, value: Any, _replace: bool) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return 0.0
    try:
        number = float(value) + 0.0  # minus zero loses its sign
    except OverflowError:
        number = float("inf") if value > 0 else float("-inf")
    return shortest_float32(number) if schema.type == "FLOAT32" else number


def _string(_schema: Schema, value: Any, _replace: bool) -> str | None:
    return value if isinstance(value, str) else None


def _bytes(_schema: Schema, value: Any, _replace: bool) -> bytes | None:
    return _base64(value) if isinstance(value, str) else None


def _array(schema: Schema, value: Any, replace: bool) -> list[Any]:
    held = value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
    return [from_json(schema.items, item, replace_null=replace) for item in held]


def _map(schema: Schema, value: Any, replace: bool) -> dict[Any, Any]:
    assert schema.keys is not None
    if schema.keys.type == "STRING":
        if not isinstance(value, dict):
            raise ConversionError(f"{value!r:.60} is no MAP: with text as keys that is an object")
        return {key: from_json(schema.items, item, replace_null=replace) for key, item in value.items()}
    if not isinstance(value, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in value):
        raise ConversionError(f"{value!r:.60} is no MAP: with other keys than text that is a list of pairs")
    keys = [from_json(schema.keys, key, replace_null=replace) for key, _ in value]
    items = [from_json(schema.items, item, replace_null=replace) for _, item in value]
    if crowded(keys):
        raise ConversionError("a MAP with so many keys of one hash can't be held")
    try:
        return dict(zip(keys, items, strict=True))
    except TypeError as error:
        raise ConversionError(f"a MAP with {schema.keys.type} keys can't be held") from error


def _struct(schema: Schema, value: Any, replace: bool) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConversionError(f"{value!r:.60} is no STRUCT")
    held = {}
    for field in schema.fields:
        try:
            found = from_json(field.schema, value.get(field.name), replace_null=replace)
            _check_nulls(field.schema, found)
        except ConversionError as error:
            raise ConversionError(f"field {field.name}: {error}") from error
        held[field.name] = found
    return held


def _check_nulls(schema: Schema, value: Any) -> None:
    """In a STRUCT no part may be null whose schema is not optional."""
    if value is None:
        if not schema.optional:
            raise ConversionError(f"null, or another type, for a {schema.type} that is not optional")
    elif schema.type == "ARRAY" and schema.items is not None:
        for item in _container(schema, value, list):
            _check_nulls(schema.items, item)
    elif schema.type == "MAP" and schema.keys is not None and schema.items is not None:
        for key, item in _container(schema, value, dict).items():
            _check_nulls(schema.keys, key)
            _check_nulls(schema.items, item)


def _container(schema: Schema, value: Any, kind: type) -> Any:
    """A MAP or an ARRAY that bears the name of a logical type is read as that, and is none."""
    if not isinstance(value, kind):
        raise ConversionError(f"{schema.name} is no {schema.type}")
    return value


def _base64(text: str) -> bytes:
    """Padded base64, as one piece or several, white space between their quartets."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        if not _QUARTETS.fullmatch(text):
            raise ConversionError(f"BYTES are not base64: {error}") from error
    return b"".join(map(base64.b64decode, _QUARTET.findall(text)))


def _decimal(schema: Schema, value: Any) -> Decimal | None:
    match value:
        case bool():
            raise ValueError("it is true or false")
        case float():
            raise Inexact
        case int() | Decimal():
            return Decimal(value) if value else Decimal(value).copy_abs()
        case str():
            data = _base64(value)
            if not data:
                raise ValueError("it is empty")
            if len(data) > _MAX_DECIMAL:
                raise ValueError(f"it has {len(data)} bytes, which are more than {_MAX_DECIMAL}")
            sign, digits, _ = Decimal(int.from_bytes(data, signed=True)).as_tuple()
            return Decimal((sign, digits, -scale_of(schema)))
    raise ValueError("it is neither number nor text")


def scale_of(schema: Schema) -> int:
    """The digits behind a Decimal's point. Raises ValueError."""
    text = (schema.parameters or {}).get("scale")
    if text is None:
        raise ValueError("its schema has no scale")
    return int(text)


def _date(_: Schema, value: Any) -> date:
    return (EPOCH + timedelta(days=_int32(value))).date()


def _time(_: Schema, value: Any) -> time:
    if not 0 <= _int32(value) < DAY_MS:
        raise ValueError("a day has not so many milliseconds")
    return (EPOCH + timedelta(milliseconds=value)).time()


def _timestamp(_: Schema, value: Any) -> datetime:
    match value:
        case float():
            raise Inexact
        case int() if not isinstance(value, bool):
            return EPOCH + timedelta(milliseconds=narrow(value, 64))
    raise ValueError("it is no whole number")


def _int32(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not -(2**31) <= value < 2**31:
        raise ValueError("it is no INT32")
    return value


_LOGICAL: dict[str, Callable[[Schema, Any], Any]] = {
    f"{LOGICAL}Decimal": _decimal,
    f"{LOGICAL}Date": _date,
    f"{LOGICAL}Time": _time,
    f"{LOGICAL}Timestamp": _timestamp,
}
_READ: dict[str, Callable[[Schema, Any, bool], Any]] = {
    "BOOLEAN": _boolean,
    **dict.fromkeys(_BITS, _integer),
    **dict.fromkeys(("FLOAT32", "FLOAT64"), _floating),
    "STRING": _string,
    "BYTES": _bytes,
    "ARRAY": _array,
    "MAP": _map,
    "STRUCT": _struct,
}
