"""ValueToKey: builds the key from fields of the value."""

from __future__ import annotations

from collections.abc import Mapping

from engine.config.options import parse
from engine.config.transforms import VALUE_TO_KEY
from engine.errors import TransformError
from engine.record.record import Record
from engine.record.schema import Field, Schema
from engine.record.unread import read_all
from engine.steps.per_schema import once_per_schema
from engine.steps.transforms.schemas import field_of, with_fields
from engine.steps.transforms.side import need_fields, with_side


class ValueToKey:
    """Kafka Connect's ValueToKey. A field missing from a map is null in the key."""

    OPTIONS = VALUE_TO_KEY
    takes_unread = True

    def __init__(self) -> None:
        self._names: tuple[str, ...] = ()
        self._defaults = True
        self._schemas = once_per_schema(self._key_schema)

    def configure(self, configs: Mapping[str, str]) -> None:
        values = parse(self.OPTIONS, configs)
        self._names = values["fields"]
        self._defaults = values["replace.null.with.default"]

    def apply(self, record: Record) -> Record:
        """Return the record with that key. Raises TransformError if the value has no such fields."""
        schema = record.value_schema
        fields = need_fields(schema, record.value, "the fields of a key", self._defaults)
        key_schema = None if schema is None else self._schemas(schema)
        return with_side(record, key_schema, {name: read_all(fields.get(name)) for name in self._names}, True)

    def _key_schema(self, schema: Schema) -> Schema:
        return with_fields(Schema("STRUCT"), (_field(schema, name) for name in self._names))


def _field(schema: Schema, name: str) -> Field:
    field = field_of(schema, name)
    if field is None:
        raise TransformError(f"the schema has no field {name}")
    return field
