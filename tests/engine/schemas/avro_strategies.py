"""Hypothesis strategies: Avro schemas, and values of them in fastavro's Python form."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Callable
from functools import partial
from typing import Any

from hypothesis import strategies as st

Drawn = tuple[Any, st.SearchStrategy[Any]]  # a schema, and values of it

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
LONGS = st.integers(-(2**63), 2**63 - 1)
INTS = st.integers(-(2**31), 2**31 - 1)
FLOATS = st.floats(width=32)
NAMES = (f"n{number}" for number in itertools.count())


def schemas() -> st.SearchStrategy[Drawn]:
    """Return a strategy of schemas with the strategy of their values. Logical types are in their underlying form."""
    return st.recursive(_leaves(), _containers, max_leaves=8)


def _leaves() -> st.SearchStrategy[Drawn]:
    plain: list[Drawn] = [
        ("null", st.none()),
        ("boolean", st.booleans()),
        ("int", INTS),
        ("long", LONGS),
        ("float", FLOATS),
        ("double", st.floats()),
        ("bytes", st.binary(max_size=9)),
        ("string", TEXT),
        ({"type": "int", "logicalType": "date"}, INTS),
        ({"type": "int", "logicalType": "time-millis"}, INTS),
        ({"type": "long", "logicalType": "time-micros"}, LONGS),
        ({"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}, _decimals(10)),
        *(
            ({"type": "long", "logicalType": f"{local}timestamp-{unit}"}, LONGS | st.integers(0, 2**50))
            for local in ("", "local-")
            for unit in ("millis", "micros", "nanos")
        ),
        ({"type": "string", "logicalType": "uuid"}, st.uuids().map(str)),
    ]
    return st.sampled_from(plain) | st.builds(_fixed, st.integers(0, 5)) | st.builds(_enum, st.integers(1, 4))


def _decimals(digits: int) -> st.SearchStrategy[bytes]:
    most = 10**digits - 1
    return st.integers(-most, most).map(
        lambda n: n.to_bytes(((n if n >= 0 else ~n).bit_length() + 8) // 8, "big", signed=True)
    )


def _fixed(size: int) -> Drawn:
    return {"type": "fixed", "name": next(NAMES), "size": size}, st.binary(min_size=size, max_size=size)


def _enum(count: int) -> Drawn:
    symbols = [f"S{number}" for number in range(count)]
    return {"type": "enum", "name": next(NAMES), "symbols": symbols}, st.sampled_from(symbols)


def _containers(inner: st.SearchStrategy[Drawn]) -> st.SearchStrategy[Drawn]:
    many = st.lists(inner, min_size=1, max_size=4)
    makers: list[Callable[[], st.SearchStrategy[Drawn]]] = [
        lambda: inner.map(lambda one: ({"type": "array", "items": one[0]}, st.lists(one[1], max_size=3))),
        lambda: inner.map(lambda one: ({"type": "map", "values": one[0]}, st.dictionaries(TEXT, one[1], max_size=3))),
        lambda: many.map(_record),
        lambda: many.map(_union),
    ]
    return st.one_of([make() for make in makers])


def _record(parts: list[Drawn]) -> Drawn:
    fields = [{"name": f"f{index}", "type": schema} for index, (schema, _) in enumerate(parts)]
    values = st.fixed_dictionaries({f"f{index}": value for index, (_, value) in enumerate(parts)})
    return {"type": "record", "name": next(NAMES), "fields": fields}, values


def _union(parts: list[Drawn]) -> Drawn:
    """Return a union of the parts that may be together: no unions in it, and one branch of each unnamed type."""
    branches: dict[str, Drawn] = {}
    for schema, values in parts:
        if isinstance(schema, list):
            continue
        kind = schema if isinstance(schema, str) else schema.get("name", schema["type"])
        branches.setdefault(kind, (schema, values))
    branches = branches or {"null": ("null", st.none())}
    chosen = st.one_of([values.map(partial(Branch, index)) for index, (_, values) in enumerate(branches.values())])
    return [schema for schema, _ in branches.values()], chosen


class Branch:
    """A value of a union with the index of its branch."""

    def __init__(self, index: int, value: Any) -> None:
        self.index, self.value = index, value

    def __repr__(self) -> str:
        return f"Branch({self.index}, {self.value!r})"


def encode(schema: Any, value: Any) -> bytes:
    """Encode a value plainly, as the specification of Avro says: an oracle without a line of the product."""
    if isinstance(schema, list):
        return long(value.index) + encode(schema[value.index], value.value)
    kind = schema if isinstance(schema, str) else schema["type"]
    if kind in PLAIN:
        return PLAIN[kind](value)
    if kind == "enum":
        return long(schema["symbols"].index(value))
    if kind == "record":
        return b"".join(encode(field["type"], value[field["name"]]) for field in schema["fields"])
    if kind == "array":
        items = [encode(schema["items"], one) for one in value]
    else:
        items = [encode("string", key) + encode(schema["values"], one) for key, one in value.items()]
    return (long(len(items)) if items else b"") + b"".join(items) + b"\0"


def long(number: int) -> bytes:
    """Encode a zig-zag number."""
    number = number * 2 if number >= 0 else -number * 2 - 1
    out = bytearray()
    while number > 127:
        out.append(number % 128 + 128)
        number //= 128
    return bytes([*out, number])


PLAIN: dict[str, Callable[[Any], bytes]] = {
    "null": lambda _: b"",
    "boolean": lambda value: b"\1" if value else b"\0",
    "int": long,
    "long": long,
    "float": lambda value: struct.pack("<f", value),
    "double": lambda value: struct.pack("<d", value),
    "bytes": lambda value: long(len(value)) + value,
    "string": lambda value: long(len(value.encode())) + value.encode(),
    "fixed": bytes,
}
