"""SetSchemaMetadata: sets a schema's name or version."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from engine.config.options import Problem
from engine.config.transforms import SET_SCHEMA_METADATA
from engine.errors import TransformError
from engine.record.record import Record
from engine.record.schema import Schema
from engine.steps.options import checked
from engine.steps.per_schema import once_per_schema
from engine.steps.transforms.side import side_of, with_defaults, with_side


class SetSchemaMetadata:
    """Kafka Connect's SetSchemaMetadata$Key and $Value, for STRUCTs. Null without a schema is unchanged."""

    OPTIONS = SET_SCHEMA_METADATA
    takes_unread = True

    def __init__(self, of: str) -> None:
        self._key = of == "Key"
        self._name: str | None = None
        self._version: int | None = None
        self._defaults = True
        self._schemas = once_per_schema(self._renamed)

    @staticmethod
    def problems(configs: Mapping[str, str]) -> list[Problem]:
        """Return problems that the options table can't detect: nothing to set."""
        if "schema.name" in configs or "schema.version" in configs:
            return []
        return [("schema.name", None, "is not set; set schema.name or schema.version")]

    def configure(self, configs: Mapping[str, str]) -> None:
        values = checked(self.OPTIONS, self.problems, configs)
        self._name, self._version = values["schema.name"], values["schema.version"]
        self._defaults = values["replace.null.with.default"]

    def apply(self, record: Record) -> Record:
        """Return the record with the new schema. Raises TransformError for data without a STRUCT schema."""
        schema, value = side_of(record, self._key)
        if schema is None and value is None:
            return record
        if schema is None:
            raise TransformError("the data has no schema, so its metadata can't be set")
        if schema.type != "STRUCT":
            raise TransformError(f"only the metadata of a STRUCT schema can be set, found {schema.type}")
        fields = with_defaults(schema, value) if isinstance(value, dict) and self._defaults else value
        return with_side(record, self._schemas(schema), fields, self._key)

    def _renamed(self, schema: Schema) -> Schema:
        name = schema.name if self._name is None else self._name
        version = schema.version if self._version is None else self._version
        return msgspec.structs.replace(schema, name=name, version=version)
