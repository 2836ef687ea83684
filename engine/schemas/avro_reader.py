"""Avro bytes as JSON values, with the position of each field. Bounded in depth and in the number of values."""

from __future__ import annotations

import base64
import math
import struct
from typing import Any
from uuid import UUID

from engine.schemas.avro_logical import show_decimal, show_number
from engine.schemas.avro_schema import AvroNode
from engine.schemas.fields import DecodedField, FieldRows, member_path
from engine.schemas.json_text import dump
from engine.schemas.problems import Undecodable

MAX_DEPTH = 64
MAX_VALUES = 1_000_000  # in one message: blocks of values without bytes could announce any number
_QUOTED = frozenset({"string", "bytes", "fixed"})


def read(node: AvroNode, data: bytes, start: int = 0, *, rows: FieldRows | None = None) -> Any:
    """Return the JSON value of the bytes from `start` on. Raises Undecodable, which names the field.

    A value of a union stands for itself if JSON tells its branch, and is `{"branch": value}` otherwise.
    """
    reader = _AvroReader(data, start, rows)
    value = reader.value(node, "", "", 0)
    if reader.position < len(data):
        left = len(data) - reader.position
        raise Undecodable(f"{left} bytes are left after the last field", reader.position)
    return value


def shape_of(value: Any) -> str:
    """Return the JSON type of a value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    for kind, name in ((str, "string"), (list, "array"), (dict, "object")):
        if isinstance(value, kind):
            return name
    return "number"


def accepts(node: AvroNode, value: Any) -> bool:
    """Return whether a value of this JSON type can be a value of the node."""
    shape = shape_of(value)
    match node.kind:
        case "null" | "boolean" | "string" | "array":
            return shape == node.kind
        case "int" | "long":
            return shape == "integer" or (shape == "string" and bool(node.logical))
        case "float" | "double":
            return shape in ("integer", "number") or value in ("NaN", "Infinity", "-Infinity")
        case "bytes" | "fixed":
            return shape == "string" or (node.logical == "decimal" and shape in ("integer", "number"))
        case "enum":
            return shape == "string"
        case "union":
            return True
    return shape == "object"


class _AvroReader:
    def __init__(self, data: bytes, position: int, rows: FieldRows | None) -> None:
        self.data = data
        self.position = position
        self._rows = rows
        self._values = 0

    def value(self, node: AvroNode, path: str, name: str, depth: int, union: tuple[str, int] | None = None) -> Any:
        """Read one value. `union` is the label of the union around it, and where its branch is written."""
        if depth > MAX_DEPTH:
            raise Undecodable(f"{path or 'the value'} is nested more than {MAX_DEPTH} levels deep", self.position)
        self._values += 1
        if self._values > MAX_VALUES:
            raise Undecodable(f"the message has more than {MAX_VALUES:,} values", self.position)
        if node.kind == "union":
            return self._union(node, path, name, depth)
        rows = self._rows if name else None
        row = rows.reserve() if rows else None
        label, start = union or (node.label, self.position)
        try:
            value, text = self._of(node, path, depth)
        except _EndOfBytes:
            where = path or "the value"
            raise Undecodable(f"the bytes end within {where}, which is {node.label}", len(self.data)) from None
        if rows:
            rows.fill(row, DecodedField(path, name, depth - 1, label, text, start, self.position))
        return value

    def _of(self, node: AvroNode, path: str, depth: int) -> tuple[Any, str]:
        match node.kind:
            case "record":
                fields = {
                    one.name: self.value(one.node, member_path(path, one.name), one.name, depth + 1)
                    for one in node.fields
                }
                return fields, ""
            case "array":
                items: list[Any] = []
                for _ in self._items():
                    index = f"[{len(items)}]"
                    items.append(self.value(node.children[0], path + index, index, depth + 1))
                return items, f"{len(items):,} item{'' if len(items) == 1 else 's'}"
            case "map":
                entries: dict[str, Any] = {}
                for _ in self._items():
                    key = self._string(path)
                    if key in entries:
                        raise Undecodable(f"{path or 'the value'} has the key {key!r} twice", self.position)
                    entries[key] = self.value(node.children[0], member_path(path, key), key, depth + 1)
                return entries, f"{len(entries):,} entr{'y' if len(entries) == 1 else 'ies'}"
        value = self._scalar(node, path)
        is_text = node.kind in _QUOTED and not node.logical
        return value, dump(value) if is_text or not isinstance(value, str) else value

    def _scalar(self, node: AvroNode, path: str) -> Any:
        match node.kind:
            case "null":
                return None
            case "boolean":
                return self._boolean(path)
            case "int" | "long":
                number = self._long(32 if node.kind == "int" else 64, path)
                return show_number(node, number) if node.logical else number
            case "float" | "double":
                single = node.kind == "float"
                (real,) = struct.unpack("<f" if single else "<d", self._take(4 if single else 8))
                return _shown_float(real, single=single)
            case "string":
                return self._string(path)
            case "enum":
                return self._symbol(node, path)
        return self._raw(node, path)

    def _boolean(self, path: str) -> bool:
        byte = self._take(1)[0]
        if byte > 1:
            what = f"{path or 'the value'} is a boolean, and byte 0x{byte:02x} is neither 0 nor 1"
            raise Undecodable(what, self.position - 1)
        return bool(byte)

    def _symbol(self, node: AvroNode, path: str) -> str:
        start, index = self.position, self._long(32, path)
        if not 0 <= index < len(node.symbols):
            what = f"{path or 'the value'} has symbol {index}, and {node.label} has {len(node.symbols)}"
            raise Undecodable(what, start)
        return node.symbols[index]

    def _raw(self, node: AvroNode, path: str) -> str:
        start = self.position
        data = self._take(node.size if node.kind == "fixed" else self._long(64, path))
        if node.logical == "decimal":
            try:
                return show_decimal(node, data)
            except ValueError as error:
                raise Undecodable(f"{path or 'the value'} {error}", start) from None
        return str(UUID(bytes=data)) if node.logical == "uuid" else base64.b64encode(data).decode()

    def _union(self, node: AvroNode, path: str, name: str, depth: int) -> Any:
        try:
            start, index = self.position, self._long(32, path)
        except _EndOfBytes:
            raise Undecodable(f"the bytes end before {path or 'the value'}", len(self.data)) from None
        if not 0 <= index < len(node.children):
            what = f"{path or 'the value'} has branch {index}, and the union has {len(node.children)}"
            raise Undecodable(what, start)
        branch = node.children[index]
        value = self.value(branch, path, name, depth + 1 if not name else depth, (node.label, start))
        if is_plain(node, branch, value):
            return value
        return {branch.tag: value}

    def _items(self) -> Any:
        """Yield once for each item of the blocks of an array or map."""
        while count := self._long(64, ""):
            if count < 0:  # the size of the block follows, for readers that skip it
                self._long(64, "")
                count = -count
            if count > MAX_VALUES:
                raise Undecodable(f"a block announces {count:,} values", self.position)
            yield from range(count)

    def _string(self, path: str) -> str:
        length = self._long(64, path)
        start = self.position
        try:
            return self._take(length).decode()
        except UnicodeDecodeError as error:
            raise Undecodable(f"{path or 'the value'} is not UTF-8: {error.reason}", start + error.start) from None

    def _long(self, bits: int, path: str) -> int:
        result = shift = 0
        while True:
            byte = self._take(1)[0]
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift > 63:
                raise Undecodable(f"{path or 'the value'} has a number of more than 10 bytes", self.position)
        number = (result >> 1) ^ -(result & 1)
        if not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
            raise Undecodable(f"{path or 'the value'} has a number of more than {bits} bits", self.position)
        return number

    def _take(self, length: int) -> bytes:
        if length < 0:
            raise Undecodable(f"a length is {length}", self.position)
        end = self.position + length
        if end > len(self.data):
            raise _EndOfBytes
        taken = self.data[self.position : end]
        self.position = end
        return taken


class _EndOfBytes(Exception):
    """The bytes end. The innermost value names itself."""


def is_plain(union: AvroNode, branch: AvroNode, value: Any) -> bool:
    """Return whether a value of this branch needs no tag: no other branch has this JSON type.

    An object with one member that is named like a branch always needs a tag.
    """
    if isinstance(value, dict) and len(value) == 1 and next(iter(value)) in {one.tag for one in union.children}:
        return False
    return all(one is branch or not accepts(one, value) for one in union.children)


def _shown_float(number: float, *, single: bool = False) -> float | str:
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    if single:  # the shortest text that means the same 32 bits
        for digits in range(6, 10):
            shorter = float(f"{number:.{digits}g}")
            if abs(shorter) <= _MAX_FLOAT and struct.pack("<f", shorter) == struct.pack("<f", number):
                return shorter
    return number


_MAX_FLOAT = struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]
