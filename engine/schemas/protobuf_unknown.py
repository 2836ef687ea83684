"""The fields of a Protobuf message that its schema does not know: found, and kept by an edit."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from engine.schemas import protobuf_wire as wire
from engine.schemas.fields import member_path
from engine.schemas.problems import ValueProblem
from engine.schemas.protobuf_types import is_map, json_name


def unknown_paths(message: Message, path: str = "") -> Iterator[str]:
    """Yield the number of each unknown field, at every level."""
    for unknown in UnknownFieldSet(message):
        yield f"field {unknown.field_number}{f' of {path}' if path else ''}"
    for where, inner in _messages(message, path):
        yield from unknown_paths(inner, where)


def carry_unknown(old: Message, new: Message, problems: list[ValueProblem], path: str = "") -> None:
    """Copy the unknown fields of `old`, at every level that still exists in `new`.

    A list whose items hold unknown fields must keep its length, or nobody knows which item they belong to.
    """
    new.MergeFromString(_encoded(UnknownFieldSet(old)))
    for field, value in old.ListFields():
        if not _holds_messages(field):
            continue
        where = member_path(path, json_name(field))
        held = new.Extensions[field] if field.is_extension else getattr(new, field.name)
        pairs = _pairs(field, value, held, where, new)
        if pairs is not None:
            for inner, before, after in pairs:
                carry_unknown(before, after, problems, inner)
        elif any(True for one in value for _ in unknown_paths(one, where)):
            what = "holds fields that the schema does not know, so its number of items can't change"
            problems.append(ValueProblem(where, what))


def _pairs(
    field: FieldDescriptor, value: Any, held: Any, path: str, new: Message
) -> list[tuple[str, Message, Message]] | None:
    """Return the messages that stand at the same place before and after; None for a list of another length."""
    if is_map(field):
        return [(member_path(path, str(key)), value[key], held[key]) for key in value if key in held]
    if not field.is_repeated:
        is_set = new.HasExtension(field) if field.is_extension else new.HasField(field.name)
        return [(path, value, held)] if is_set else []
    if len(held) != len(value):
        return None
    return [(f"{path}[{index}]", *both) for index, both in enumerate(zip(value, held, strict=True))]


def _messages(message: Message, path: str) -> Iterator[tuple[str, Message]]:
    """Yield the messages directly within a message, with their paths."""
    for field, value in message.ListFields():
        if not _holds_messages(field):
            continue
        where = member_path(path, json_name(field))
        inner: list[Any] = list(value.values()) if is_map(field) else list(value) if field.is_repeated else [value]
        yield from ((where, one) for one in inner)


def _holds_messages(field: FieldDescriptor) -> bool:
    if is_map(field):
        return field.message_type.fields_by_name["value"].message_type is not None
    return field.message_type is not None


def _encoded(unknown: UnknownFieldSet) -> bytes:
    out = bytearray()
    for one in unknown:
        out += _varint(one.field_number << 3 | one.wire_type)
        if one.wire_type == wire.VARINT:
            out += _varint(one.data)
        elif one.wire_type in (wire.FIXED64, wire.FIXED32):
            out += one.data.to_bytes(8 if one.wire_type == wire.FIXED64 else 4, "little")
        elif one.wire_type == wire.LENGTH:
            out += _varint(len(one.data)) + one.data
        else:
            out += _encoded(one.data) + _varint(one.field_number << 3 | wire.GROUP_END)
    return bytes(out)


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])
