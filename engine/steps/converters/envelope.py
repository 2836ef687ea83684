"""Schemas and payloads of the JSON converter's envelope, as Kafka Connect writes them."""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from decimal import Decimal
from typing import Any

import msgspec

from engine.errors import ConversionError
from engine.record.schema import Field, Schema

_JSON_TO_TYPE = {
    "boolean": "BOOLEAN",
    "int8": "INT8",
    "int16": "INT16",
    "int32": "INT32",
    "int64": "INT64",
    "float": "FLOAT32",
    "double": "FLOAT64",
    "string": "STRING",
    "bytes": "BYTES",
    "array": "ARRAY",
    "map": "MAP",
    "struct": "STRUCT",
}
_TYPE_TO_JSON = {name: json for json, name in _JSON_TO_TYPE.items()}
_BITS = {"INT8": 8, "INT16": 16, "INT32": 32, "INT64": 64}
_PYTHON: dict[str, tuple[type, ...]] = {
    "BOOLEAN": (bool,),
    "FLOAT32": (float, int),
    "FLOAT64": (float, int),
    "STRING": (str,),
    "BYTES": (bytes, Decimal),
    "ARRAY": (list, tuple),
    "MAP": (dict,),
    "STRUCT": (dict,),
}


def schema_from_json(body: Any, field: str | None = None) -> Schema | None:
    """The schema of an envelope; None for `null`. Raises ConversionError."""
    if body is None:
        return None
    kind = _JSON_TO_TYPE.get(str(body.get("type"))) if isinstance(body, dict) else None
    if kind is None:
        raise ConversionError(f"unknown schema type in {field or 'the envelope'}: {body!r:.100}")
    fields = tuple(
        Field(str(row.get("field")), _required(schema_from_json(row, row.get("field"))))
        for row in (body.get("fields") or () if kind == "STRUCT" else ())
    )
    items = body.get("items") if kind == "ARRAY" else body.get("values") if kind == "MAP" else None
    keys = body.get("keys") if kind == "MAP" else None
    schema = Schema(
        kind,
        optional=bool(body.get("optional", False)),
        name=body.get("name"),
        version=body.get("version"),
        doc=body.get("doc"),
        fields=fields,
        items=schema_from_json(items, "items"),
        keys=schema_from_json(keys, "keys"),
        parameters=body.get("parameters"),
    )
    if body.get("default") is None:
        return schema
    return msgspec.structs.replace(schema, default=from_payload(schema, body["default"]))


def schema_to_json(schema: Schema, field: str | None = None) -> dict[str, Any]:
    """The schema as an envelope holds it."""
    body: dict[str, Any] = {"type": _TYPE_TO_JSON[schema.type], "optional": schema.optional}
    for name in ("name", "version", "doc", "parameters"):
        if getattr(schema, name) is not None:
            body[name] = getattr(schema, name)
    if schema.default is not None:
        body["default"] = to_payload(schema, schema.default, numeric_decimals=False)
    if schema.type == "STRUCT":
        body["fields"] = [schema_to_json(one.schema, one.name) for one in schema.fields]
    if schema.items is not None:
        body["items" if schema.type == "ARRAY" else "values"] = schema_to_json(schema.items)
    if schema.keys is not None:
        body["keys"] = schema_to_json(schema.keys)
    return body if field is None else body | {"field": field}


def from_payload(schema: Schema, payload: Any) -> Any:
    """The payload as Connect data; null takes the default. Raises ConversionError."""
    if payload is None:
        if schema.default is not None or schema.optional:
            return schema.default
        raise ConversionError(f"null for a required {schema.type}")
    match schema.type:
        case "BYTES":
            return _bytes(payload)
        case "ARRAY" if schema.items is not None and isinstance(payload, list):
            return [from_payload(schema.items, one) for one in payload]
        case "MAP" if schema.items is not None and isinstance(payload, dict):
            return {name: from_payload(schema.items, one) for name, one in payload.items()}
        case "MAP" if schema.items is not None and schema.keys is not None and isinstance(payload, list):
            return {from_payload(schema.keys, name): from_payload(schema.items, one) for name, one in payload}
        case "STRUCT" if isinstance(payload, dict):
            return {one.name: from_payload(one.schema, payload.get(one.name)) for one in schema.fields}
    check(schema, payload)
    return float(payload) if schema.type in {"FLOAT32", "FLOAT64"} else payload


def to_payload(schema: Schema, value: Any, numeric_decimals: bool) -> Any:
    """Connect data as JSON data."""
    if value is None:
        return None
    match schema.type:
        case "BYTES" if isinstance(value, bytes):
            return b64encode(value).decode()
        case "BYTES" if isinstance(value, Decimal):
            return float(value) if numeric_decimals else str(value)
        case "ARRAY" if schema.items is not None:
            return [to_payload(schema.items, one, numeric_decimals) for one in value]
        case "MAP" if schema.items is not None and schema.keys is not None and schema.keys.type != "STRING":
            return [[name, to_payload(schema.items, one, numeric_decimals)] for name, one in value.items()]
        case "MAP" if schema.items is not None:
            return {name: to_payload(schema.items, one, numeric_decimals) for name, one in value.items()}
        case "STRUCT":
            return {one.name: to_payload(one.schema, value.get(one.name), numeric_decimals) for one in schema.fields}
    return value


def check(schema: Schema, value: Any) -> None:
    """Raises ConversionError when the value is none of the schema's type."""
    if value is None:
        if schema.optional or schema.default is not None:
            return
        raise ConversionError(f"null for a required {schema.type}")
    bits = _BITS.get(schema.type)
    if bits is not None:
        if not isinstance(value, int) or isinstance(value, bool) or not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
            raise ConversionError(f"{value!r:.100} is no {schema.type}")
    elif not isinstance(value, _PYTHON[schema.type]) or (isinstance(value, bool) and schema.type != "BOOLEAN"):
        raise ConversionError(f"{type(value).__name__} {value!r:.100} is no {schema.type}")


def _bytes(payload: Any) -> bytes:
    try:
        return b64decode(payload, validate=True)
    except (TypeError, ValueError, binascii.Error) as error:
        raise ConversionError("bytes in a JSON payload must be base64") from error


def _required(schema: Schema | None) -> Schema:
    if schema is None:
        raise ConversionError("a field of a struct needs a schema")
    return schema
