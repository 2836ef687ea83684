"""ReplaceField: leave out, keep or rename top-level fields."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from engine.config.options import parse
from engine.config.steps import REPLACE_FIELD
from engine.record.record import Record
from engine.record.schema import Field, Schema
from engine.steps.transforms.sides import SchemaKey, require_map, with_side


class ReplaceField:
    """org.apache.kafka.connect.transforms.ReplaceField$Key and $Value."""

    OPTIONS = REPLACE_FIELD

    def __init__(self, of: str) -> None:
        self.of_key = of == "Key"

    def configure(self, configs: Mapping[str, str]) -> None:
        options = parse(self.OPTIONS, configs)
        self.exclude = frozenset(options["exclude"])
        self.include = frozenset(options["include"])
        self.renames: dict[str, str] = dict(pair.split(":") for pair in options["renames"])
        self.fill_defaults: bool = options["replace.null.with.default"]
        self._schema = lru_cache(256)(self._new_schema)

    def apply(self, record: Record) -> Record:
        """Raises TransformError where there is no map or struct; null passes."""
        content = record.key if self.of_key else record.value
        if content is None:
            return record
        fields = require_map(content, "ReplaceField")
        schema = record.key_schema if self.of_key else record.value_schema
        if schema is None or schema.type != "STRUCT":
            return with_side(record, self.of_key, schema, self._without_schema(fields))
        new_schema = self._schema(SchemaKey(schema))
        new = {
            self.renames.get(one.name, one.name): self._value(one, fields)
            for one in schema.fields
            if self._keeps(one.name)
        }
        return with_side(record, self.of_key, new_schema, new)

    def _without_schema(self, fields: dict[str, Any]) -> dict[str, Any]:
        include, exclude, renames = self.include, self.exclude, self.renames
        if not include and not renames:
            return {name: value for name, value in fields.items() if name not in exclude}
        rename = renames.get
        return {
            rename(name, name): value
            for name, value in fields.items()
            if name not in exclude and (not include or name in include)
        }

    def _keeps(self, name: str) -> bool:
        return name not in self.exclude and (not self.include or name in self.include)

    def _value(self, field: Field, fields: dict[str, Any]) -> Any:
        value = fields.get(field.name)
        return field.schema.default if value is None and self.fill_defaults else value

    def _new_schema(self, wrapped: SchemaKey) -> Schema:
        schema = wrapped.schema
        fields = tuple(
            Field(self.renames.get(one.name, one.name), one.schema) for one in schema.fields if self._keeps(one.name)
        )
        return msgspec.structs.replace(schema, fields=fields)
