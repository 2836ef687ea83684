"""Cast: fields or the whole value to another primitive type."""

from __future__ import annotations

import math
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from datetime import date, time
from decimal import Decimal
from types import NoneType
from typing import Any

import msgspec

from engine.config.options import Problem, nearest
from engine.config.transforms import CAST
from engine.errors import VALUE, Message, TransformError
from engine.record.record import Record
from engine.record.schema import Field, Schema
from engine.record.unread import Unread, read
from engine.record.values import type_of
from engine.steps.converters.values_as_text import DAY_MS, connect_text, millis
from engine.steps.java.numbers import (
    LONG_MAX,
    LONG_MIN,
    float32,
    float_of,
    float_text,
    integer_of,
    long_of,
    narrow,
    shortest_float32,
)
from engine.steps.options import checked
from engine.steps.per_schema import once_per_schema
from engine.steps.transforms.field_transform import FieldTransform
from engine.steps.transforms.schemas import schemas_of

_LOGICAL = (Decimal, date, time)  # a datetime is a date
_LOGICAL_NAMES = "org.apache.kafka.connect.data."
_LOWEST_64 = 2**64 - 1  # bits
_Casts = Mapping[type, Callable[[Any], Any]]  # for values of exactly these types, which need no further checks
_Row = tuple[str, str, Schema | None, _Casts]  # a field, its target type, and its schema


class Cast(FieldTransform[tuple[_Row, ...]]):
    """Kafka Connect's Cast$Key and $Value. Null stays null; fields without a target type are unchanged."""

    OPTIONS = CAST
    PURPOSE = "type casting"
    takes_unread = True

    def __init__(self, of: str) -> None:
        super().__init__(of)
        self._kind = ""  # of the whole value
        self._types: dict[str, str] = {}
        self._map_plan = ()

    @staticmethod
    def problems(configs: Mapping[str, str]) -> list[Problem]:
        """Return problems that the options table can't detect: unknown types, or both forms at once."""
        text = configs.get("spec", "")
        spec = tuple(part.strip() for part in text.split(",") if part.strip())
        if not spec:
            return [("spec", text, "is empty; write field:type pairs or one type")]
        if any(":" not in part for part in spec) and len(spec) > 1:
            return [("spec", text, "must be one type for the whole value or a list of field:type pairs")]
        if any(part.count(":") > 1 for part in spec):
            return [("spec", text, "has more than one colon in a pair; write field:type")]
        kinds = [part.rpartition(":")[2].strip().lower() for part in spec]
        unknown = [kind for kind in kinds if kind not in _CASTS]
        return [
            ("spec", text, f"{kind or 'an empty name'} is not a supported type{nearest(kind, list(_CASTS))}")
            for kind in unknown
        ]

    def configure(self, configs: Mapping[str, str]) -> None:
        values = checked(self.OPTIONS, self.problems, configs)
        spec: Sequence[str] = values["spec"]
        self._begin(defaults=values["replace.null.with.default"])
        rows = [part.rpartition(":") for part in spec]
        self._types = {field.strip(): kind.strip().lower() for field, colon, kind in rows if colon}
        self._of_whole = not self._types
        self._kind = spec[0].lower() if self._of_whole else ""
        self._map_plan = tuple(_row(name, kind, None) for name, kind in self._types.items())

    def _begin(self, *, defaults: bool) -> None:
        super()._begin(defaults=defaults)
        self._whole_schema = once_per_schema(lambda schema: _whole_schema(schema, self._kind))

    def _whole(self, schema: Schema | None, value: Any) -> tuple[Schema | None, Any]:
        if value is None:
            return schema, None
        whole = _cast("", self._kind, schema, value)
        return schema and self._whole_schema(schema), whole

    def _changed(self, record: Record, fields: dict[str, Any], plan: tuple[_Row, ...]) -> dict[str, Any]:
        fields = fields.copy()
        for name, kind, of, casts in plan:
            part = fields.get(name)  # a missing field becomes null
            if type(part) is Unread:
                part = read(part)
            cast = casts.get(type(part))
            if cast is None:
                fields[name] = _cast(name, kind, of, part)
                continue
            try:
                fields[name] = cast(part)
            except (ValueError, OverflowError) as error:
                raise _cast_error(name, kind, part) from error
        return fields

    def _planned(self, schema: Schema) -> tuple[Schema, tuple[_Row, ...]]:
        fields = tuple(
            Field(field.name, _schema(field.schema, self._types[field.name])) if field.name in self._types else field
            for field in schema.fields
        )
        known = schemas_of(schema)
        rows = tuple(_row(name, kind, known[name]) for name, kind in self._types.items() if name in known)
        return msgspec.structs.replace(schema, fields=fields), rows


def _whole_schema(schema: Schema, kind: str) -> Schema:
    """Return the schema of a whole value.

    It keeps its name and documentation, unless the name is that of a logical type that no longer applies.
    """
    target = _schema(schema, kind)
    if schema.name is not None and schema.name.startswith(_LOGICAL_NAMES):
        return target
    name, version, doc, parameters = schema.name, schema.version, schema.doc, schema.parameters
    return msgspec.structs.replace(target, name=name, version=version, doc=doc, parameters=parameters)


def _schema(schema: Schema, kind: str) -> Schema:
    default = None if schema.default is None else _cast("", kind, schema, schema.default)
    return Schema(kind.upper(), schema.optional, default=default)


def _row(name: str, kind: str, schema: Schema | None) -> _Row:
    """Return the plan for a field. 32-bit floats are rounded first, so each value has to be converted."""
    is_rounded = schema is not None and schema.type == "FLOAT32" and kind != "string"
    return name, kind, schema, {} if is_rounded else _DIRECT[kind]


def _cast(name: str, kind: str, schema: Schema | None, value: Any) -> Any:
    """Return the value as that type. `name` is the field's, empty for a whole value."""
    if value is None:
        return None
    if isinstance(value, _LOGICAL) and schema is not None:
        value = value if kind == "string" else _number(value)
    elif type_of(value) in {None, "ARRAY", "STRUCT"}:
        type_name = type_of(value) or type(value).__name__
        raise TransformError(f"{_where(name)} has the type {type_name}, which can't be cast to {kind}")
    elif isinstance(value, bytes) and kind != "string":
        raise TransformError(f"{_where(name)} has the type BYTES, which can't be cast to {kind}")
    elif schema is not None and schema.type == "FLOAT32" and kind != "string":
        value = float32(value)
    try:
        return _CASTS[kind](value)
    except (ValueError, OverflowError) as error:
        raise _cast_error(name, kind, value) from error


def _cast_error(name: str, kind: str, value: Any) -> TransformError:
    return TransformError(Message(f"{_where(name)}: {VALUE} can't be cast to {kind}", f"{value!r:.80}"))


def _where(name: str) -> str:
    return f"field {name}" if name else "the value"


def _number(value: Any) -> int | Decimal:
    """Return the number of a logical value: days of dates, milliseconds of times and timestamps."""
    if isinstance(value, Decimal):
        return value
    return millis(value) // DAY_MS if type(value) is date else millis(value)


def _integer(bits: int) -> Callable[[Any], int]:
    """Return Java's narrowing: integers wrap around, floats saturate first, text must fit."""
    ends = 1 << (max(bits, 32) - 1)

    def cast(value: Any) -> int:
        if isinstance(value, str):
            return integer_of(value, bits)
        if isinstance(value, float):
            value = 0 if math.isnan(value) else int(max(-ends, min(value, ends - 1)))
        return narrow(long_of(value) if isinstance(value, Decimal) else int(value), bits)

    return cast


def _float64(value: Any) -> float:
    if isinstance(value, str):
        return float_of(value)
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _boolean(value: Any) -> bool:
    if isinstance(value, str):
        return value.lower() == "true"
    if isinstance(value, float):
        return not math.isnan(value) and (math.isinf(value) or int(value) != 0)
    return (long_of(value) if isinstance(value, Decimal) else narrow(int(value), 64)) != 0


def _string(value: Any) -> str:
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case bytes():
            return b64encode(value).decode()
        case float():
            return float_text(value)
        case date() | time():
            return connect_text(None, value)
    return str(value)


_CASTS: dict[str, Callable[[Any], Any]] = {
    "int8": _integer(8),
    "int16": _integer(16),
    "int32": _integer(32),
    "int64": _integer(64),
    "float32": lambda value: shortest_float32(_float64(value)),
    "float64": _float64,
    "boolean": _boolean,
    "string": _string,
}
_SHORTER: dict[str, dict[type, Callable[[Any], Any]]] = {
    "int64": {int: lambda value: value if LONG_MIN <= value <= LONG_MAX else narrow(value, 64)},
    "float32": {float: shortest_float32},
    "float64": {float: float},
    "boolean": {bool: bool, int: lambda value: value & _LOWEST_64 != 0},
    "string": {str: str, int: str, float: float_text},
}
_DIRECT = {
    kind: {NoneType: lambda _: None, **dict.fromkeys((str, bool, int, float), cast), **_SHORTER.get(kind, {})}
    for kind, cast in _CASTS.items()
}
