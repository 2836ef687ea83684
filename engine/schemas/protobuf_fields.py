"""The rows of a decoded Protobuf message."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor

from engine.schemas import protobuf_wire as wire
from engine.schemas.fields import DecodedField, FieldRows, member_path
from engine.schemas.json_text import dump
from engine.schemas.protobuf_types import extensions, is_map, is_well_known, json_name, type_label


def add_rows(
    rows: FieldRows,
    type_: Descriptor,
    value: Any,
    data: bytes,
    span: tuple[int, int],
    path: str = "",
    depth: int = 0,
) -> None:
    """Add a row for each field in the order of the schema, then for extensions, then for unknown fields."""
    places: dict[int, list[wire.WireField]] = {}
    for found in wire.fields(data, *span):
        places.setdefault(found.number, []).append(found)
    for field in (*type_.fields, *extensions(type_)):
        name, held = json_name(field), places.pop(field.number, [])
        if name in value:
            _add_row(rows, field, value[name], data, held, member_path(path, name), name, depth)
    for number, held in sorted(places.items()):
        label = f"unknown, {wire.WIRE_NAMES[held[0].wire]}"
        text = data[held[0].inner : held[0].inner_end].hex(" ")[:100]
        name = f"field {number}"
        rows.fill(rows.reserve(), DecodedField(member_path(path, name), name, depth, label, text, *_piece(held)))


def _add_row(
    rows: FieldRows,
    field: FieldDescriptor,
    value: Any,
    data: bytes,
    held: list[wire.WireField],
    path: str,
    name: str,
    depth: int,
) -> None:
    row = rows.reserve()
    inner, text = field.message_type, ""
    if isinstance(value, list) and field.is_repeated:
        text = f"{len(value):,} item{'' if len(value) == 1 else 's'}"
        single = held if len(held) == len(value) else []
        for index, item in enumerate(value):
            own = [single[index]] if single else []
            _add_element(rows, field, item, data, own, f"{path}[{index}]", f"[{index}]", depth + 1)
    elif isinstance(value, dict) and is_map(field):
        text = f"{len(value):,} entr{'y' if len(value) == 1 else 'ies'}"
        entry = field.message_type.fields_by_name["value"]
        for key, item in value.items():
            _add_element(rows, entry, item, data, [], member_path(path, key), key, depth + 1)
    elif isinstance(value, dict) and inner is not None and not is_well_known(inner):
        if held:
            add_rows(rows, inner, value, data, (held[-1].inner, held[-1].inner_end), path, depth + 1)
    else:
        text = _shown(field, value)
    rows.fill(
        row,
        DecodedField(
            path, name, depth, type_label(field), text if held or value else f"{text} (not set)", *_piece(held)
        ),
    )


def _add_element(
    rows: FieldRows,
    field: FieldDescriptor,
    value: Any,
    data: bytes,
    held: list[wire.WireField],
    path: str,
    name: str,
    depth: int,
) -> None:
    row, inner, text = rows.reserve(), field.message_type, ""
    if isinstance(value, dict) and inner is not None and not is_well_known(inner):
        if held:
            add_rows(rows, inner, value, data, (held[0].inner, held[0].inner_end), path, depth + 1)
        else:
            text = dump(value)[:200]
    else:
        text = _shown(field, value)
    rows.fill(row, DecodedField(path, name, depth, type_label(field).removeprefix("list of "), text, *_piece(held)))


def _shown(field: FieldDescriptor, value: Any) -> str:
    is_text = field.type in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES)
    return dump(value) if is_text or not isinstance(value, str) else value


def _piece(held: list[wire.WireField]) -> tuple[int | None, int | None]:
    """Return the bytes of the occurrences, if they follow one another."""
    if not held or any(before.end != after.start for before, after in pairwise(held)):
        return None, None
    return held[0].start, held[-1].end
