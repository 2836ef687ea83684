"""JSON Schemas of Connect schemas, as Confluent's `JsonSchemaData.fromConnectSchema` makes them."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from engine.errors import ConversionError
from engine.record.schema import Schema
from engine.steps.converters.json_data import LOGICAL
from engine.steps.converters.json_writing import JsonWriteOptions
from engine.steps.registry_converters.json_to_connect import ENUM, NAMESPACE, NULL_MARKER, JsonSchemaOptions
from engine.steps.registry_converters.json_values import MISSING, is_union, value_writer

Json = Any
_TYPES = {
    "INT8": "integer", "INT16": "integer", "INT32": "integer", "INT64": "integer", "FLOAT32": "number",
    "FLOAT64": "number", "BOOLEAN": "boolean", "STRING": "string", "BYTES": "string",
}  # fmt: skip
_SAME = ("BOOLEAN", "STRING")  # types that need no `connect.type`
_NULL = {"type": "null"}


def json_schema(schema: Schema | None, options: JsonSchemaOptions) -> Json:
    """Return the JSON Schema. Raises ConversionError."""
    if schema is None:
        raise ConversionError("JsonSchemaConverter writes only values with a schema; use JsonConverter without schemas")
    return _make(schema, options, None)


def _make(schema: Schema, options: JsonSchemaOptions, index: int | None, *, is_branch: bool = False) -> Json:
    place = {} if index is None else {"connect.index": index}
    if is_union(schema):
        branches = [
            _make(replace(field.schema, optional=False), options, at, is_branch=True)
            for at, field in enumerate(schema.fields)
        ]
        return {"oneOf": [_NULL, *branches] if schema.optional else branches, **place}
    if schema.type == "STRUCT" and schema.optional:
        return {"oneOf": [_NULL, _make(replace(schema, optional=False), options, None)], **place}
    made = {**_base(schema, options), **_meta(schema, options)}
    if schema.optional and not is_branch:
        return {"oneOf": [_NULL, made], **place}
    return {**made, **place}


def _base(schema: Schema, options: JsonSchemaOptions) -> dict[str, Json]:
    parameters = schema.parameters or {}
    match schema.type:
        case "ARRAY":
            assert schema.items is not None
            return {"type": "array", "items": _make(schema.items, options, None)}
        case "MAP":
            return _map(schema, options)
        case "STRUCT":
            made: dict[str, Json] = {
                "type": "object",
                "properties": {
                    field.name: _make(field.schema, options, index) for index, field in enumerate(schema.fields)
                },
            }
            return made if options.additional_properties else {**made, "additionalProperties": False}
        case "STRING" if ENUM in parameters:
            prefix = f"{ENUM}."
            symbols = [name.removeprefix(prefix) for name in parameters if name.startswith(prefix)]
            return {"enum": [None if symbol == NULL_MARKER else symbol for symbol in symbols]}
        case "BYTES" if schema.name == f"{LOGICAL}Decimal" and options.numeric_decimals:
            return {"type": "number", "connect.type": "bytes"}
    made = {"type": _TYPES[schema.type]}
    return made if schema.type in _SAME else {**made, "connect.type": schema.type.lower()}


def _map(schema: Schema, options: JsonSchemaOptions) -> dict[str, Json]:
    assert schema.keys is not None
    assert schema.items is not None
    if schema.keys.type == "STRING" and not schema.keys.optional:
        values = _make(schema.items, options, None)
        return {"type": "object", "additionalProperties": values, "connect.type": "map"}
    entry = {"key": _make(schema.keys, options, 0), "value": _make(schema.items, options, 1)}
    return {"type": "array", "items": {"type": "object", "properties": entry}, "connect.type": "map"}


def _meta(schema: Schema, options: JsonSchemaOptions) -> dict[str, Json]:
    made: dict[str, Json] = {}
    if schema.name is not None:
        made["title"] = schema.name
    if schema.version is not None:
        made["connect.version"] = schema.version
    if schema.doc is not None:
        made["description"] = schema.doc
    parameters = {name: value for name, value in (schema.parameters or {}).items() if not name.startswith(NAMESPACE)}
    if parameters:
        made["connect.parameters"] = parameters
    if schema.default is not None:
        default = value_writer(schema, JsonWriteOptions(numeric=options.numeric_decimals))(schema.default)
        if default is not MISSING:
            made["default"] = default
    return made
