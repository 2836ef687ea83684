"""Connect data as JSON, to the byte what Kafka Connect writes."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, NamedTuple

import orjson

from engine.errors import ConversionError
from engine.record.schema import Schema
from engine.steps.converters.json_data import LOGICAL, scale_of
from engine.steps.converters.json_text import MAX_DEPTH
from engine.steps.converters.text import DAY_MS, millis
from engine.steps.java.numbers import float_text

_BITS = {"INT8": 8, "INT16": 16, "INT32": 32, "INT64": 64}
_BACKSLASH = ord("\\")
_SAME = frozenset((str, int, bool, type(None)))
_BASES: tuple[tuple[Callable[[Any], Any], tuple[type, ...]], ...] = (
    (str, (str,)), (int, (int,)), (float, (float,)), (dict, (dict,)), (list, (list, tuple)), (bytes, (bytes,)),
)  # fmt: skip
_MAX_DIGITS = 25_000  # turning them into bytes takes time by the square
_CONTROL = re.compile(rb"\\(?:u00[01][0-9a-f]|.)", re.DOTALL)
_NOT_BASIC = re.compile("[\ud800-\udfff\U00010000-\U0010ffff]")


class How(NamedTuple):
    """The converter's options that count for writing."""

    numeric: bool = False
    replace_null: bool = True


DEFAULT = How()


def dumps(tree: Any) -> bytes:
    """The bytes of a tree that `to_json` made. Raises ConversionError for what is nested too deeply."""
    try:
        out = orjson.dumps(tree)
    except TypeError:
        out = _by_hand(tree).encode()
    if _BACKSLASH in out and b"\\u00" in out:  # one byte is found many times faster than four
        out = _CONTROL.sub(lambda found: b"\\u" + found[0][2:].upper() if len(found[0]) > 2 else found[0], out)
    return out if out.isascii() else _NOT_BASIC.sub(_escaped, out.decode()).encode()


def to_json(schema: Schema | None, value: Any, how: How = DEFAULT) -> Any:
    """What JSON can hold of Connect data. Raises ConversionError where value and schema do not fit."""
    if schema is None:
        try:
            return _schemaless(value)
        except RecursionError:
            return value  # so deep that `dumps` goes on by hand
    if value is None:
        if schema.default is not None and how.replace_null:
            value = schema.default
        elif schema.optional:
            return None
        else:
            raise ConversionError(f"null for a {schema.type} that is not optional")
    try:
        if schema.name in _LOGICAL:
            return _LOGICAL[schema.name](schema, value, how)
        return _WRITE[schema.type](schema, value, how)
    except (TypeError, ValueError) as error:
        raise ConversionError(f"{value!r:.60} is no {schema.name or schema.type}: {error}") from error


def _schemaless(value: Any) -> Any:
    kind = type(value)
    if kind in _SAME:
        return value
    if kind is dict:
        changed = [
            (key, written)
            for key, item in value.items()
            if type(item) not in _SAME and (written := _schemaless(item)) is not item
        ]
        return value | dict(changed) if changed else value
    if kind is list:
        return [item if type(item) in _SAME else _schemaless(item) for item in value]
    if kind is float:
        return _float(value)
    if kind is bytes:
        return base64.b64encode(value).decode()
    for plain, base in _BASES:
        if isinstance(value, base):
            return _schemaless(plain(value))
    raise ConversionError(f"a {kind.__name__} can't be written as JSON without a schema")


def _float(value: float) -> Any:
    """Floats where Java's text is not ours are written as they are there."""
    if 1e-3 <= value < 1e7 or -1e7 < value <= -1e-3 or value == 0:
        return value
    text = float_text(value)
    return orjson.Fragment(text) if text[-1].isdigit() else text


def _of(kind: type | tuple[type, ...], value: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"it is a {type(value).__name__}")
    return value


def _integer(schema: Schema, value: Any, _how: How) -> int:
    half = 1 << (_BITS[schema.type] - 1)
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"it is a {type(value).__name__}")
    if not -half <= value < half:
        raise ValueError(f"it needs more than {_BITS[schema.type]} bits")
    return value


def _floating(_schema: Schema, value: Any, _how: How) -> Any:
    if isinstance(value, bool):
        raise TypeError("it is a bool")
    return _float(float(_of((int, float), value)))


def _array(schema: Schema, value: Any, how: How) -> list[Any]:
    return [to_json(schema.items, item, how) for item in _of(list, value)]


def _map(schema: Schema, value: Any, how: How) -> Any:
    if schema.keys is None:
        raise ValueError("its schema has no type of its keys")
    rows = [(key, to_json(schema.items, item, how)) for key, item in _of(dict, value).items()]
    if schema.keys.type == "STRING":
        return {_of(str, key): item for key, item in rows}
    return [[to_json(schema.keys, key, how), item] for key, item in rows]


def _struct(schema: Schema, value: Any, how: How) -> dict[str, Any]:
    _of(dict, value)
    return {field.name: to_json(field.schema, value.get(field.name), how) for field in schema.fields}


def _bytes(_schema: Schema, value: Any, _how: How) -> str:
    return base64.b64encode(_of(bytes, value)).decode()


def _decimal(schema: Schema, value: Any, how: How) -> Any:
    sign, digits, exponent = _of(Decimal, value).as_tuple()
    if not value.is_finite():
        raise ValueError("it is not finite")
    if how.numeric:
        return orjson.Fragment(str(value))
    if -int(exponent) != scale_of(schema):
        raise ValueError(f"its scale is {-int(exponent)}, its schema's {scale_of(schema)}")
    if len(digits) > _MAX_DIGITS:
        raise ValueError(f"it has {len(digits)} digits, which are more than {_MAX_DIGITS}")
    number = int(Decimal((sign, digits, 0)))
    size = (number if number >= 0 else ~number).bit_length() // 8 + 1
    return base64.b64encode(number.to_bytes(size, signed=True)).decode()


def _date(_schema: Schema, value: Any, _how: How) -> int:
    days, rest = divmod(millis(_of(date, value)), DAY_MS)
    if rest:
        raise ValueError("it has a time of day")
    return days


def _time(_schema: Schema, value: Any, _how: How) -> int:
    return millis(_of(time, value))


def _timestamp(_schema: Schema, value: Any, _how: How) -> int:
    return millis(_of(datetime, value))


def _by_hand(tree: Any) -> str:
    """What the fast writer refuses: lone surrogates, integers beyond 64 bits, keys that are no text, deep nesting."""
    out: list[str] = []
    left: list[tuple[int, Any]] = [(0, tree)]
    while left:
        depth, top = left.pop()
        match top:
            case _Mark():
                out.append(top)
            case str():
                out.append(_NOT_BASIC.sub(_escaped, json.dumps(top, ensure_ascii=False)))
            case int() if not isinstance(top, bool):
                out.append(str(top))
            case dict() | list() if depth == MAX_DEPTH:
                raise ConversionError(f"is nested too deeply for JSON: more than {MAX_DEPTH} levels")
            case dict() if all(isinstance(key, str) for key in top):
                parts = [part for key, item in top.items() for part in (_COMMA, key, _COLON, item)]
                left += [(depth + 1, part) for part in reversed([_Mark("{"), *parts[1:], _Mark("}")])]
            case dict():
                left.append((depth, [[key, item] for key, item in top.items()]))
            case list():
                parts = [part for item in top for part in (_COMMA, item)]
                left += [(depth + 1, part) for part in reversed([_Mark("["), *parts[1:], _Mark("]")])]
            case _:
                out.append(orjson.dumps(top if isinstance(top, orjson.Fragment) else _schemaless(top)).decode())
    return "".join(out)


class _Mark(str):
    """A piece of JSON's own text."""

    __slots__ = ()


_COMMA, _COLON = _Mark(","), _Mark(":")


def _escaped(found: re.Match[str]) -> str:
    pair = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{pair[place : place + 2].hex().upper()}" for place in range(0, len(pair), 2))


_Write = Callable[[Schema, Any, How], Any]
_LOGICAL: dict[str | None, _Write] = {
    f"{LOGICAL}Decimal": _decimal,
    f"{LOGICAL}Date": _date,
    f"{LOGICAL}Time": _time,
    f"{LOGICAL}Timestamp": _timestamp,
}
_WRITE: dict[str, _Write] = {
    "BOOLEAN": lambda _schema, value, _how: _of(bool, value),
    **dict.fromkeys(_BITS, _integer),
    **dict.fromkeys(("FLOAT32", "FLOAT64"), _floating),
    "STRING": lambda _schema, value, _how: _of(str, value),
    "BYTES": _bytes,
    "ARRAY": _array,
    "MAP": _map,
    "STRUCT": _struct,
}
