"""ReplaceField: leaves out, keeps and renames fields."""

from __future__ import annotations

from collections.abc import Mapping

from engine.config.options import parse
from engine.config.transforms import REPLACE_FIELD
from engine.record.record import Record
from engine.record.schema import Field, Schema
from engine.steps.transforms.schemas import SchemaCache, with_fields
from engine.steps.transforms.side import need_fields, side_of, with_side


class ReplaceField:
    """Kafka Connect's ReplaceField$Key and $Value."""

    OPTIONS = REPLACE_FIELD
    takes_unread = True

    def __init__(self, of: str) -> None:
        self._key = of == "Key"
        self._include: frozenset[str] = frozenset()
        self._exclude: frozenset[str] = frozenset()
        self._renames: dict[str, str] = {}
        self._replace_null = True
        self._schemas = SchemaCache(self._build)

    def configure(self, configs: Mapping[str, str]) -> None:
        values = parse(self.OPTIONS, configs)
        self._include = frozenset(values["include"])
        self._exclude = frozenset(values["exclude"])
        self._renames = dict(pair.split(":") for pair in values["renames"])
        self._replace_null = values["replace.null.with.default"]

    def apply(self, record: Record) -> Record:
        """The record with the fields replaced. Raises TransformError when the value has no fields."""
        schema, value = side_of(record, key=self._key)
        if value is None:
            return record
        fields = need_fields(schema, value, "field replacement", defaults=self._replace_null)
        include, renames = self._include, self._renames
        fields = {name: part for name, part in fields.items() if name in include} if include else fields.copy()
        for name in self._exclude:
            fields.pop(name, None)
        if renames:
            fields = {renames.get(name, name): part for name, part in fields.items()}
        return with_side(record, schema and self._schemas(schema), fields, key=self._key)

    def _build(self, schema: Schema) -> Schema:
        fields = (
            Field(self._renames.get(field.name, field.name), field.schema)
            for field in schema.fields
            if field.name not in self._exclude and (not self._include or field.name in self._include)
        )
        return with_fields(schema, fields)
