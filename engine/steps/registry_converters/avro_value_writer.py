"""Compiled writers: Connect data as Avro bytes. One writer is made for each pair of a Connect and an Avro schema.

The Avro schema is that of the Connect schema, or a registered one. Fields are matched by name then, and a field that
the record does not have is written with its default.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any

from engine.errors import VALUE, ConversionError, Message
from engine.record.schema import Field, Schema
from engine.schemas import avro_writer
from engine.schemas.avro_schema import AvroField, AvroNode
from engine.schemas.fields import member_path
from engine.schemas.problems import InvalidValue
from engine.steps.registry_converters import avro_names as names
from engine.steps.registry_converters.avro_names import AvroOptions
from engine.steps.registry_converters.avro_to_connect import DECIMAL, is_map_entry
from engine.steps.registry_converters.connect_to_avro import (
    is_fixed,
    is_union,
    moment_number,
    unscaled_bytes,
)

Append = Callable[[bytearray, Any], None]
_EXACT = {
    "INT8": "int", "INT16": "int", "INT32": "int", "INT64": "long", "FLOAT32": "float", "FLOAT64": "double",
    "BOOLEAN": "boolean", "STRING": "string", "BYTES": "bytes", "ARRAY": "array", "STRUCT": "record",
}  # fmt: skip
_PROMOTED = {
    "INT8": ("long", "float", "double"), "INT16": ("long", "float", "double"), "INT32": ("long", "float", "double"),
    "INT64": ("float", "double"), "FLOAT32": ("double",), "STRING": ("enum", "bytes"), "BYTES": ("fixed", "string"),
}  # fmt: skip
_BITS = {"INT8": 8, "INT16": 16, "INT32": 32, "INT64": 64}
_FLOAT, _DOUBLE = struct.Struct("<f"), struct.Struct("<d")
_MAX_DEPTH = 64  # of values without a schema
_SLOTS = ("boolean", "bytes", "double", "float", "int", "long", "string", "array", "map")  # of such values


def value_writer(schema: Schema | None, node: AvroNode, options: AvroOptions) -> Callable[[Any], bytes]:
    """Return the function that writes a whole value. It raises ConversionError, and this function too."""
    if schema is None and node.name != names.ANYTHING:
        raise ConversionError("a value without a schema can't be written with a registered schema")
    append = _append_anything if schema is None else _AvroValueWriters(options).make(schema, node, "")
    is_raw = node.kind == "bytes"  # Confluent writes bytes at the top without their length

    def write(value: Any) -> bytes:
        out = bytearray()
        append(out, value)
        return _without_length(out) if is_raw else bytes(out)

    return write


def append_long(out: bytearray, number: int) -> None:
    """Append a zigzag number."""
    number = (number << 1) ^ (number >> 63)
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)


def _append_raw(out: bytearray, data: bytes) -> None:
    append_long(out, len(data))
    out += data


def _without_length(out: bytearray) -> bytes:
    at = next(index for index, byte in enumerate(out) if byte < 0x80)
    return bytes(out[at + 1 :])


class _AvroValueWriters:
    def __init__(self, options: AvroOptions) -> None:
        self._options = options

    def make(self, schema: Schema, node: AvroNode, path: str) -> Append:
        """Return the writer of values that may be null. `path` is for error messages."""
        if node.kind == "union":
            return self._union(schema, node, path)
        append = self._present(schema, node, path)
        what = _what(path)

        def write(out: bytearray, value: Any) -> None:
            if value is None:
                raise ConversionError(f"{what} is null, but its {schema.type} schema is not optional")
            append(out, value)

        return write

    def _present(self, schema: Schema, node: AvroNode, path: str) -> Append:
        """Return the writer of values that are not null."""
        if not _fits(schema, node, promoted=True):
            raise ConversionError(f"{_what(path)} is {schema.type}, and the Avro schema wants {node.label}")
        match schema.type:
            case "STRUCT":
                return self._struct(schema, node, path)
            case "ARRAY":
                return self._array(schema, node, path)
            case "MAP" if node.kind == "map":
                return self._map(schema, node, path)
            case "MAP":
                return self._entries(schema, node.children[0], path)
        return _scalar(schema, node, path)

    def _struct(self, schema: Schema, node: AvroNode, path: str) -> Append:
        given = {names.scrub(one.name) if self._options.scrub else one.name: one for one in schema.fields}
        rows = [self._row(one, given.get(one.name), path) for one in node.fields]
        what = _what(path)

        def write(out: bytearray, value: Any) -> None:
            if type(value) is not dict and not isinstance(value, dict):
                raise ConversionError(f"{what} is a {type(value).__name__}, not a dict, which a STRUCT needs")
            get = value.get
            for name, default, append in rows:
                part = get(name)
                append(out, default if part is None else part)

        return write

    def _row(self, target: AvroField, field: Field | None, path: str) -> tuple[str, Any, Append]:
        """Return the name of a field, its default for null, and its writer."""
        where = member_path(path, target.name)
        if field is None:
            return target.name, None, _constant(target, where)
        default = None if self._options.ignore_defaults and field.schema.optional else field.schema.default
        return field.name, default, self.make(field.schema, target.node, where)

    def _union(self, schema: Schema, node: AvroNode, path: str) -> Append:
        null = next((index for index, child in enumerate(node.children) if child.kind == "null"), None)
        append = self._union_of_struct(schema, node, path) if is_union(schema) else self._branch(schema, node, path)
        prefix = None if null is None else _long_bytes(null)
        what = _what(path)

        def write(out: bytearray, value: Any) -> None:
            if value is not None:
                append(out, value)
            elif prefix is not None and schema.optional:
                out += prefix
            else:
                raise ConversionError(f"{what} is null, but its {schema.type} schema is not optional")

        return write

    def _branch(self, schema: Schema, node: AvroNode, path: str) -> Append:
        index = _branch_of(schema, node)
        if index is None:
            raise ConversionError(f"{_what(path)} is {schema.type}, and the Avro schema wants {node.label}")
        append, prefix = self._present(schema, node.children[index], path), _long_bytes(index)

        def write(out: bytearray, value: Any) -> None:
            out += prefix
            append(out, value)

        return write

    def _union_of_struct(self, schema: Schema, node: AvroNode, path: str) -> Append:
        """Return the writer of a STRUCT that stands for a union: its first field that is not null."""
        rows = [
            (field.name, field.schema.default, self._branch(field.schema, node, member_path(path, field.name)))
            for field in schema.fields
        ]
        what = _what(path)
        null = next((index for index, child in enumerate(node.children) if child.kind == "null"), None)

        def write(out: bytearray, value: Any) -> None:
            if not isinstance(value, dict):
                raise ConversionError(f"{what} is a {type(value).__name__}, not a dict, which a union needs")
            for name, default, append in rows:
                part = value.get(name)
                part = default if part is None else part
                if part is not None:
                    append(out, part)
                    return
            if null is None:
                raise ConversionError(f"{what} is a union without a value, but its schema is not optional")
            append_long(out, null)

        return write

    def _array(self, schema: Schema, node: AvroNode, path: str) -> Append:
        assert schema.items is not None
        item, what = self.make(schema.items, node.children[0], f"{path}[]"), _what(path)

        def write(out: bytearray, value: Any) -> None:
            if not isinstance(value, list):
                raise ConversionError(f"{what} is a {type(value).__name__}, not a list, which an ARRAY needs")
            if value:
                append_long(out, len(value))
                for one in value:
                    item(out, one)
            out.append(0)

        return write

    def _map(self, schema: Schema, node: AvroNode, path: str) -> Append:
        assert schema.keys is not None
        assert schema.items is not None
        key = _scalar(schema.keys, AvroNode("string"), f"{path} key")
        item, what = self.make(schema.items, node.children[0], f"{path}[]"), _what(path)

        def write(out: bytearray, value: Any) -> None:
            if not isinstance(value, dict):
                raise ConversionError(f"{what} is a {type(value).__name__}, not a dict, which a MAP needs")
            if value:
                append_long(out, len(value))
                for name, one in value.items():
                    key(out, name)
                    item(out, one)
            out.append(0)

        return write

    def _entries(self, schema: Schema, node: AvroNode, path: str) -> Append:
        assert schema.keys is not None
        assert schema.items is not None
        parts = {"key": schema.keys, "value": schema.items}
        rows = [(one.name == "key", self.make(parts[one.name], one.node, f"{path}[]")) for one in node.fields]
        what = _what(path)

        def write(out: bytearray, value: Any) -> None:
            if not isinstance(value, dict):
                raise ConversionError(f"{what} is a {type(value).__name__}, not a dict, which a MAP needs")
            if value:
                append_long(out, len(value))
                for key, one in value.items():
                    for is_key, append in rows:
                        append(out, key if is_key else one)
            out.append(0)

        return write


def _branch_of(schema: Schema, node: AvroNode) -> int | None:
    """Return the branch for values of a Connect schema: of the same name, else of the same type, else a wider one."""
    fitting = [index for index, child in enumerate(node.children) if _fits(schema, child, promoted=False)]
    same_name = [index for index in fitting if _has_name(schema, node.children[index])]
    if same_name or fitting:
        return (same_name or fitting)[0]
    return next((index for index, child in enumerate(node.children) if _fits(schema, child, promoted=True)), None)


def _has_name(schema: Schema, node: AvroNode) -> bool:
    if not node.name:
        return False
    given = (schema.parameters or {}).get(names.ENUM, schema.name) if node.kind == "enum" else schema.name
    return given is not None and node.name in (given, names.scrub_full(given))


def _fits(schema: Schema, node: AvroNode, *, promoted: bool) -> bool:
    if schema.type == "MAP":
        is_list = node.kind == "array" and is_map_entry(node.children[0])
        return is_list or (node.kind == "map" and schema.keys is not None and schema.keys.type == "STRING")
    if schema.type == "STRING" and node.kind == "enum":
        return promoted or names.ENUM in (schema.parameters or {})
    if node.kind == "fixed":
        return schema.type == "BYTES" and (promoted or is_fixed(schema))
    if schema.type == "BYTES" and is_fixed(schema) and not promoted:
        return False
    return node.kind == _EXACT[schema.type] or (promoted and node.kind in _PROMOTED.get(schema.type, ()))


def _constant(field: AvroField, path: str) -> Append:
    """Return the writer of a field that the record does not have: its default."""
    if not field.has_default:
        raise ConversionError(f"{_what(path)} is missing in the record's schema, and the Avro schema has no default")
    try:
        data = avro_writer.write(AvroNode("record", name="Defaults", fields=[field]), {})
    except InvalidValue as error:
        raise ConversionError(f"the default of {_what(path)} does not fit its type") from error

    def write(out: bytearray, _value: Any) -> None:
        out += data

    return write


def _scalar(schema: Schema, node: AvroNode, path: str) -> Append:
    """Return the writer of one value, which names the field if the value does not fit."""
    append, what, kind = _plain(schema, node), _what(path), schema.name or schema.type

    def write(out: bytearray, value: Any) -> None:
        try:
            append(out, value)
        except (TypeError, ValueError, OverflowError, struct.error) as error:
            raise ConversionError(
                Message(f"{what}: {VALUE} is not a valid {kind}: {VALUE}", f"{value!r:.60}", error)
            ) from error

    return write


def _plain(schema: Schema, node: AvroNode) -> Append:
    number = _number(schema)
    match node.kind:
        case "boolean":
            return _append_boolean
        case "int" | "long":
            return lambda out, value: append_long(out, number(value))
        case "float":
            return lambda out, value: out.extend(_FLOAT.pack(_real(value)))
        case "double":
            return lambda out, value: out.extend(_DOUBLE.pack(_real(value)))
        case "string" | "bytes":
            encode = _encoder(schema)
            return lambda out, value: _append_raw(out, encode(value))
        case "enum":
            indexes = {symbol: index for index, symbol in enumerate(node.symbols)}
            return lambda out, value: append_long(out, _index(indexes, value))
        case "fixed":
            encode = _encoder(schema)
            return lambda out, value: out.extend(_sized(schema, encode(value), node.size))
    raise AssertionError(node.kind)  # `_fits` has refused it


def _number(schema: Schema) -> Callable[[Any], int]:
    bits = _BITS.get(schema.type, 64)
    low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    is_moment = schema.name is not None and schema.name.startswith("org.apache.kafka.connect.data.")

    def read(value: Any) -> int:
        number = moment_number(schema, value) if is_moment else value
        if type(number) is not int:
            raise TypeError(Message(f"its type is {type(number).__name__}"))
        if not low <= number <= high:
            raise ValueError(Message(f"it needs more than {bits} bits"))
        return number

    return read


def _real(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(Message(f"its type is {type(value).__name__}"))
    return float(value)


def _append_boolean(out: bytearray, value: Any) -> None:
    if not isinstance(value, bool):
        raise TypeError(Message(f"its type is {type(value).__name__}"))
    out.append(value)


def _encoder(schema: Schema) -> Callable[[Any], bytes]:
    if schema.name == DECIMAL:
        return lambda value: unscaled_bytes(schema, value)
    if schema.type == "STRING":
        return _encode
    return _bytes_of


def _encode(value: Any) -> bytes:
    if not isinstance(value, str):
        raise TypeError(Message(f"its type is {type(value).__name__}"))
    return value.encode()


def _bytes_of(value: Any) -> bytes:
    if not isinstance(value, bytes | bytearray | memoryview):
        raise TypeError(Message(f"its type is {type(value).__name__}"))
    return bytes(value)


def _index(indexes: dict[str, int], value: Any) -> int:
    index = indexes.get(value) if isinstance(value, str) else None
    if index is None:
        raise ValueError(Message("it is not a symbol of the enum"))
    return index


def _sized(schema: Schema, data: bytes, size: int) -> bytes:
    if schema.name == DECIMAL and len(data) < size:  # fill up with the sign
        return (b"\xff" if data[0] & 0x80 else b"\0") * (size - len(data)) + data
    if len(data) != size:
        raise ValueError(Message(f"it has {len(data)} bytes, and the schema wants {size}"))
    return data


def _what(path: str) -> str:
    return f"the field {path}" if path else "the value"


def _long_bytes(number: int) -> bytes:
    out = bytearray()
    append_long(out, number)
    return bytes(out)


def _append_anything(out: bytearray, value: Any, depth: int = 0) -> None:
    """Append a value without a schema: all fields of `Anything`, at most one of them not null."""
    if depth > _MAX_DEPTH:
        raise ConversionError(f"the value is nested more than {_MAX_DEPTH} levels deep")
    slot, part = _slot(value, depth)
    for name in _SLOTS:
        out.append(2 if name == slot else 0)
        if name == slot:
            out += part


def _slot(value: Any, depth: int) -> tuple[str, bytes]:
    """Return the field for a value, and its bytes. Connect's integers without a schema are INT64."""
    out = bytearray()
    match value:
        case None:
            return "", b""
        case bool():
            _append_boolean(out, value)
            return "boolean", bytes(out)
        case int() if -(1 << 63) <= value < 1 << 63:
            append_long(out, value)
            return "long", bytes(out)
        case float():
            return "double", _DOUBLE.pack(value)
        case str():
            try:
                _append_raw(out, value.encode())
            except UnicodeEncodeError as error:
                raise ConversionError(f"the value can't be encoded as UTF-8: {error.reason}") from error
            return "string", bytes(out)
        case bytes() | bytearray() | memoryview():
            _append_raw(out, bytes(value))
            return "bytes", bytes(out)
        case list():
            return "array", _items([(one,) for one in value], depth)
        case dict():
            return "map", _items(list(value.items()), depth)
    raise ConversionError(f"a {type(value).__name__} without a schema can't be written in Avro")


def _items(rows: list[tuple[Any, ...]], depth: int) -> bytes:
    out = bytearray()
    if rows:
        append_long(out, len(rows))
        for row in rows:
            for one in row:
                _append_anything(out, one, depth + 1)
    out.append(0)
    return bytes(out)
