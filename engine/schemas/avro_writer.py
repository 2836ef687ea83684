"""JSON values as Avro bytes. Every problem of the value is found, each at its path."""

from __future__ import annotations

import base64
import binascii
import math
import struct
from decimal import Decimal
from typing import Any

from engine.schemas.avro_logical import read_decimal, read_number, read_uuid
from engine.schemas.avro_reader import MAX_DEPTH, MAX_VALUES, accepts, shape_of
from engine.schemas.avro_schema import AvroField, AvroNode
from engine.schemas.fields import member_path
from engine.schemas.problems import InvalidValue, ValueProblem

_BITS = {"int": 32, "long": 64}
_SPECIAL = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
_WORDS = {"integer": "a whole number", "number": "a number", "string": "text", "array": "a list", "object": "an object"}


def write(node: AvroNode, value: Any) -> bytes:
    """Return the bytes of a JSON value, as `json_text.parse` returns it. Raises InvalidValue with every problem."""
    writer = _AvroWriter()
    writer.value(node, value, "", 0)
    if writer.problems:
        raise InvalidValue(writer.problems)
    return bytes(writer.out)


class _AvroWriter:
    def __init__(self) -> None:
        self.out = bytearray()
        self.problems: list[ValueProblem] = []
        self._values = 0

    def value(self, node: AvroNode, value: Any, path: str, depth: int) -> None:
        self._values += 1
        if depth > MAX_DEPTH or self._values > MAX_VALUES:
            limit = f"{MAX_DEPTH} levels deep" if depth > MAX_DEPTH else f"{MAX_VALUES:,} values"
            raise InvalidValue([ValueProblem(path, f"is more than {limit}")])
        if node.kind == "union":
            self._union(node, value, path, depth)
            return
        if not accepts(node, value):
            self._refuse(path, f"is {described(value)}; the schema wants {node.label}")
            return
        if node.kind == "record":
            self._record(node, value, path, depth)
        elif node.kind in ("array", "map"):
            self._collection(node, value, path, depth)
        else:
            try:
                self._scalar(node, value)
            except ValueError as error:
                self._refuse(path, f"{described(value)} {error}")

    def _collection(self, node: AvroNode, value: Any, path: str, depth: int) -> None:
        """Write one block with all items, then the end."""
        if value:
            self._long(len(value))
        if node.kind == "array":
            for index, item in enumerate(value):
                self.value(node.children[0], item, f"{path}[{index}]", depth + 1)
        else:
            for key, item in value.items():
                self._bytes(key.encode())
                self.value(node.children[0], item, member_path(path, key), depth + 1)
        self._long(0)

    def _record(self, node: AvroNode, value: dict[str, Any], path: str, depth: int) -> None:
        known = {one.name for one in node.fields}
        for name in value:
            if name not in known:
                self._refuse(member_path(path, name), f"is not a field of {node.label}")
        for one in node.fields:
            where = member_path(path, one.name)
            if one.name in value:
                self.value(one.node, value[one.name], where, depth + 1)
            elif one.has_default:
                self._default(one, where, depth)
            else:
                self._refuse(where, f"is missing, and the schema has no default; it is {one.node.label}")

    def _default(self, field: AvroField, path: str, depth: int) -> None:
        """Write the default of a field. In a union it belongs to the first branch that it fits."""
        self.value(field.node, _default_value(field.node, field.default), path, depth + 1)

    def _union(self, node: AvroNode, value: Any, path: str, depth: int) -> None:
        if isinstance(value, dict) and len(value) == 1:
            ((tag, inner),) = value.items()
            for index, branch in enumerate(node.children):
                if branch.tag == tag:
                    self._long(index)
                    self.value(branch, inner, path, depth + 1)
                    return
        fitting = [(index, branch) for index, branch in enumerate(node.children) if accepts(branch, value)]
        if not fitting:
            self._refuse(path, f"is {described(value)}; the schema wants {node.label}")
            return
        found = len(self.problems)
        for index, branch in fitting:
            length = len(self.out)
            del self.problems[found:]
            self._long(index)
            self.value(branch, value, path, depth + 1)
            if len(self.problems) == found:
                return
            del self.out[length:]
        if len(fitting) > 1:
            del self.problems[found:]
            self._refuse(
                path,
                f'{described(value)} fits no branch of {node.label}; write {{"{fitting[0][1].tag}": …}} to choose one',
            )

    def _scalar(self, node: AvroNode, value: Any) -> None:
        match node.kind:
            case "boolean":
                self.out.append(value)
            case "int" | "long":
                self._long(_whole(node, value))
            case "float" | "double":
                self.out += _real(node, value)
            case "string":
                if node.logical == "uuid":
                    read_uuid(value)
                self._bytes(value.encode())
            case "enum":
                if value not in node.symbols:
                    raise ValueError(f"is not a symbol of {node.label}: {_listed(node.symbols)}")
                self._long(node.symbols.index(value))
            case "bytes":
                self._bytes(_raw(node, value))
            case "fixed":
                self.out += _raw(node, value)

    def _bytes(self, data: bytes) -> None:
        self._long(len(data))
        self.out += data

    def _long(self, number: int) -> None:
        number = (number << 1) ^ (number >> 63)
        while number > 0x7F:
            self.out.append(number & 0x7F | 0x80)
            number >>= 7
        self.out.append(number)

    def _refuse(self, path: str, message: str) -> None:
        self.problems.append(ValueProblem(path, message))


def described(value: Any) -> str:
    """Return a JSON value in a few words, for a sentence about it."""
    shape = shape_of(value)
    if shape in ("null", "boolean"):
        return {None: "null", True: "true", False: "false"}[value]
    if shape == "string":
        return f"the text {value[:40]!r}{'…' if len(value) > 40 else ''}"
    if shape in ("integer", "number"):
        return f"the number {str(value)[:40]}"
    return _WORDS[shape]


def _whole(node: AvroNode, value: Any) -> int:
    number = read_number(node, value) if isinstance(value, str) else int(value)
    bits = _BITS[node.kind]
    if not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        raise ValueError(f"does not fit into {bits} bits")
    return number


def _real(node: AvroNode, value: Any) -> bytes:
    try:
        number = _SPECIAL[value] if isinstance(value, str) else float(value)
        if math.isinf(number) and not isinstance(value, str):
            raise OverflowError
        return struct.pack("<f" if node.kind == "float" else "<d", number)
    except OverflowError:
        raise ValueError(f"does not fit into a {node.kind}") from None


def _raw(node: AvroNode, value: Any) -> bytes:
    if node.logical == "decimal":
        return read_decimal(node, value)
    if node.logical == "uuid":
        return read_uuid(value).bytes
    try:
        data = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("is not base64") from None
    if node.kind == "fixed" and len(data) != node.size:
        raise ValueError(f"has {len(data)} bytes; {node.label} has {node.size}")
    return data


def _default_value(node: AvroNode, default: Any) -> Any:
    """Convert a default from the schema's JSON: bytes are text of their code points there, and floats are Python's."""
    if node.kind == "union":
        branch = next((one for one in node.children if accepts(one, default)), node.children[0])
        return {branch.tag: _default_value(branch, default)}
    if node.kind in ("bytes", "fixed") and isinstance(default, str):
        data = default.encode("latin-1", "replace")
        if node.logical == "decimal":
            return Decimal(int.from_bytes(data, "big", signed=True)).scaleb(-node.scale)
        if node.logical != "uuid":
            return base64.b64encode(data).decode()
    if node.kind == "record":
        known = {one.name: one.node for one in node.fields}
        return {name: _default_value(known[name], item) for name, item in default.items() if name in known}
    if node.kind == "array":
        return [_default_value(node.children[0], item) for item in default]
    if node.kind == "map":
        return {name: _default_value(node.children[0], item) for name, item in default.items()}
    return default


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
