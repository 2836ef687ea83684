"""ExtractField: replaces the whole key or value by one field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.config.options import Problem
from engine.config.transforms import EXTRACT_FIELD
from engine.errors import TransformError
from engine.record.record import Record
from engine.record.schema import Schema
from engine.record.unread import read
from engine.steps.options import checked
from engine.steps.schema_defaults import default_of
from engine.steps.transforms.field_path import shown, split_path
from engine.steps.transforms.schemas import field_of
from engine.steps.transforms.side import need_dict, side_of, with_side

_PURPOSE = "field extraction"


class ExtractField:
    """Kafka Connect's ExtractField$Key and $Value. Null stays null; a field missing from a map is null."""

    OPTIONS = EXTRACT_FIELD
    takes_unread = True

    def __init__(self, of: str) -> None:
        self._key = of == "Key"
        self._path: tuple[str, ...] = ()
        self._defaults = True

    @staticmethod
    def problems(configs: Mapping[str, str]) -> list[Problem]:
        """Return problems that the options table can't detect: an invalid path."""
        text = configs.get("field", "").strip()
        try:
            split_path(text, configs.get("field.syntax.version", "V1").strip())
        except ValueError as error:
            return [("field", text, str(error))]
        return []

    def configure(self, configs: Mapping[str, str]) -> None:
        values = checked(self.OPTIONS, self.problems, configs)
        self._path = split_path(values["field"], values["field.syntax.version"])
        self._defaults = values["replace.null.with.default"]

    def apply(self, record: Record) -> Record:
        """Return the record with only the field. Raises TransformError if there can be no such field."""
        schema, value = side_of(record, self._key)
        if schema is None:
            return with_side(record, None, self._without_schema(value), self._key)
        found, part = self._with_schema(schema, value)
        return with_side(record, found, part, self._key)

    def _without_schema(self, value: Any) -> Any:
        for name in self._path:
            if value is None:
                return None
            value = read(need_dict(None, value, _PURPOSE).get(name))
        return value

    def _with_schema(self, schema: Schema, value: Any) -> tuple[Schema, Any]:
        if value is not None:
            need_dict(schema, value, _PURPOSE)
        for name in self._path:
            if schema.type != "STRUCT":
                raise TransformError(f"the path {shown(self._path)} goes through a {schema.type}, which has no fields")
            field = field_of(schema, name)
            if field is None:
                raise TransformError(f"the schema has no field {shown(self._path)}")
            schema = field.schema
            if value is not None:
                value = value.get(name)
                value = default_of(schema) if value is None and self._defaults else value
        return schema, value
