"""Flatten: moves nested fields to the top level and joins their names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from engine.config.options import parse
from engine.config.transforms import FLATTEN
from engine.errors import TransformError
from engine.record.record import Record
from engine.record.schema import Field, Schema
from engine.record.values import type_of
from engine.steps.per_schema import once_per_schema
from engine.steps.schema_defaults import default_of
from engine.steps.transforms.schemas import with_fields
from engine.steps.transforms.side import need_dict, side_of, with_side

_PLAIN = frozenset({str, int, float, bool, type(None), list, bytes})  # types from JSON that skip the slower checks
_MAX_NAMES = 64 * 2**20  # characters


class Flatten:
    """Kafka Connect's Flatten$Key and $Value. Arrays and null maps stay as they are."""

    OPTIONS = FLATTEN

    def __init__(self, of: str) -> None:
        self._key = of == "Key"
        self._delimiter = "."
        self._schemas = once_per_schema(self._flat)

    def configure(self, configs: Mapping[str, str]) -> None:
        self._delimiter = parse(self.OPTIONS, configs)["delimiter"]

    def apply(self, record: Record) -> Record:
        """Return the flattened record. Raises TransformError if there are no fields."""
        schema, value = side_of(record, self._key)
        if value is None:
            return record
        fields: dict[str, Any] = {}
        if schema is None:
            self._flatten(need_dict(schema, value, "flattening"), fields)
            return with_side(record, None, fields, self._key)
        need_dict(schema, value, "flattening")
        flat = self._schemas(schema)
        self._flatten_struct(schema, value, "", fields)
        return with_side(record, flat, fields, self._key)

    def _flat(self, schema: Schema) -> Schema:
        return with_fields(schema, self._fields(schema, "", [_MAX_NAMES], optional=schema.optional))

    def _flatten(self, value: Mapping[str, Any], fields: dict[str, Any]) -> None:
        """Flatten a map in the order of the input. Not recursive: JSON may nest deeper than Python's stack."""
        prefix, rows, budget = "", iter(value.items()), _MAX_NAMES
        waiting = []
        while True:
            for name, part in rows:
                if type(part) in _PLAIN:
                    fields[prefix + name] = part
                elif isinstance(part, dict):
                    waiting.append((prefix, rows))
                    prefix, rows = f"{prefix}{name}{self._delimiter}", iter(part.items())
                    budget = _spend(budget, prefix, len(part))
                    break
                elif type_of(part) is not None:
                    fields[prefix + name] = part
                else:
                    raise TransformError(
                        f"field {prefix}{name} has the type {type(part).__name__}, which Connect does not support"
                    )
            else:
                if not waiting:
                    return
                prefix, rows = waiting.pop()

    def _fields(self, schema: Schema, prefix: str, budget: list[int], *, optional: bool) -> Iterator[Field]:
        """Yield the flat fields. Below an optional parent everything is optional.

        Recursion is safe, because converters limit the depth of schemas.
        """
        for field in schema.fields:
            inner, name = field.schema, prefix + field.name
            may_be_null = optional or inner.optional
            if inner.type == "STRUCT":
                below = f"{name}{self._delimiter}"
                budget[0] = _spend(budget[0], below, len(inner.fields))
                yield from self._fields(inner, below, budget, optional=may_be_null)
            elif inner.type == "MAP":
                raise TransformError(f"field {name} is a MAP, which can't be flattened if the record has a schema")
            else:
                yield Field(name, msgspec.structs.replace(inner, optional=may_be_null))

    def _flatten_struct(
        self, schema: Schema, value: Mapping[str, Any] | None, prefix: str, fields: dict[str, Any]
    ) -> None:
        for field in schema.fields:
            part = None if value is None else value.get(field.name)
            if part is None and value is not None:
                part = default_of(field.schema)
            if field.schema.type == "STRUCT":
                self._flatten_struct(field.schema, part, f"{prefix}{field.name}{self._delimiter}", fields)
            else:
                fields[prefix + field.name] = part


def _spend(budget: int, prefix: str, names: int) -> int:
    """Return the remaining budget for names. Raises TransformError.

    Each name below a long name repeats it, so names could fill the memory.
    """
    left = budget - len(prefix) * (names + 1)
    if left < 0:
        raise TransformError(f"the flattened field names have more than {_MAX_NAMES} characters in total")
    return left
