"""Connect schemas in JsonConverter's JSON: `{"type": "struct", "fields": […]}`."""

from __future__ import annotations

from typing import Any

import msgspec

from engine.errors import ConversionError
from engine.record.schema import Field, Schema
from engine.steps.converters.json_data import from_json, to_json

_TYPES = {
    "boolean": "BOOLEAN", "int8": "INT8", "int16": "INT16", "int32": "INT32", "int64": "INT64", "float": "FLOAT32",
    "double": "FLOAT64", "string": "STRING", "bytes": "BYTES", "array": "ARRAY", "map": "MAP", "struct": "STRUCT",
}  # fmt: skip
_NAMES = {kind: name for name, kind in _TYPES.items()}


def read(row: Any) -> Schema | None:
    """The schema; None for null. Raises ConversionError."""
    if row is None:
        return None
    kind = _TYPES.get(str(row.get("type"))) if isinstance(row, dict) else None
    if kind is None:
        raise ConversionError(f"the envelope's schema has no known type: {str(row)[:100]}")
    try:
        schema = Schema(
            kind,
            optional=bool(row.get("optional", False)),
            name=_told(row, "name", str),
            version=_told(row, "version", int),
            doc=_told(row, "doc", str),
            fields=tuple(_field(field) for field in row["fields"]) if kind == "STRUCT" else (),
            items=_inner(row["items" if kind == "ARRAY" else "values"]) if kind in {"ARRAY", "MAP"} else None,
            keys=_inner(row["keys"]) if kind == "MAP" else None,
            parameters=_told(row, "parameters", dict),
        )
    except (KeyError, TypeError) as error:
        raise ConversionError(f"the envelope's {row['type']} schema is not complete: {error}") from error
    default = row.get("default")
    return schema if default is None else msgspec.structs.replace(schema, default=from_json(schema, default))


def write(schema: Schema) -> dict[str, Any]:
    """The schema as JsonConverter writes it."""
    row: dict[str, Any] = {"type": _NAMES[schema.type], "optional": schema.optional}
    if schema.type == "STRUCT":
        row["fields"] = [write(field.schema) | {"field": field.name} for field in schema.fields]
    if schema.items is not None:
        row["items" if schema.type == "ARRAY" else "values"] = write(schema.items)
    if schema.keys is not None:
        row["keys"] = write(schema.keys)
    for name in ("name", "version", "doc", "parameters"):
        if getattr(schema, name) is not None:
            row[name] = getattr(schema, name)
    if schema.default is not None:
        row["default"] = to_json(schema, schema.default)
    return row


def _told(row: dict[str, Any], name: str, kind: type) -> Any:
    """What the schema says under that name; a value of another kind counts as not told, as in Kafka Connect."""
    value = row.get(name)
    return value if isinstance(value, kind) else None


def _field(row: Any) -> Field:
    name = row.get("field") if isinstance(row, dict) else None
    if not isinstance(name, str):
        raise ConversionError("a field of the envelope's schema has no name")
    return Field(name, _inner(row))


def _inner(row: Any) -> Schema:
    schema = read(row)
    if schema is None:
        raise ConversionError("null stands where the envelope's schema needs a type")
    return schema
