"""Schemas that transforms derive from schemas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from engine.errors import TransformError
from engine.record.schema import Field, Schema
from engine.steps.per_schema import once_per_schema


def with_fields(schema: Schema, fields: Iterable[Field], *, optional: bool = False) -> Schema:
    """Return a STRUCT with other fields, without its default. Raises TransformError for duplicate names."""
    rows = tuple(fields)
    names = Counter(field.name for field in rows)
    if len(names) < len(rows):
        duplicate = next(name for name, count in names.items() if count > 1)
        raise TransformError(f"the new schema would contain the field {duplicate} twice")
    name, version, doc, parameters = schema.name, schema.version, schema.doc, schema.parameters
    return Schema("STRUCT", optional, name, version=version, doc=doc, fields=rows, parameters=parameters)


@once_per_schema
def schemas_of(schema: Schema) -> Mapping[str, Schema]:
    """Return the schemas of the fields by name."""
    return {field.name: field.schema for field in schema.fields}


def field_of(schema: Schema, name: str) -> Field | None:
    """Return the field with that name."""
    return next((field for field in schema.fields if field.name == name), None)
