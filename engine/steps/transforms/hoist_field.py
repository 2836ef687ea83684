"""HoistField: wraps the whole key or value in a field."""

from __future__ import annotations

from collections.abc import Mapping

from engine.config.options import parse
from engine.config.transforms import HOIST_FIELD
from engine.errors import TransformError
from engine.record.record import Record
from engine.record.schema import Field, Schema
from engine.steps.per_schema import once_per_schema
from engine.steps.transforms.side import side_of, with_side


class HoistField:
    """Kafka Connect's HoistField$Key and $Value: a map or STRUCT with one field. Null is wrapped too."""

    OPTIONS = HOIST_FIELD
    takes_unread = True

    def __init__(self, of: str) -> None:
        self._key = of == "Key"
        self._field = ""
        self._schemas = once_per_schema(lambda schema: Schema("STRUCT", fields=(Field(self._field, schema),)))

    def configure(self, configs: Mapping[str, str]) -> None:
        self._field = parse(self.OPTIONS, configs)["field"]

    def apply(self, record: Record) -> Record:
        """Return the wrapped record. Raises TransformError for null if the schema requires a value."""
        schema, value = side_of(record, self._key)
        if schema is not None and value is None and not schema.optional:
            raise TransformError(f"field {self._field} would be null, but its {schema.type} schema is not optional")
        return with_side(record, schema and self._schemas(schema), {self._field: value}, self._key)
