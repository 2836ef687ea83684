"""Decoders for one schema. They turn matching JSON into Connect data in one pass."""

from __future__ import annotations

from collections.abc import Callable
from types import GenericAlias
from typing import Annotated, Any, NotRequired, TypedDict

import msgspec

from engine.errors import ConversionError
from engine.record.schema import Schema
from engine.steps.converters.json_data import BITS, LOGICAL_TYPES, InexactNumber, Reader, reader
from engine.steps.converters.json_top import can_be_skipped

_LEVELS = 20  # deeper nesting is rare
_FIELDS = 200  # limit: a member out of order is searched among all fields
_PLAIN = {"BOOLEAN": bool, "STRING": str, "BYTES": str, "FLOAT32": float, "FLOAT64": float}
_AS_THEY_ARE = frozenset({"BOOLEAN", "STRING", *BITS})
_REFUSALS = (msgspec.DecodeError, ConversionError, InexactNumber, RecursionError)
_typed_dict: Any = TypedDict
Decode = Callable[[bytes], Any]
# The type to decode JSON as, and the reader that converts it to Connect data if needed.
_Typed = tuple[Any, Reader | None]


class _UntypedSchema(Exception):
    """A schema that no type can express."""


def decoder(schema: Schema, otherwise: Decode, *, replace_null: bool) -> Decode | None:
    """Return the decoder of a payload's bytes, equivalent to `reader`; None for a rare schema.

    Bytes that do not match the schema, or may not match, go to `otherwise`.
    """
    try:
        kind, finish = _typed(schema, replace_null, _LEVELS)
    except _UntypedSchema:
        return None
    parse, finish = msgspec.json.Decoder(kind).decode, finish or _same

    def decode(payload: bytes) -> Any:
        if can_be_skipped(payload):
            try:
                return finish(parse(payload))
            except _REFUSALS:
                pass  # `otherwise` runs outside the handler, so this is not shown as the cause of its errors
        return otherwise(payload)

    return decode


def _typed(schema: Schema, replace: bool, levels: int) -> _Typed:
    if schema.type in _CONTAINERS:
        if levels == 0 or schema.name in LOGICAL_TYPES or _has_default(schema, replace):
            raise _UntypedSchema
        kind, finish = _CONTAINERS[schema.type](schema, replace, levels - 1)
    else:
        kind, finish = _PLAIN.get(schema.type) or _integer(BITS[schema.type]), _finish(schema, replace)
    return (kind | None if _may_be_null(schema, replace) else kind), finish


def _has_default(schema: Schema, replace: bool) -> bool:
    return schema.default is not None and replace


def _may_be_null(schema: Schema, replace: bool) -> bool:
    return schema.optional or _has_default(schema, replace)


def _integer(bits: int) -> Any:
    half = 1 << (bits - 1)
    return Annotated[int, msgspec.Meta(ge=-half, le=half - 1)]


def _finish(schema: Schema, replace: bool) -> Reader | None:
    if schema.name not in LOGICAL_TYPES and not _has_default(schema, replace):
        if schema.type in _AS_THEY_ARE:
            return None
        if schema.type == "FLOAT64":
            return _unsigned
    return reader(schema, replace_null=replace)


def _same(value: Any) -> Any:
    return value


def _unsigned(value: float | None) -> float | None:
    """Turn minus zero into zero."""
    return 0.0 if value == 0 else value


def _array(schema: Schema, replace: bool, levels: int) -> _Typed:
    assert schema.items is not None
    kind, finish = _typed(schema.items, replace, levels)
    kinds = GenericAlias(list, (kind,))
    if finish is None:
        return kinds, None
    return kinds, lambda held: held if held is None else list(map(finish, held))


def _map(schema: Schema, replace: bool, levels: int) -> _Typed:
    assert schema.keys is not None
    assert schema.items is not None
    if schema.keys.type != "STRING":
        raise _UntypedSchema
    kind, finish = _typed(schema.items, replace, levels)
    kinds = GenericAlias(dict, (str, kind))
    if finish is None:
        return kinds, None
    return kinds, lambda held: held if held is None else {key: finish(item) for key, item in held.items()}


def _struct(schema: Schema, replace: bool, levels: int) -> _Typed:
    names = [field.name for field in schema.fields]
    if len(names) > _FIELDS or not all(map(str.isascii, names)):  # msgspec finds no other names
        raise _UntypedSchema
    kinds, finishes = {}, []
    for field in schema.fields:
        kind, finish = _typed(field.schema, replace, levels)
        kinds[field.name] = NotRequired[kind] if _may_be_null(field.schema, replace) else kind
        finishes.append(finish)
    return _typed_dict("STRUCT", kinds), _finish_fields(names, finishes)


def _finish_fields(names: list[str], finishes: list[Reader | None]) -> Reader:
    rows = list(zip(names, finishes, strict=True))
    floats = [name for name, finish in rows if finish is _unsigned]
    others = [(name, finish) for name, finish in rows if finish is not None and finish is not _unsigned]

    def finish_all(held: dict[str, Any] | None) -> dict[str, Any] | None:
        if held is None:
            return None
        if [*held] != names:  # in the order of the members, without missing ones
            held = {name: held.get(name) for name in names}
        for name in floats:
            part = held[name]
            if not part and part is not None:
                held[name] = 0.0
        for name, finish in others:
            held[name] = finish(held[name])
        return held

    return finish_all


_CONTAINERS: dict[str, Callable[[Schema, bool, int], _Typed]] = {"ARRAY": _array, "MAP": _map, "STRUCT": _struct}
