"""Connect data from the payloads of JsonConverter's envelopes, by schema."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from types import NoneType
from typing import Any

from engine.errors import VALUE, ConversionError, Message
from engine.record.schema import Field, Schema
from engine.steps.converters.scalars import crowded
from engine.steps.converters.values_as_text import DAY_MS, EPOCH
from engine.steps.java.numbers import long_of, narrow, shortest_float32
from engine.steps.schema_defaults import default_of

LOGICAL = "org.apache.kafka.connect.data."
Reader = Callable[[Any], Any]
BITS = {"INT8": 8, "INT16": 16, "INT32": 32, "INT64": 64}
_FLOATS = ("FLOAT32", "FLOAT64")
_NUMBERS = frozenset((*BITS, *_FLOATS))
_SAME: dict[str, type] = {"STRING": str, "BOOLEAN": bool}  # types that JSON represents as they are
_MAX_DECIMAL = 10_000  # bytes; the conversion to digits takes quadratic time
_QUARTET = re.compile(r"[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==")
_QUARTETS = re.compile(rf"[\x00-\x20]*(?:(?:{_QUARTET.pattern})[\x00-\x20]*)*")


class InexactNumber(Exception):
    """A number that the fast parser may have rounded while its digits count. The text must be parsed again."""


def reader(schema: Schema | None, *, replace_null: bool = True) -> Reader:
    """Return the function that converts a payload to Connect data.

    It raises ConversionError, or InexactNumber if a float is not exact enough. As in Kafka Connect, a payload of
    another type is read as 0, false or null, and a number that is too large wraps.
    """
    if schema is None:
        return lambda value: value
    read = _reader(schema, replace_null)

    def read_or_null(value: Any) -> Any:
        return _null(schema, replace_null) if value is None else read(value)

    return read_or_null


def scalar_reader(schema: Schema) -> Reader:
    """Return the function for values of a scalar or a logical type that are not null; it raises like `reader`."""
    return _reader(schema, True)


def _reader(schema: Schema, replace: bool) -> Reader:
    """Return the function for values that are not null."""
    logical = LOGICAL_TYPES.get(schema.name) if schema.name is not None else None
    return _READERS[schema.type](schema, replace) if logical is None else _logical(schema, logical)


def _logical(schema: Schema, convert: Callable[[Schema, Any], Any]) -> Reader:
    def read(value: Any) -> Any:
        try:
            return convert(schema, value)
        except (ValueError, OverflowError, ArithmeticError) as error:
            raise ConversionError(
                Message(f"{VALUE} is not a valid {schema.name}: {VALUE}", f"{value!r:.60}", error)
            ) from error

    return read


def _null(schema: Schema, replace: bool) -> Any:
    if schema.default is not None and replace:
        return default_of(schema)
    if schema.optional:
        return None
    raise ConversionError(f"the value is null, but its {schema.type} schema is not optional")


def _boolean(_schema: Schema, _replace: bool) -> Reader:
    return lambda value: value is True


def _integer(schema: Schema, _replace: bool) -> Reader:
    bits = BITS[schema.type]
    lowest, highest = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    def read(value: Any) -> int:
        if type(value) is int:
            return value if lowest <= value <= highest else narrow(value, bits)
        if isinstance(value, float):
            raise InexactNumber
        return narrow(long_of(value), bits) if isinstance(value, Decimal) else 0

    return read


def _floating(schema: Schema, _replace: bool) -> Reader:
    is_short = schema.type == "FLOAT32"

    def read(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
            return 0.0
        try:
            number = float(value) + 0.0  # turns minus zero into zero
        except OverflowError:
            number = float("inf") if value > 0 else float("-inf")
        return shortest_float32(number) if is_short else number

    return read


def _string(_schema: Schema, _replace: bool) -> Reader:
    return lambda value: value if isinstance(value, str) else None


def _bytes(_schema: Schema, _replace: bool) -> Reader:
    return lambda value: _base64(value) if isinstance(value, str) else None


def _array(schema: Schema, replace: bool) -> Reader:
    item = reader(schema.items, replace_null=replace)

    def read(value: Any) -> list[Any]:
        items = value if isinstance(value, list) else value.values() if isinstance(value, dict) else ()
        return list(map(item, items))

    return read


def _map(schema: Schema, replace: bool) -> Reader:
    assert schema.keys is not None
    item = reader(schema.items, replace_null=replace)

    def read(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise ConversionError(
                Message(f"{VALUE} is not a valid MAP: with STRING keys it must be a JSON object", f"{value!r:.60}")
            )
        return {key: item(part) for key, part in value.items()}

    return read if schema.keys.type == "STRING" else _pairs(schema.keys, item, replace)


def _pairs(schema: Schema, item: Reader, replace: bool) -> Reader:
    """Return the reader of a MAP whose keys are not text."""
    of_key = reader(schema, replace_null=replace)

    def read(value: Any) -> dict[Any, Any]:
        if not isinstance(value, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in value):
            raise ConversionError(
                Message(
                    f"{VALUE} is not a valid MAP: without STRING keys it must be a JSON array of pairs",
                    f"{value!r:.60}",
                )
            )
        keys = [of_key(key) for key, _ in value]
        items = [item(part) for _, part in value]
        if crowded(keys):
            raise ConversionError("the MAP has too many keys with the same hash")
        try:
            return dict(zip(keys, items, strict=True))
        except TypeError as error:
            raise ConversionError(f"a MAP with {schema.type} keys is not supported") from error

    return read


def _struct(schema: Schema, replace: bool) -> Reader:
    rows = tuple(_row(field, replace) for field in schema.fields)

    def read(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise ConversionError(Message(f"{VALUE} is not a valid STRUCT: it must be a JSON object", f"{value!r:.60}"))
        struct = {}
        part_of = value.get
        for name, as_they_are, convert in rows:
            part = part_of(name)
            if type(part) in as_they_are:
                struct[name] = part
                continue
            try:
                struct[name] = convert(part)
            except ConversionError as error:
                raise ConversionError(Message(f"field {name}: {VALUE}", error)) from error
        return struct

    return read


def _row(field: Field, replace: bool) -> tuple[str, frozenset[type], Reader]:
    """Return a field's name, the types that need no conversion, and the reader of the others."""
    schema = field.schema
    may_be_null = schema.optional and (schema.default is None or not replace)
    logical = schema.name in LOGICAL_TYPES
    same = {_SAME[schema.type]} if schema.type in _SAME and not logical else set()
    if may_be_null:
        same.add(NoneType)
        if schema.type in _NUMBERS and not logical:
            return field.name, frozenset(same), _reader(schema, replace)
    read = reader(schema, replace_null=replace)

    def checked(value: Any) -> Any:
        default = read(value)
        _check_nulls(schema, default)
        return default

    return field.name, frozenset(same), checked


def _check_nulls(schema: Schema, value: Any) -> None:
    """Check that a STRUCT has no null where the schema is not optional."""
    if value is None:
        if not schema.optional:
            raise ConversionError(
                f"the value is null or has a wrong type, but its {schema.type} schema is not optional"
            )
    elif schema.type == "ARRAY" and schema.items is not None:
        for item in _container(schema, value, list):
            _check_nulls(schema.items, item)
    elif schema.type == "MAP" and schema.keys is not None and schema.items is not None:
        for key, item in _container(schema, value, dict).items():
            _check_nulls(schema.keys, key)
            _check_nulls(schema.items, item)


def _container(schema: Schema, value: Any, kind: type) -> Any:
    """Return the value of a MAP or an ARRAY. Raises ConversionError if it was read as a logical type."""
    if not isinstance(value, kind):
        raise ConversionError(f"the logical type {schema.name} can't be used with {schema.type}")
    return value


def _base64(text: str) -> bytes:
    """Decode padded base64 in one or several pieces, with white space between quartets."""
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:
        if not _QUARTETS.fullmatch(text):
            raise ConversionError(
                f"the value of a BYTES schema is not valid base64: {error}"
            ) from error  # the error quotes none of the bytes
    return b"".join(map(base64.b64decode, _QUARTET.findall(text)))


def _decimal(schema: Schema, value: Any) -> Decimal | None:
    match value:
        case bool():
            raise ValueError(Message("it is a boolean"))
        case float():
            raise InexactNumber
        case int() | Decimal():
            return Decimal(value) if value else Decimal(value).copy_abs()
        case str():
            data = _base64(value)
            if not data:
                raise ValueError(Message("it is empty"))
            if len(data) > _MAX_DECIMAL:
                raise ValueError(Message(f"it has {len(data)} bytes; the maximum is {_MAX_DECIMAL}"))
            sign, digits, _ = Decimal(int.from_bytes(data, signed=True)).as_tuple()
            return Decimal((sign, digits, -scale_of(schema)))
    raise ValueError(Message("it is neither a number nor a string"))


def scale_of(schema: Schema) -> int:
    """Return the scale of a Decimal, the digits after its point. Raises ValueError."""
    text = (schema.parameters or {}).get("scale")
    if text is None:
        raise ValueError(Message("its schema has no scale"))
    return int(text)


def _date(_: Schema, value: Any) -> date:
    return (EPOCH + timedelta(days=_int32(value))).date()


def _time(_: Schema, value: Any) -> time:
    if not 0 <= _int32(value) < DAY_MS:
        raise ValueError(Message(f"a time of day must be between 0 and {DAY_MS - 1} ms"))
    return (EPOCH + timedelta(milliseconds=value)).time()


def _timestamp(_: Schema, value: Any) -> datetime:
    match value:
        case float():
            raise InexactNumber
        case int() if not isinstance(value, bool):
            return EPOCH + timedelta(milliseconds=narrow(value, 64))
    raise ValueError(Message("it is not a whole number"))


def _int32(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not -(2**31) <= value < 2**31:
        raise ValueError(Message("it is not an INT32"))
    return value


LOGICAL_TYPES: dict[str, Callable[[Schema, Any], Any]] = {
    f"{LOGICAL}Decimal": _decimal,
    f"{LOGICAL}Date": _date,
    f"{LOGICAL}Time": _time,
    f"{LOGICAL}Timestamp": _timestamp,
}
_READERS: dict[str, Callable[[Schema, bool], Reader]] = {
    "BOOLEAN": _boolean,
    **dict.fromkeys(BITS, _integer),
    **dict.fromkeys(_FLOATS, _floating),
    "STRING": _string,
    "BYTES": _bytes,
    "ARRAY": _array,
    "MAP": _map,
    "STRUCT": _struct,
}
