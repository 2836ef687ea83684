"""Protobuf messages as JSON and back, in Protobuf's own JSON mapping, with the names of the .proto file.

64-bit numbers are text there, NaN and Infinity too, and bytes are base64. Fields that the schema does not know are kept
by an edit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf import json_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor
from google.protobuf.message import DecodeError, EncodeError, Message
from google.protobuf.message_factory import GetMessageClass

from engine.schemas import protobuf_wire as wire
from engine.schemas.fields import FieldRows, member_path
from engine.schemas.problems import InvalidValue, Undecodable, ValueProblem
from engine.schemas.protobuf_fields import add_rows
from engine.schemas.protobuf_types import extensions, is_map, is_well_known, json_name, type_label
from engine.schemas.protobuf_unknown import carry_unknown, unknown_paths

MAX_INDEXES = 32
_MAX_DEPTH = 90  # protobuf itself stops at 100
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")


def message_indexes(data: bytes, start: int) -> tuple[tuple[int, ...], int]:
    """Return which message of the file it is, and the position after these numbers.

    Confluent writes a count and the index at each level; the single byte 0 is the first message. Raises Undecodable.
    """
    count, position = wire.varint(data, start, len(data))
    count = wire.signed(count)
    if count == 0:
        return (0,), position
    if not 0 < count <= MAX_INDEXES:
        raise Undecodable(f"the message has {count} indexes", start)
    found = []
    for _ in range(count):
        index, position = wire.varint(data, position, len(data))
        found.append(wire.signed(index))
    return tuple(found), position


def named_type(file: FileDescriptor, data: bytes, start: int) -> tuple[Descriptor, int]:
    """Return the message that Apicurio's serializer names, and the position after the name. Raises Undecodable.

    It writes a length, and a message with the name as its field 1. Without a name it is the first message of the file.
    """
    length, begin = wire.varint(data, start, len(data))
    end = begin + length
    if end > len(data):
        raise Undecodable("the bytes end within the name of the message", start)
    names = [data[field.inner : field.inner_end] for field in wire.fields(data, begin, end) if field.number == 1]
    if not names:
        return message_type(file, (0,)), end
    name = names[-1].decode(errors="replace")
    found: Descriptor | None = file.message_types_by_name.get(name)
    if found is None:
        raise Undecodable(f"the schema has no message {name[:100]!r}", start)
    return found, end


def message_type(file: FileDescriptor, indexes: Sequence[int]) -> Descriptor:
    """Return the message at these indexes. Raises Undecodable."""
    within = list(file.message_types_by_name.values())
    found: Descriptor | None = None
    for index in indexes:
        if not 0 <= index < len(within):
            raise Undecodable(f"the schema has no message at index {'.'.join(map(str, indexes))}")
        found = within[index]
        within = list(found.nested_types)
    assert found is not None  # there is always one index
    return found


def read(type_: Descriptor, data: bytes, start: int, rows: FieldRows | None = None) -> tuple[Any, tuple[str, ...]]:
    """Return the JSON value of the message, and notes about unknown fields and missing required ones.

    Raises Undecodable.
    """
    message = parse(type_, data, start)
    try:
        value = json_format.MessageToDict(
            message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
        )
    except (json_format.Error, TypeError, ValueError) as error:
        raise Undecodable(f"{type_.full_name} has no JSON form: {_first_line(error)}") from None
    if rows is not None:
        add_rows(rows, type_, value, data, (start, len(data)))
    unknown = sorted(set(unknown_paths(message)))
    notes = [f"The schema does not know {_listed(unknown)}. An edit keeps them."] if unknown else []
    if missing := message.FindInitializationErrors():
        notes.append(f"Required but missing: {_listed(missing)}. An edit must add them.")
    return value, tuple(notes)


def write(type_: Descriptor, value: Any, original: tuple[bytes, int] | None = None) -> bytes:
    """Return the bytes of a JSON value. `original` is the message before the edit and where it starts.

    Its unknown fields are written again. Raises InvalidValue with every problem.
    """
    problems = _problems(type_, value, "", 0)
    if problems:
        raise InvalidValue(problems)
    message = GetMessageClass(type_)()
    try:
        json_format.ParseDict(value, message)
        if original is not None:
            carry_unknown(parse(type_, *original), message, problems)
        if problems:
            raise InvalidValue(problems)
        return bytes(message.SerializeToString(deterministic=True))
    except (json_format.Error, EncodeError, TypeError, ValueError, Undecodable) as error:
        raise InvalidValue([ValueProblem("", _first_line(error))]) from None


def parse(type_: Descriptor, data: bytes, start: int) -> Message:
    """Return the message in the bytes from `start` on. Raises Undecodable."""
    message = GetMessageClass(type_)()
    try:
        message.ParseFromString(data[start:])
    except (DecodeError, RecursionError):
        for _ in wire.fields(data, start, len(data)):  # it names the broken byte, which protobuf does not
            pass
        raise Undecodable(
            f"the bytes are no {type_.full_name}: a field within it is cut off, too deep or not UTF-8"
        ) from None
    return message


def _problems(type_: Descriptor, value: Any, path: str, depth: int) -> list[ValueProblem]:
    """Return every problem of a message, each found on its own field."""
    if is_well_known(type_):
        return _parse_problem(type_, value, path)
    if not isinstance(value, dict):
        return [ValueProblem(path, f"must be an object of {type_.full_name}")]
    if depth > _MAX_DEPTH:
        return [ValueProblem(path, f"is nested more than {_MAX_DEPTH} levels deep")]
    found = _oneof_problems(type_, value, path)
    for name, item in value.items():
        where = member_path(path, name)
        field = _field_of(type_, name)
        if field is None:
            found.append(ValueProblem(where, f"is not a field of {type_.full_name}"))
        elif item is not None or _takes_null(field):
            found += _field_problems(type_, field, name, item, where, depth)
    for field in type_.fields:
        if field.is_required and value.get(field.name, value.get(field.json_name)) is None:
            what = f"is missing; it is a required {type_label(field)}"
            found.append(ValueProblem(member_path(path, field.name), what))
    return found


def _oneof_problems(type_: Descriptor, value: dict[str, Any], path: str) -> list[ValueProblem]:
    chosen: dict[str, str] = {}
    found = []
    for name, item in value.items():
        field = _field_of(type_, name)
        if field is None or item is None or field.containing_oneof is None:
            continue
        oneof = field.containing_oneof.name
        other = chosen.setdefault(oneof, name)
        if other != name:
            what = f"is set beside {other}; only one of {oneof} may be set"
            found.append(ValueProblem(member_path(path, name), what))
    return found


def _takes_null(field: FieldDescriptor) -> bool:
    """Return whether null is a value of the field; for others it means "not set"."""
    return field.message_type is not None and field.message_type.full_name == "google.protobuf.Value"


def _field_problems(
    type_: Descriptor, field: FieldDescriptor, name: str, item: Any, path: str, depth: int
) -> list[ValueProblem]:
    if is_map(field):
        if not isinstance(item, dict):
            return [ValueProblem(path, f"must be an object; it is a {type_label(field)}")]
        parts: list[tuple[str, Any, Any]] = [(member_path(path, key), {key: one}, one) for key, one in item.items()]
        inner = field.message_type.fields_by_name["value"].message_type
    elif field.is_repeated:
        if not isinstance(item, list):
            return [ValueProblem(path, f"must be a list; it is a {type_label(field)}")]
        parts = [(f"{path}[{index}]", [one], one) for index, one in enumerate(item)]
        inner = field.message_type
    else:
        parts, inner = [(path, item, item)], field.message_type
    found = []
    for where, single, one in parts:
        if inner is not None and isinstance(one, dict) and not is_well_known(inner):
            found += _problems(inner, one, where, depth + 1)
        elif _is_bytes(field) and not _is_base64(one):
            found.append(ValueProblem(where, "is not base64"))
        else:
            found += _parse_problem(type_, {name: single}, where)
    return found


def _is_bytes(field: FieldDescriptor) -> bool:
    value = field.message_type.fields_by_name["value"] if is_map(field) else field
    return bool(value.type == FieldDescriptor.TYPE_BYTES)


def _is_base64(value: Any) -> bool:
    """Return whether the value is base64 of either alphabet. protobuf's own parser skips other characters."""
    return isinstance(value, str) and len(value) % 4 != 1 and _BASE64.fullmatch(value) is not None


def _parse_problem(type_: Descriptor, value: Any, path: str) -> list[ValueProblem]:
    try:
        json_format.ParseDict(value, GetMessageClass(type_)())
    except (json_format.Error, TypeError, ValueError, AttributeError, RecursionError) as error:
        return [ValueProblem(path, _reason(error))]
    return []


def _field_of(type_: Descriptor, name: str) -> FieldDescriptor | None:
    if name.startswith("["):
        return next((field for field in extensions(type_) if json_name(field) == name), None)
    by_name: Mapping[str, FieldDescriptor] = type_.fields_by_name
    return (
        by_name.get(name)
        or type_.fields_by_camelcase_name.get(name)
        or next((field for field in type_.fields if field.json_name == name), None)
    )


def _reason(error: Exception) -> str:
    """Return protobuf's reason without its own path, which is relative to one field."""
    text = _first_line(error)
    return text.rpartition(" field: ")[2] if text.startswith("Failed to parse") else text


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0][:300].rstrip(".") if str(error).strip() else type(error).__name__


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
