"""Compiled readers: Avro bytes as Connect data, in one pass. One reader is made for each registered schema.

The depth of the values is that of the schema, which is not recursive. Errors name the place, and hold no content.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from engine.record.schema import Schema
from engine.schemas.avro_schema import AvroNode
from engine.schemas.fields import member_path
from engine.schemas.problems import Undecodable, UnusableSchema
from engine.steps.converters.scalars import crowded
from engine.steps.converters.values_as_text import DAY_MS, EPOCH
from engine.steps.java.numbers import narrow, shortest_float32
from engine.steps.registry_converters.avro_names import AvroOptions
from engine.steps.registry_converters.avro_to_connect import (
    DATE,
    DECIMAL,
    TIME,
    TIMESTAMP,
    decimal_of,
    is_map_entry,
    nullable_branch,
)

# Returns the value at a position of the data, and the position after it.
ReadValue = Callable[[bytes, int], tuple[Any, int]]
_MAX_DECIMAL = 10_000  # bytes; the conversion to digits takes quadratic time
_MAX_DEPTH = 64  # of values without a schema
_FLOAT, _DOUBLE = struct.Struct("<f"), struct.Struct("<d")
_NOTHING = object()


class _Truncated(Exception):
    """The bytes end within a value."""


def value_reader(node: AvroNode, schema: Schema | None, options: AvroOptions) -> Callable[[bytes, int], Any]:
    """Return the function that reads a whole value. It raises Undecodable."""
    if node.kind == "bytes":  # Confluent writes bytes at the top without their length
        finish = _bytes_finish(schema)
        return lambda data, start: finish(data[start:], start)
    read = _anything if schema is None else _AvroValueReaders(options).make(node, schema, "")

    def read_whole(data: bytes, start: int) -> Any:
        try:
            value, end = read(data, start)
        except (IndexError, _Truncated, struct.error):
            raise Undecodable("the bytes end within the value", len(data)) from None
        if end != len(data):
            raise Undecodable(f"{len(data) - end} bytes are left after the value", end)
        return value

    return read_whole


def read_long(data: bytes, at: int) -> tuple[int, int]:
    """Return a zigzag number of up to 64 bits."""
    byte = data[at]
    at += 1
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), at
    number, shift = byte & 0x7F, 7
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
        if shift > 63:
            raise Undecodable("a number has more than 10 bytes", at)
    if number >> 64:
        raise Undecodable("a number has more than 64 bits", at)
    return (number >> 1) ^ -(number & 1), at


def _read_raw(data: bytes, at: int) -> tuple[bytes, int]:
    length, at = read_long(data, at)
    if length < 0:
        raise Undecodable("a length is negative", at)
    end = at + length
    if end > len(data):
        raise _Truncated
    return data[at:end], end


class _AvroValueReaders:
    def __init__(self, options: AvroOptions) -> None:
        self._options = options

    def make(self, node: AvroNode, schema: Schema, path: str) -> ReadValue:
        """Return the reader of a type; `schema` is its Connect schema."""
        if node.kind == "array" and schema.type == "MAP":
            return self._entries(node.children[0], schema, path)
        make = getattr(self, _CONTAINERS[node.kind]) if node.kind in _CONTAINERS else _SCALAR_READERS[node.kind]
        made: ReadValue = make(node, schema, path)
        return made

    def _struct(self, node: AvroNode, schema: Schema, path: str) -> ReadValue:
        rows = [
            (one.name, self.make(one.node, field.schema, member_path(path, one.name)))
            for one, field in zip(node.fields, schema.fields, strict=True)
        ]

        def read(data: bytes, at: int) -> tuple[Any, int]:
            value = {}
            for name, part in rows:
                value[name], at = part(data, at)
            return value, at

        return read

    def _union(self, node: AvroNode, schema: Schema, path: str) -> ReadValue:
        branch = nullable_branch(node, self._options)
        count, what = len(node.children), path or "the value"
        if branch is not None:
            inner, first = self.make(branch, schema, path), node.children.index(branch)

            def read_nullable(data: bytes, at: int) -> tuple[Any, int]:
                index = data[at]
                if index == first << 1:
                    return inner(data, at + 1)
                if index > 2 * count - 1 or index & 1:
                    index, at = read_long(data, at)
                    raise _no_branch(what, index, count, at)
                return None, at + 1

            return read_nullable
        fields = iter(schema.fields)
        readers: list[tuple[str | None, ReadValue]] = []
        for child in node.children:
            field = None if child.kind == "null" else next(fields)
            readers.append((None, _read_null) if field is None else (field.name, self.make(child, field.schema, path)))
        empty = {field.name: None for field in schema.fields}

        def read(data: bytes, at: int) -> tuple[Any, int]:
            index, at = read_long(data, at)
            if not 0 <= index < count:
                raise _no_branch(what, index, count, at)
            name, part = readers[index]
            if name is None:
                return None, at
            value, at = part(data, at)
            return {**empty, name: value}, at

        return read

    def _array(self, node: AvroNode, schema: Schema, path: str) -> ReadValue:
        assert schema.items is not None
        inner = node.children[0]
        if _can_be_empty(inner):
            raise UnusableSchema(f"the items of {path or 'the value'} have no bytes, so their number is not limited")
        item = self.make(inner, schema.items, f"{path}[]")

        def read(data: bytes, at: int) -> tuple[Any, int]:
            items: list[Any] = []
            append = items.append
            while True:
                count, at = _block(data, at)
                if count == 0:
                    return items, at
                for _ in range(count):
                    value, at = item(data, at)
                    append(value)

        return read

    def _map(self, node: AvroNode, schema: Schema, path: str) -> ReadValue:
        assert schema.items is not None
        key, item = _string(path), self.make(node.children[0], schema.items, f"{path}[]")

        def read(data: bytes, at: int) -> tuple[Any, int]:
            entries: dict[str, Any] = {}
            while True:
                count, at = _block(data, at)
                if count == 0:
                    return entries, at
                for _ in range(count):
                    name, at = key(data, at)
                    entries[name], at = item(data, at)

        return read

    def _entries(self, node: AvroNode, schema: Schema, path: str) -> ReadValue:
        """Return the reader of a MAP whose keys are not text: a list of records with `key` and `value`."""
        assert is_map_entry(node)
        assert schema.keys is not None
        assert schema.items is not None
        if schema.keys.type in ("STRUCT", "ARRAY", "MAP"):
            raise UnusableSchema(f"{path or 'the value'} is a map with {schema.keys.type} keys")
        both = {"key": schema.keys, "value": schema.items}
        rows = [(one.name, self.make(one.node, both[one.name], f"{path}[]")) for one in node.fields]
        if _can_be_empty(node):
            raise UnusableSchema(f"the items of {path or 'the value'} have no bytes, so their number is not limited")

        def read(data: bytes, at: int) -> tuple[Any, int]:
            pairs: list[tuple[Any, Any]] = []
            while True:
                count, at = _block(data, at)
                if count == 0:
                    break
                for _ in range(count):
                    pair = {}
                    for name, part in rows:
                        pair[name], at = part(data, at)
                    pairs.append((pair["key"], pair["value"]))
            if crowded(key for key, _ in pairs):
                raise Undecodable(f"{path or 'the value'} has too many keys with the same hash")
            return dict(pairs), at

        return read


def _block(data: bytes, at: int) -> tuple[int, int]:
    """Return the number of items in the next block of an array or map; 0 at the end."""
    count, at = read_long(data, at)
    if count < 0:  # the size of the block follows, for readers that skip it
        _, at = read_long(data, at)
        count = -count
    if count > len(data):  # each item has a byte
        raise Undecodable(f"a block announces {count} items, more than there are bytes", at)
    return count, at


def _can_be_empty(node: AvroNode) -> bool:
    """Return whether a value of the type may have no bytes."""
    match node.kind:
        case "null":
            return True
        case "fixed":
            return node.size == 0
        case "record":
            return all(_can_be_empty(one.node) for one in node.fields)
    return False


def _read_null(_data: bytes, at: int) -> tuple[Any, int]:
    return None, at


def _read_float(data: bytes, at: int) -> tuple[Any, int]:
    return shortest_float32(_FLOAT.unpack_from(data, at)[0]), at + 4


def _read_double(data: bytes, at: int) -> tuple[Any, int]:
    return _DOUBLE.unpack_from(data, at)[0], at + 8


def _boolean(_node: AvroNode, _schema: Schema, path: str) -> ReadValue:
    def read(data: bytes, at: int) -> tuple[Any, int]:
        byte = data[at]
        if byte > 1:
            raise Undecodable(f"{path or 'the value'} is a boolean, but its byte is neither 0 nor 1", at)
        return byte == 1, at + 1

    return read


def _number(node: AvroNode, schema: Schema, path: str) -> ReadValue:
    what, is_int = path or "the value", node.kind == "int"
    finish = _NUMBERS.get(schema.name or schema.type)

    def read(data: bytes, at: int) -> tuple[Any, int]:
        byte = data[at]
        if byte < 0x80:
            number, at = (byte >> 1) ^ -(byte & 1), at + 1
        else:
            number, at = read_long(data, at)
            if is_int and not -0x8000_0000 <= number < 0x8000_0000:
                raise Undecodable(f"{what} has a number of more than 32 bits", at)
        if finish is None:
            return number, at
        try:
            return finish(number), at
        except OverflowError:
            raise Undecodable(f"{what} is no {schema.name}: it is out of its range", at) from None

    return read


def _time(number: int) -> Any:
    if not 0 <= number < DAY_MS:
        raise OverflowError
    return (EPOCH + timedelta(milliseconds=number)).time()


_NUMBERS: dict[str, Callable[[int], Any]] = {
    "INT8": lambda number: narrow(number, 8),
    "INT16": lambda number: narrow(number, 16),
    DATE: lambda number: (EPOCH + timedelta(days=number)).date(),
    TIME: _time,
    TIMESTAMP: lambda number: EPOCH + timedelta(milliseconds=number),
}


def _string(path: str) -> ReadValue:
    def read(data: bytes, at: int) -> tuple[Any, int]:
        byte = data[at]
        if byte < 0x80 and not byte & 1:
            at += 1
            end = at + (byte >> 1)
            if end > len(data):
                raise _Truncated
            raw = data[at:end]
        else:
            raw, end = _read_raw(data, at)
        try:
            return raw.decode(), end
        except UnicodeDecodeError as error:
            raise Undecodable(f"{path or 'the value'} is not UTF-8", end - len(raw) + error.start) from None

    return read


def _enum(node: AvroNode, _schema: Schema, path: str) -> ReadValue:
    symbols, count = node.symbols, len(node.symbols)

    def read(data: bytes, at: int) -> tuple[Any, int]:
        index, at = read_long(data, at)
        if not 0 <= index < count:
            raise Undecodable(f"{path or 'the value'} has symbol {index}, and {node.label} has {count}", at)
        return symbols[index], at

    return read


def _bytes_finish(schema: Schema | None) -> Callable[[bytes, int], Any]:
    if schema is None or schema.name != DECIMAL:
        return lambda data, _at: data
    scale = int((schema.parameters or {})["scale"])

    def finish(data: bytes, at: int) -> Any:
        if not data or len(data) > _MAX_DECIMAL:
            raise Undecodable(f"a decimal has {len(data)} bytes; it must have 1 to {_MAX_DECIMAL}", at)
        return decimal_of(data, scale)

    return finish


def _bytes(_node: AvroNode, schema: Schema, _path: str) -> ReadValue:
    if schema.name != DECIMAL:
        return _read_raw
    finish = _bytes_finish(schema)

    def read(data: bytes, at: int) -> tuple[Any, int]:
        raw, end = _read_raw(data, at)
        return finish(raw, end), end

    return read


def _fixed(node: AvroNode, schema: Schema, _path: str) -> ReadValue:
    size, finish = node.size, _bytes_finish(schema)

    def read(data: bytes, at: int) -> tuple[Any, int]:
        end = at + size
        if end > len(data):
            raise _Truncated
        return finish(data[at:end], at), end

    return read


_CONTAINERS = {"union": "_union", "record": "_struct", "array": "_array", "map": "_map"}
_SCALAR_READERS: dict[str, Callable[[AvroNode, Schema, str], ReadValue]] = {
    "null": lambda *_: _read_null,
    "boolean": _boolean,
    "int": _number,
    "long": _number,
    "float": lambda *_: _read_float,
    "double": lambda *_: _read_double,
    "string": lambda _node, _schema, path: _string(path),
    "enum": _enum,
    "bytes": _bytes,
    "fixed": _fixed,
}


def _no_branch(what: str, index: int, count: int, at: int) -> Undecodable:
    return Undecodable(f"{what} has branch {index}, and the union has {count}", at)


# The fields of a value without a schema (`io.confluent.connect.avro.Anything`), each null or one value.
def _anything(data: bytes, at: int) -> tuple[Any, int]:
    return _read_anything(data, at, 0)


def _read_anything(data: bytes, at: int, depth: int) -> tuple[Any, int]:
    if depth > _MAX_DEPTH:
        raise Undecodable(f"the value is nested more than {_MAX_DEPTH} levels deep", at)
    found: Any = _NOTHING
    for part in _SCALARS:
        value, at = _optional(part, data, at)
        found = value if found is _NOTHING else found

    def read_inner(data: bytes, at: int) -> tuple[Any, int]:
        return _read_anything(data, at, depth + 1)

    value, at = _optional(lambda data, at: _list_of(read_inner, data, at), data, at)
    found = value if found is _NOTHING else found

    def read_pair(data: bytes, at: int) -> tuple[Any, int]:
        key, at = read_inner(data, at)
        item, at = read_inner(data, at)
        return (key, item), at

    pairs, at = _optional(lambda data, at: _list_of(read_pair, data, at), data, at)
    if found is not _NOTHING or pairs is _NOTHING:
        return (None if found is _NOTHING else found), at
    try:
        return dict(pairs), at
    except TypeError:
        raise Undecodable("a map without a schema has a list or a map as a key", at) from None


def _optional(read: ReadValue, data: bytes, at: int) -> tuple[Any, int]:
    index, at = read_long(data, at)
    if index == 0:
        return _NOTHING, at
    if index != 1:
        raise _no_branch("a value without a schema", index, 2, at)
    return read(data, at)


def _list_of(read: ReadValue, data: bytes, at: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    while True:
        count, at = _block(data, at)
        if count == 0:
            return items, at
        for _ in range(count):
            value, at = read(data, at)
            items.append(value)


_SCALARS: tuple[ReadValue, ...] = (
    _boolean(AvroNode("boolean"), Schema("BOOLEAN"), ""), _read_raw, _read_double, _read_float,
    _number(AvroNode("int"), Schema("INT32"), ""), read_long, _string(""),
)  # fmt: skip
