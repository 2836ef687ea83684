"""Cast: top-level fields, or the whole key or value, to another primitive type."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from engine.config.options import Problem, nearest, parse
from engine.config.steps import CAST
from engine.errors import TransformError
from engine.record.record import Record
from engine.record.schema import Field, Schema
from engine.steps.converters.string import text_of
from engine.steps.transforms.sides import SchemaKey, require_map, with_side

_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64}


class Cast:
    """org.apache.kafka.connect.transforms.Cast$Key and $Value. Null stays null."""

    OPTIONS = CAST

    def __init__(self, of: str) -> None:
        self.of_key = of == "Key"

    def problems(self, configs: Mapping[str, str]) -> list[Problem]:
        """What is wrong with the spec beyond its form."""
        spec = str(configs.get("spec", ""))
        types = [part.strip().rpartition(":")[2] for part in spec.split(",") if part.strip()]
        unknown = [kind for kind in types if kind.lower() not in CASTS]
        whole = [part for part in spec.split(",") if part.strip() and ":" not in part]
        found: list[Problem] = [
            ("spec", spec, f"unknown type {kind!r}{nearest(kind, list(CASTS))}") for kind in unknown
        ]
        if whole and len(types) > 1:
            found.append(("spec", spec, "name either fields or one type for the whole, not both"))
        return found

    def configure(self, configs: Mapping[str, str]) -> None:
        pairs = [part.strip().rpartition(":") for part in parse(self.OPTIONS, configs)["spec"]]
        self.whole = next((kind.lower() for name, colon, kind in pairs if not colon), None)
        self.types = {name.strip(): kind.strip().lower() for name, colon, kind in pairs if colon}
        self.fields = tuple((name, CASTS[kind]) for name, kind in self.types.items())
        self._schema = lru_cache(256)(self._new_schema)

    def apply(self, record: Record) -> Record:
        """Raises TransformError: the value can't be cast, from the ValueError that says why."""
        content = record.key if self.of_key else record.value
        if content is None:
            return record
        schema = record.key_schema if self.of_key else record.value_schema
        if self.whole is not None:
            new_schema = None if schema is None else Schema(self.whole.upper(), optional=schema.optional)
            return with_side(record, self.of_key, new_schema, _cast(CASTS[self.whole], content, "the whole"))
        new = dict(require_map(content, "Cast"))
        for name, cast in self.fields:
            value = new.get(name)
            if value is not None:
                new[name] = _cast(cast, value, name)
        if schema is not None and schema.type == "STRUCT":
            schema = self._schema(SchemaKey(schema))
        return with_side(record, self.of_key, schema, new)

    def _new_schema(self, key: SchemaKey) -> Schema:
        fields = tuple(
            Field(one.name, Schema(self.types[one.name].upper(), optional=one.schema.optional))
            if one.name in self.types
            else one
            for one in key.schema.fields
        )
        return msgspec.structs.replace(key.schema, fields=fields)


def _cast(cast: Callable[[Any], Any], value: Any, name: str) -> Any:
    if isinstance(value, (dict, list, bytes)):
        raise TransformError(f"Cast can't cast {name}: {type(value).__name__} is no primitive value")
    try:
        return cast(value)
    except ValueError as error:
        raise TransformError(f"Cast can't cast {name}") from error


def _to_integer(bits: int) -> Callable[[Any], int]:
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1

    def cast(value: Any) -> int:
        if isinstance(value, str):
            number = int(value)
            if not low <= number <= high:
                raise ValueError(f"{number} is out of the range of int{bits}")
            return number
        if isinstance(value, float):
            if math.isnan(value):
                return 0
            # As Java narrows: the fraction is dropped, int32 and int64 stop at their ends.
            wide = 64 if bits == 64 else 32
            end = 1 << (wide - 1)
            value = max(-end, min(end - 1, value))
        return ((int(value) - low) & ((1 << bits) - 1)) + low

    return cast


def _to_float32(value: Any) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", float(value)))[0])
    except OverflowError:
        return math.copysign(math.inf, float(value))


def _to_boolean(value: Any) -> bool:
    return value.lower() == "true" if isinstance(value, str) else value != 0


CASTS: dict[str, Callable[[Any], Any]] = {
    **{name: _to_integer(bits) for name, bits in _BITS.items()},
    "float32": _to_float32,
    "float64": float,
    "boolean": _to_boolean,
    "string": text_of,
}
