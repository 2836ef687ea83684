"""Compiled readers and writers of JSON with a schema, as Confluent's `JsonSchemaData` converts it.

Scalars and logical types are those of JsonConverter. Unions, maps and nulls differ.
"""

from __future__ import annotations

import base64
from decimal import Decimal
from typing import Any

from engine.errors import VALUE, ConversionError, Message
from engine.record.schema import Schema
from engine.steps.converters import json_writing
from engine.steps.converters.json_data import LOGICAL_TYPES, Reader, scalar_reader
from engine.steps.converters.json_writing import JsonWriteOptions, Writer
from engine.steps.converters.scalars import crowded
from engine.steps.schema_defaults import default_of

ONE_OF = "io.confluent.connect.json.OneOf"
MISSING = object()  # a member that is not there; null is None
_CONTAINERS = frozenset({"ARRAY", "MAP", "STRUCT"})
_INTEGERS = frozenset({"INT8", "INT16", "INT32", "INT64"})


def is_union(schema: Schema) -> bool:
    """Return whether a STRUCT stands for a `oneOf`: at most one of its fields is set."""
    return schema.type == "STRUCT" and schema.name == ONE_OF


def value_reader(schema: Schema) -> Reader:
    """Return the function from parsed JSON to Connect data. It raises ConversionError and InexactNumber."""
    read = _present_reader(schema)
    default, optional, kind = schema.default, schema.optional, schema.type

    def read_or_null(value: Any) -> Any:
        if value is not None and value is not MISSING:
            return read(value)
        if default is not None:
            return default_of(schema)
        if optional or value is MISSING:
            return None
        raise ConversionError(f"the value is null, but its {kind} schema is not optional")

    return read_or_null


def value_writer(schema: Schema, how: JsonWriteOptions) -> Writer:
    """Return the function from Connect data to a JSON tree. MISSING is a member that is left out."""
    write = _present_writer(schema, how)
    default = schema.default if how.replace_null else None
    empty = None if schema.optional else MISSING

    def write_or_null(value: Any) -> Any:
        if value is None:
            value = default
        return empty if value is None else write(value)

    return write_or_null


def _present_reader(schema: Schema) -> Reader:
    if schema.type not in _CONTAINERS or schema.name in LOGICAL_TYPES:
        return (
            _bytes_reader(schema)
            if schema.type == "BYTES" and schema.name not in LOGICAL_TYPES
            else scalar_reader(schema)
        )
    match schema.type:
        case "ARRAY":
            return _array_reader(schema)
        case "MAP":
            return _map_reader(schema)
    return _union_reader(schema) if is_union(schema) else _struct_reader(schema)


def _bytes_reader(schema: Schema) -> Reader:
    read = scalar_reader(schema)
    return lambda value: value if isinstance(value, Decimal) else read(value)


def _array_reader(schema: Schema) -> Reader:
    assert schema.items is not None
    item = value_reader(schema.items)

    def read(value: Any) -> Any:
        if not isinstance(value, list):
            raise _wrong("ARRAY", "a JSON array", value)
        return [item(one) for one in value]

    return read


def _map_reader(schema: Schema) -> Reader:
    assert schema.keys is not None
    assert schema.items is not None
    item, key = value_reader(schema.items), value_reader(schema.keys)
    if schema.keys.type == "STRING" and not schema.keys.optional:

        def read(value: Any) -> Any:
            if not isinstance(value, dict):
                raise _wrong("MAP", "a JSON object", value)
            return {name: item(one) for name, one in value.items()}

        return read

    def read_entries(value: Any) -> Any:
        if not isinstance(value, list) or not all(isinstance(one, dict) and len(one) == 2 for one in value):
            raise _wrong("MAP", "a JSON array of objects with key and value", value)
        pairs = [(key(one.get("key", MISSING)), item(one.get("value", MISSING))) for one in value]
        if crowded(name for name, _ in pairs):
            raise ConversionError("the MAP has too many keys with the same hash")
        try:
            return dict(pairs)
        except TypeError as error:
            raise ConversionError(f"a MAP with {schema.keys and schema.keys.type} keys is not supported") from error

    return read_entries


def _struct_reader(schema: Schema) -> Reader:
    rows = [(field.name, value_reader(field.schema)) for field in schema.fields]

    def read(value: Any) -> Any:
        if not isinstance(value, dict):
            raise _wrong("STRUCT", "a JSON object", value)
        get, struct = value.get, {}
        for name, part in rows:
            try:
                struct[name] = part(get(name, MISSING))
            except ConversionError as error:
                raise ConversionError(Message(f"field {name}: {VALUE}", error)) from error
        return struct

    return read


def _union_reader(schema: Schema) -> Reader:
    """Return the reader of a `oneOf`: the first simple type that fits, else the object with most known members."""
    rows = [(field.name, field.schema, value_reader(field.schema)) for field in schema.fields]
    empty = {field.name: None for field in schema.fields}

    def read(value: Any) -> Any:
        best, most = None, 0
        for name, inner, part in rows:
            if _is_simple(inner, value):
                return {**empty, name: part(value)}
            count = _known_members(inner, value)
            if count > most:
                best, most = (name, part), count
        if best is None:
            raise ConversionError("the value fits no type of the oneOf")
        return {**empty, best[0]: best[1](value)}

    return read


def _is_simple(schema: Schema, value: Any) -> bool:
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    match schema.type:
        case "BOOLEAN":
            return isinstance(value, bool)
        case "STRING":
            return isinstance(value, str)
        case "BYTES":  # Confluent's converter takes text for a STRING, never for BYTES
            return isinstance(value, float | Decimal)
        case "ARRAY":
            return isinstance(value, list)
        case "MAP":
            return isinstance(value, dict | list)
        case "STRUCT":
            return False
    return is_number and (schema.type not in _INTEGERS or isinstance(value, int))


def _known_members(schema: Schema, value: Any) -> int:
    if schema.type != "STRUCT" or not isinstance(value, dict):
        return 0
    known = [(field, value[field.name]) for field in schema.fields if field.name in value]
    return len(known) + sum(_known_members(field.schema, one) for field, one in known)


def _present_writer(schema: Schema, how: JsonWriteOptions) -> Writer:
    if schema.type not in _CONTAINERS or schema.name in LOGICAL_TYPES:
        return _bytes_writer(schema, how) if schema.type == "BYTES" else json_writing.writer(schema, how)
    match schema.type:
        case "ARRAY":
            return _array_writer(schema, how)
        case "MAP":
            return _map_writer(schema, how)
    return _union_writer(schema, how) if is_union(schema) else _struct_writer(schema, how)


def _bytes_writer(schema: Schema, how: JsonWriteOptions) -> Writer:
    write = json_writing.writer(schema, how)
    if schema.name in LOGICAL_TYPES:
        return write
    return lambda value: base64.b64encode(value).decode() if isinstance(value, bytearray | memoryview) else write(value)


def _array_writer(schema: Schema, how: JsonWriteOptions) -> Writer:
    assert schema.items is not None
    item = value_writer(schema.items, how)

    def write(value: Any) -> Any:
        if not isinstance(value, list):
            raise ConversionError(f"an ARRAY is a {type(value).__name__}, not a list")
        return [_present(item(one)) for one in value]

    return write


def _map_writer(schema: Schema, how: JsonWriteOptions) -> Writer:
    assert schema.keys is not None
    assert schema.items is not None
    item, key = value_writer(schema.items, how), value_writer(schema.keys, how)
    is_object = schema.keys.type == "STRING" and not schema.keys.optional

    def write(value: Any) -> Any:
        if not isinstance(value, dict):
            raise ConversionError(f"a MAP is a {type(value).__name__}, not a dict")
        if is_object:
            return {_present(key(name)): _present(item(one)) for name, one in value.items()}
        return [{"key": _present(key(name)), "value": _present(item(one))} for name, one in value.items()]

    return write


def _struct_writer(schema: Schema, how: JsonWriteOptions) -> Writer:
    rows = [(field.name, value_writer(field.schema, how)) for field in schema.fields]

    def write(value: Any) -> Any:
        if not isinstance(value, dict):
            raise ConversionError(f"a STRUCT is a {type(value).__name__}, not a dict")
        get, made = value.get, {}
        for name, part in rows:
            try:
                written = part(get(name))
            except ConversionError as error:
                raise ConversionError(Message(f"field {name}: {VALUE}", error)) from error
            if written is not MISSING:
                made[name] = written
        return made

    return write


def _union_writer(schema: Schema, how: JsonWriteOptions) -> Writer:
    rows = [(field.name, value_writer(field.schema, how)) for field in schema.fields]

    def write(value: Any) -> Any:
        if not isinstance(value, dict):
            raise ConversionError(f"a oneOf is a {type(value).__name__}, not a dict")
        for name, part in rows:
            one = value.get(name)
            if one is not None:
                return part(one)
        if schema.optional:
            return None
        raise ConversionError("a oneOf has no value, but its schema is not optional")

    return write


def _present(value: Any) -> Any:
    if value is MISSING:
        raise ConversionError("an item is null, but its schema is not optional")
    return value


def _wrong(kind: str, wanted: str, value: Any) -> ConversionError:
    return ConversionError(Message(f"{VALUE} is not a valid {kind}: it must be {wanted}", f"{value!r:.60}"))
