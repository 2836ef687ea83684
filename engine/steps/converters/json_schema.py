"""Connect schemas in JsonConverter's JSON: `{"type": "struct", "fields": […]}`."""

from __future__ import annotations

from typing import Any

import msgspec

from engine.errors import VALUE, ConversionError, Message
from engine.record.schema import Field, Schema
from engine.steps.converters.json_data import reader
from engine.steps.converters.json_writing import JsonWriteOptions, to_json
from engine.steps.java.numbers import narrow

_TYPES = {
    "boolean": "BOOLEAN", "int8": "INT8", "int16": "INT16", "int32": "INT32", "int64": "INT64", "float": "FLOAT32",
    "double": "FLOAT64", "string": "STRING", "bytes": "BYTES", "array": "ARRAY", "map": "MAP", "struct": "STRUCT",
}  # fmt: skip
_NAMES = {kind: name for name, kind in _TYPES.items()}


def read(row: Any, *, replace_null: bool = True) -> Schema | None:
    """Return the schema; None for null. Raises ConversionError, and Inexact like a `reader`."""
    if row is None:
        return None
    type_name = row.get("type") if isinstance(row, dict) else None
    kind = _TYPES.get(type_name) if isinstance(type_name, str) else None
    if kind is None:
        raise ConversionError(Message(f"the schema of the envelope has an unknown type: {VALUE}", str(row)[:100]))
    schema = Schema(
        kind,
        optional=row.get("optional") is True,
        name=_property_of(row, "name", str),
        version=narrow(row["version"], 32) if _property_of(row, "version", int) is not None else None,
        doc=_property_of(row, "doc", str),
        fields=_fields(row) if kind == "STRUCT" else (),
        items=_inner(row, "items" if kind == "ARRAY" else "values") if kind in {"ARRAY", "MAP"} else None,
        keys=_inner(row, "keys") if kind == "MAP" else None,
        parameters=_parameters(row),
    )
    if "default" not in row:
        return schema
    default = reader(schema, replace_null=replace_null)(row["default"])
    if kind == "STRUCT" and default is not None:
        raise ConversionError("a struct schema can't have a default")
    if default is None and not schema.optional:
        raise ConversionError(f"the default of the {kind} schema is null or has a wrong type")
    return msgspec.structs.replace(schema, default=default)


def write(schema: Schema, how: JsonWriteOptions) -> dict[str, Any]:
    """Return the schema as JsonConverter writes it. Raises ConversionError."""
    row: dict[str, Any] = {"type": _NAMES[schema.type]}
    if schema.type == "MAP":
        row["keys"] = schema.keys and write(schema.keys, how)
    if schema.type in {"ARRAY", "MAP"}:
        row["items" if schema.type == "ARRAY" else "values"] = schema.items and write(schema.items, how)
    if schema.type == "STRUCT":
        row["fields"] = [write(field.schema, how) | {"field": field.name} for field in schema.fields]
    row["optional"] = schema.optional
    for name in ("name", "version", "doc", "parameters"):
        if getattr(schema, name) is not None:
            row[name] = getattr(schema, name)
    if schema.default is not None:
        row["default"] = to_json(schema, schema.default, how)
    return row


def _property_of(row: dict[str, Any], name: str, kind: type) -> Any:
    """Return a property of the schema. A value of another type counts as missing, as in Kafka Connect."""
    value = row.get(name)
    return value if isinstance(value, kind) and not isinstance(value, bool) else None


def _parameters(row: dict[str, Any]) -> dict[str, str] | None:
    parameters = _property_of(row, "parameters", dict)
    if parameters and not all(isinstance(value, str) for value in parameters.values()):
        raise ConversionError("a parameter of the envelope's schema is not a string")
    return parameters or None


def _fields(row: dict[str, Any]) -> tuple[Field, ...]:
    rows = row.get("fields")
    if not isinstance(rows, list):
        raise ConversionError("the envelope's struct schema has no list of fields")
    fields = tuple(_field(one) for one in rows)
    if len({field.name for field in fields}) < len(fields):
        raise ConversionError("the envelope's schema contains a field twice")
    return fields


def _field(row: Any) -> Field:
    name = row.get("field") if isinstance(row, dict) else None
    schema = read(row) if isinstance(name, str) else None
    if not isinstance(name, str) or schema is None:
        raise ConversionError("a field of the envelope's schema has no name")
    return Field(name, schema)


def _inner(row: dict[str, Any], name: str) -> Schema:
    schema = read(row.get(name))
    if schema is None:
        raise ConversionError(f"the envelope's {row['type']} schema has no {name}")
    return schema
