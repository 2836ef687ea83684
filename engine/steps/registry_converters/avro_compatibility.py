"""Avro's schema resolution: whether a schema can read values that were written with another one."""

from __future__ import annotations

from engine.schemas.avro_schema import AvroNode
from engine.schemas.fields import member_path

_PROMOTIONS = {
    "int": ("long", "float", "double"), "long": ("float", "double"), "float": ("double",),
    "string": ("bytes",), "bytes": ("string",),
}  # fmt: skip


def incompatibility(reader: AvroNode, writer: AvroNode) -> str | None:
    """Return the first reason why the reader's schema can't read values of the writer's, as a clause."""
    return _reason(reader, writer, "", set())


def _reason(reader: AvroNode, writer: AvroNode, path: str, seen: set[tuple[int, int]]) -> str | None:
    pair = (id(reader), id(writer))
    if pair in seen:  # a recursive type
        return None
    seen = {*seen, pair}
    if writer.kind == "union":
        return next((found for one in writer.children if (found := _reason(reader, one, path, seen))), None)
    if reader.kind == "union":
        is_fitting = any(_reason(one, writer, path, seen) is None for one in reader.children)
        return None if is_fitting else _other_type(reader, writer, path)
    is_same = reader.kind == writer.kind and _short(reader) == _short(writer) and reader.size == writer.size
    if not is_same and reader.kind not in _PROMOTIONS.get(writer.kind, ()):
        return _other_type(reader, writer, path)
    return _inner_reason(reader, writer, path, seen)


def _inner_reason(reader: AvroNode, writer: AvroNode, path: str, seen: set[tuple[int, int]]) -> str | None:
    if reader.kind == "enum" and "default" not in reader.props:
        unknown = [symbol for symbol in writer.symbols if symbol not in reader.symbols]
        return f"{_what(path)} has the symbol {unknown[0]}, which the schema does not know" if unknown else None
    if reader.kind in ("array", "map"):
        return _reason(reader.children[0], writer.children[0], f"{path}[]", seen)
    return _record_reason(reader, writer, path, seen) if reader.kind == "record" else None


def _record_reason(reader: AvroNode, writer: AvroNode, path: str, seen: set[tuple[int, int]]) -> str | None:
    written = {one.name: one.node for one in writer.fields}
    for one in reader.fields:
        where = member_path(path, one.name)
        if one.name not in written:
            if not one.has_default:
                return f"the field {where} is missing, and the schema has no default"
            continue
        found = _reason(one.node, written[one.name], where, seen)
        if found is not None:
            return found
    return None


def _short(node: AvroNode) -> str:
    return node.name.rpartition(".")[2]


def _other_type(reader: AvroNode, writer: AvroNode, path: str) -> str:
    return f"{_what(path)} is {writer.label}, and the schema wants {reader.label}"


def _what(path: str) -> str:
    return f"the field {path}" if path else "the value"
