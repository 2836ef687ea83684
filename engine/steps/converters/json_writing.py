"""Connect data as JSON trees, by schema: byte for byte as Kafka Connect writes them."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from types import NoneType
from typing import Any, NamedTuple

import orjson

from engine.errors import VALUE, ConversionError, Message
from engine.record.schema import Field, Schema
from engine.steps.converters.json_data import BITS, LOGICAL, scale_of
from engine.steps.converters.json_trees import JAVA_EXPONENT, JAVA_PLAIN, java_float, without_schema
from engine.steps.converters.values_as_text import DAY_MS, millis

Writer = Callable[[Any], Any]
_MAX_DIGITS = 25_000  # the conversion to bytes takes quadratic time


class JsonWriteOptions(NamedTuple):
    """The converter's options for writing."""

    numeric: bool = False
    replace_null: bool = True


def to_json(schema: Schema | None, value: Any, how: JsonWriteOptions) -> Any:
    """Return Connect data as a JSON tree. Raises ConversionError if value and schema do not match."""
    return writer(schema, how)(value)


def writer(schema: Schema | None, how: JsonWriteOptions) -> Writer:
    """Return `to_json` for one schema, which is analysed once for many values."""
    if schema is None:
        return without_schema
    write = (_LOGICAL.get(schema.name) or _WRITERS[schema.type])(schema, how)

    def checked(value: Any) -> Any:
        if value is None:
            if schema.default is not None and how.replace_null:
                value = schema.default
            elif schema.optional:
                return None
            else:
                raise ConversionError(f"the value is null, but its {schema.type} schema is not optional")
        try:
            return write(value)
        except (TypeError, ValueError) as error:
            raise ConversionError(
                Message(f"{VALUE} is not a valid {schema.name or schema.type}: {VALUE}", f"{value!r:.60}", error)
            ) from error

    return checked


def _of(kind: type | tuple[type, ...], value: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError(Message(f"its type is {type(value).__name__}"))
    return value


def _just(kind: type) -> Callable[[Schema, JsonWriteOptions], Writer]:
    return lambda _schema, _how: lambda value: _of(kind, value)


def _integer(schema: Schema, _how: JsonWriteOptions) -> Writer:
    half = 1 << (BITS[schema.type] - 1)

    def write(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(Message(f"its type is {type(value).__name__}"))
        if not -half <= value < half:
            raise ValueError(Message(f"it needs more than {BITS[schema.type]} bits"))
        return value

    return write


def _floating(_schema: Schema, _how: JsonWriteOptions) -> Writer:
    def write(value: Any) -> Any:
        if isinstance(value, bool):
            raise TypeError(Message("its type is bool"))
        return java_float(float(_of((int, float), value)))

    return write


def _array(schema: Schema, how: JsonWriteOptions) -> Writer:
    write = writer(schema.items, how)
    return lambda value: [write(item) for item in _of(list, value)]


def _map(schema: Schema, how: JsonWriteOptions) -> Writer:
    write_key, write_item = writer(schema.keys, how), writer(schema.items, how)

    def write(value: Any) -> Any:
        if schema.keys is None:
            raise ValueError(Message("its schema has no key type"))
        rows = [(key, write_item(item)) for key, item in _of(dict, value).items()]
        if schema.keys.type == "STRING":
            return {_of(str, key): item for key, item in rows}
        return [[write_key(key), item] for key, item in rows]

    return write


def _struct(schema: Schema, how: JsonWriteOptions) -> Writer:
    rows = [_row(field, how) for field in schema.fields]

    def write(value: Any) -> dict[str, Any]:
        part_of, written = _of(dict, value).get, {}
        for name, same, (number, least, most), write_part in rows:
            part = part_of(name)
            kind = type(part)
            stays = kind in same or (kind is number and least <= part <= most)
            written[name] = part if stays else write_part(part)
        return written

    return write


def _row(field: Field, how: JsonWriteOptions) -> tuple[str, frozenset[type], _Range, Writer]:
    """Return a field's name, types without conversion, valid numbers, and writer of the rest."""
    schema = field.schema
    logical = schema.name in _LOGICAL
    null = {NoneType} if schema.optional and (schema.default is None or not how.replace_null) else set()
    same = null if logical else null | _STAYS.get(schema.type, set())
    numbers = _NO_NUMBER if logical else _RANGES.get(schema.type, _NO_NUMBER)
    return field.name, frozenset(same), numbers, writer(schema, how)


def _bytes(_schema: Schema, _how: JsonWriteOptions) -> Writer:
    return lambda value: base64.b64encode(_of(bytes, value)).decode()


def _decimal(schema: Schema, how: JsonWriteOptions) -> Writer:
    def write(value: Any) -> Any:
        sign, digits, exponent = _of(Decimal, value).as_tuple()
        if not value.is_finite():
            raise ValueError(Message("it is not finite"))
        if how.numeric:
            return orjson.Fragment(str(value))
        if -int(exponent) != scale_of(schema):
            raise ValueError(
                Message(f"its scale is {-int(exponent)}, but the scale of its schema is {scale_of(schema)}")
            )
        if len(digits) > _MAX_DIGITS:
            raise ValueError(Message(f"it has {len(digits)} digits; the maximum is {_MAX_DIGITS}"))
        number = int(Decimal((sign, digits, 0)))
        size = (number if number >= 0 else ~number).bit_length() // 8 + 1
        return base64.b64encode(number.to_bytes(size, signed=True)).decode()

    return write


def _date(_schema: Schema, _how: JsonWriteOptions) -> Writer:
    def write(value: Any) -> int:
        days, rest = divmod(millis(_of(date, value)), DAY_MS)
        if rest:
            raise ValueError(Message("it has a time of day"))
        return days

    return write


def _moment(kind: type) -> Callable[[Schema, JsonWriteOptions], Writer]:
    return lambda _schema, _how: lambda value: millis(_of(kind, value))


_STAYS: dict[str, set[type]] = {"STRING": {str}, "BOOLEAN": {bool}}  # types that JSON represents as they are
_Range = tuple[type | None, float, float]  # numbers of exactly that type, from minimum to maximum
_NO_NUMBER: _Range = (None, 0, 0)
_RANGES: dict[str, _Range] = {
    **{kind: (int, -(1 << (bits - 1)), (1 << (bits - 1)) - 1) for kind, bits in BITS.items()},
    **dict.fromkeys(("FLOAT32", "FLOAT64"), (float, JAVA_PLAIN, math.nextafter(JAVA_EXPONENT, 0))),
}
_LOGICAL: dict[str | None, Callable[[Schema, JsonWriteOptions], Writer]] = {
    f"{LOGICAL}Decimal": _decimal,
    f"{LOGICAL}Date": _date,
    f"{LOGICAL}Time": _moment(time),
    f"{LOGICAL}Timestamp": _moment(datetime),
}
_WRITERS: dict[str, Callable[[Schema, JsonWriteOptions], Writer]] = {
    "BOOLEAN": _just(bool),
    **dict.fromkeys(BITS, _integer),
    **dict.fromkeys(("FLOAT32", "FLOAT64"), _floating),
    "STRING": _just(str),
    "BYTES": _bytes,
    "ARRAY": _array,
    "MAP": _map,
    "STRUCT": _struct,
}
