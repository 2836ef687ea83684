"""Flatten: nested fields become top-level ones, their names joined."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from engine.config.options import parse
from engine.config.steps import FLATTEN
from engine.errors import TransformError
from engine.record.record import Record
from engine.record.schema import Field, Schema
from engine.steps.transforms.sides import SchemaKey, require_map, with_side


class Flatten:
    """org.apache.kafka.connect.transforms.Flatten$Key and $Value. Arrays stay as they are."""

    OPTIONS = FLATTEN

    def __init__(self, of: str) -> None:
        self.of_key = of == "Key"

    def configure(self, configs: Mapping[str, str]) -> None:
        self.delimiter: str = parse(self.OPTIONS, configs)["delimiter"]
        self._schema = lru_cache(256)(self._new_schema)

    def apply(self, record: Record) -> Record:
        """Raises TransformError where there is no map or struct; null passes."""
        content = record.key if self.of_key else record.value
        if content is None:
            return record
        fields = require_map(content, "Flatten")
        schema = record.key_schema if self.of_key else record.value_schema
        flat: dict[str, Any] = {}
        if schema is None or schema.type != "STRUCT":
            self._flatten(fields, "", flat)
            return with_side(record, self.of_key, schema, flat)
        self._flatten_struct(schema, fields, "", flat)
        return with_side(record, self.of_key, self._schema(SchemaKey(schema)), flat)

    def _flatten(self, fields: dict[str, Any], prefix: str, flat: dict[str, Any]) -> None:
        for name, value in fields.items():
            if isinstance(value, dict):
                self._flatten(value, f"{prefix}{name}{self.delimiter}", flat)
            else:
                flat[prefix + name] = value

    def _flatten_struct(self, schema: Schema, fields: dict[str, Any] | None, prefix: str, flat: dict[str, Any]) -> None:
        for one in schema.fields:
            value = None if fields is None else fields.get(one.name)
            if one.schema.type == "STRUCT":
                self._flatten_struct(one.schema, value, f"{prefix}{one.name}{self.delimiter}", flat)
            elif one.schema.type == "MAP":
                raise TransformError(f"Flatten does not flatten the map {prefix}{one.name} of a struct")
            else:
                flat[prefix + one.name] = one.schema.default if value is None else value

    def _new_schema(self, key: SchemaKey) -> Schema:
        return msgspec.structs.replace(key.schema, fields=tuple(self._fields(key.schema, "", optional=False)))

    def _fields(self, schema: Schema, prefix: str, *, optional: bool) -> list[Field]:
        fields: list[Field] = []
        for one in schema.fields:
            loose = optional or one.schema.optional
            if one.schema.type == "STRUCT":
                fields += self._fields(one.schema, f"{prefix}{one.name}{self.delimiter}", optional=loose)
            else:
                fields.append(Field(prefix + one.name, msgspec.structs.replace(one.schema, optional=loose)))
        return fields
