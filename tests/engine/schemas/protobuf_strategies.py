"""Hypothesis strategies: Protobuf messages of one wide type, filled at random."""

from __future__ import annotations

from functools import cache
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass
from hypothesis import strategies as st

from engine.schemas.protobuf_compiler import compile_proto

SCALARS = (
    "double", "float", "int32", "int64", "uint32", "uint64", "sint32", "sint64", "fixed32", "fixed64", "sfixed32",
    "sfixed64", "bool", "string", "bytes", "Kind",
)  # fmt: skip
KEYS = ("int32", "int64", "uint32", "uint64", "bool", "string", "fixed64", "sint64")
LIMITS = {
    "u": {"32": (0, 2**32 - 1), "64": (0, 2**64 - 1)},
    "s": {"32": (-(2**31), 2**31 - 1), "64": (-(2**63), 2**63 - 1)},
}


def _proto() -> str:
    """Return a proto3 file with every scalar as a single, optional, repeated, oneof and map field."""
    lines, number = [], 1
    for scalar in SCALARS:
        name = scalar.lower()
        lines += [f"{scalar} {name}_one = {number};", f"optional {scalar} {name}_maybe = {number + 1};"]
        lines += [f"repeated {scalar} {name}_many = {number + 2};"]
        number += 3
    for key in KEYS:
        lines += [f"map<{key}, {SCALARS[number % len(SCALARS)]}> {key}_map = {number};"]
        number += 1
    choices = " ".join(f"{scalar} {scalar.lower()}_choice = {number + index};" for index, scalar in enumerate(SCALARS))
    number += len(SCALARS)
    lines += [f"oneof choice {{ {choices} Wide wide_choice = {number}; }}"]
    lines += [f"Wide inner = {number + 1}; repeated Wide list = {number + 2}; map<string, Wide> named = {number + 3};"]
    return 'syntax = "proto3"; enum Kind { A = 0; B = 1; C = -2; } message Wide { ' + "\n".join(lines) + " }"


@cache
def wide() -> Descriptor:
    """Return the type of the messages."""
    return compile_proto(_proto(), {}).message_types_by_name["Wide"]


@st.composite
def any_message(draw: st.DrawFn) -> tuple[Descriptor, Message]:
    """Draw a message and its type."""
    message = GetMessageClass(wide())()
    _fill(draw, message, 0)
    return wide(), message


def _fill(draw: st.DrawFn, message: Any, depth: int) -> None:
    chosen = draw(
        st.lists(st.sampled_from(list(message.DESCRIPTOR.fields)), max_size=6, unique_by=lambda one: one.name)
    )
    for field in chosen:
        held = getattr(message, field.name)
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            entry = field.message_type.fields_by_name
            key = draw(_scalar(entry["key"]))
            if entry["value"].message_type is None:
                held[key] = draw(_scalar(entry["value"]))
            elif depth < 2:
                _fill(draw, held[key], depth + 1)
        elif field.message_type is not None:
            if depth < 2:
                if not field.is_repeated:
                    held.SetInParent()
                _fill(draw, held.add() if field.is_repeated else held, depth + 1)
        elif field.is_repeated:
            held.extend(draw(st.lists(_scalar(field), max_size=3)))
        else:
            setattr(message, field.name, draw(_scalar(field)))


def _scalar(field: FieldDescriptor) -> st.SearchStrategy[Any]:
    if field.enum_type is not None:
        return st.sampled_from([0, 1, -2, 77])  # an open enum holds unknown numbers
    kind = next(
        name[5:].lower()
        for name, value in vars(FieldDescriptor).items()
        if name.startswith("TYPE_") and value == field.type
    )
    if kind in ("double", "float"):
        return st.floats(width=64 if kind == "double" else 32)
    if kind in ("string", "bytes"):
        return st.text(st.characters(codec="utf-8"), max_size=8) if kind == "string" else st.binary(max_size=8)
    if kind == "bool":
        return st.booleans()
    unsigned = kind.startswith(("u", "fixed"))
    bits = int(kind[-2:])
    return st.integers(0, 2**bits - 1) if unsigned else st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
