"""Access to one side of a record: its key or its value."""

from __future__ import annotations

from typing import Any

import msgspec

from engine.errors import TransformError
from engine.record.record import Record
from engine.record.schema import Field, Schema
from engine.steps.per_schema import once_per_schema
from engine.steps.schema_defaults import default_of

_replace = msgspec.structs.replace


def side_of(record: Record, key: bool) -> tuple[Schema | None, Any]:
    """Return the schema and value that a `$Key` or `$Value` transform works on."""
    return (record.key_schema, record.key) if key else (record.value_schema, record.value)


def with_side(record: Record, schema: Schema | None, value: Any, key: bool) -> Record:
    """Return the record with that side replaced."""
    if key:
        return _replace(record, key=value, key_schema=schema)
    return _replace(record, value=value, value_schema=schema)


def need_dict(schema: Schema | None, value: Any, purpose: str) -> dict[str, Any]:
    """Return the value if it is a schemaless map or a STRUCT. Raises TransformError."""
    if isinstance(value, dict) and (schema is None or schema.type == "STRUCT"):
        return value
    found = "null" if value is None else type(value).__name__ if schema is None else f"a {schema.type}"
    if schema is not None:
        raise TransformError(f"with a schema, only a STRUCT is supported for {purpose}, found {found}")
    raise TransformError(f"without a schema, only a map is supported for {purpose}, found {found}")


def with_defaults(schema: Schema, fields: dict[str, Any]) -> dict[str, Any]:
    """Return the fields, with the schema's defaults instead of null."""
    rows = with_default(schema)
    return filled(fields, rows) if rows else fields


@once_per_schema
def with_default(schema: Schema) -> tuple[Field, ...]:
    """Return the fields that have a default."""
    return tuple(field for field in schema.fields if field.schema.default is not None)


def need_fields(schema: Schema | None, value: Any, purpose: str, defaults: bool) -> dict[str, Any]:
    """Return the fields of a map or STRUCT, with a STRUCT's defaults if asked. Raises TransformError."""
    fields = need_dict(schema, value, purpose)
    return with_defaults(schema, fields) if schema is not None and defaults else fields


def filled(fields: dict[str, Any], rows: tuple[Field, ...]) -> dict[str, Any]:
    """Return the fields, with the defaults of these rows instead of null."""
    defaults = {field.name: default_of(field.schema) for field in rows if fields.get(field.name) is None}
    return {**fields, **defaults} if defaults else fields
