"""Converters with a registry in memory, and strategies of Connect records."""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from engine.record.schema import Field, Schema
from engine.steps.converters.values_as_text import EPOCH
from engine.steps.registry_converters.converter import RegistryConverter
from tests.support.fake_schema_registry import FakeSchemaRegistry

URL = {"schema.registry.url": "http://registry"}
DATA = "org.apache.kafka.connect.data."
DECIMAL = Schema("BYTES", name=f"{DATA}Decimal", version=1, parameters={"scale": "2"})
DATE = Schema("INT32", name=f"{DATA}Date", version=1)
TIME = Schema("INT32", name=f"{DATA}Time", version=1)
TIMESTAMP = Schema("INT64", name=f"{DATA}Timestamp", version=1)


def converter(
    kind: type[RegistryConverter], registry: FakeSchemaRegistry, /, *, is_key: bool = False, **options: Any
) -> Any:
    """Return a configured converter; `__` in the name of an option is a dot."""
    made = kind(lambda _: registry)  # type: ignore[arg-type,return-value] # the fake of the port
    made.configure({**URL, **{name.replace("__", "."): value for name, value in options.items()}}, is_key)
    return made


def struct_of(name: str | None = None, **fields: Schema) -> Schema:
    """Return a STRUCT."""
    return Schema("STRUCT", name=name, fields=tuple(Field(key, schema) for key, schema in fields.items()))


_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
_SCALARS: list[tuple[Schema, st.SearchStrategy[Any]]] = [
    (Schema("INT8"), st.integers(-128, 127)),
    (Schema("INT16"), st.integers(-(2**15), 2**15 - 1)),
    (Schema("INT32"), st.integers(-(2**31), 2**31 - 1)),
    (Schema("INT64"), st.integers(-(2**63), 2**63 - 1)),
    (Schema("FLOAT32"), st.integers(-1000, 1000).map(lambda number: number / 4)),
    (Schema("FLOAT64"), st.floats(allow_nan=False, allow_infinity=False).map(lambda number: number + 0.0)),
    (Schema("BOOLEAN"), st.booleans()),
    (Schema("STRING"), _TEXT),
    (Schema("BYTES"), st.binary(max_size=8)),
    (DECIMAL, st.integers(-(10**20), 10**20).map(lambda number: Decimal(number).scaleb(-2))),
    (DATE, st.dates(date(1, 1, 2), date(9999, 12, 30))),
    (TIME, st.integers(0, 86_399_999).map(lambda ms: (EPOCH + timedelta(milliseconds=ms)).time())),
    (TIMESTAMP, st.integers(-(10**13), 10**14).map(lambda ms: EPOCH + timedelta(milliseconds=ms))),
]


@st.composite
def records(draw: st.DrawFn, *, flat_items: bool = False) -> tuple[Schema, Any]:
    """Draw the schema of a STRUCT and a value.

    With `flat_items`, arrays and maps hold no arrays and maps, which Protobuf does not have, and no nulls.
    """
    count = draw(st.integers(0, 6))
    names = draw(st.lists(st.from_regex(r"[a-z]{3,6}", fullmatch=True), min_size=count, max_size=count, unique=True))
    counter = [0]
    schema = _struct(draw, names, counter, 2, flat=flat_items)
    return schema, draw(_values(schema))


def _struct(draw: st.DrawFn, names: list[str], counter: list[int], depth: int, *, flat: bool) -> Schema:
    counter[0] += 1
    name = f"shop.Record{counter[0]}"
    return struct_of(name, **{one: _schema(draw, counter, depth, flat=flat) for one in names})


def _schema(draw: st.DrawFn, counter: list[int], depth: int, *, flat: bool, inner: bool = False) -> Schema:
    kinds = ["scalar"] * 5
    if depth > 0:
        kinds.append("struct")
        kinds += [] if flat and inner else ["array", "map"]
    kind = draw(st.sampled_from(kinds))
    optional = draw(st.booleans()) and not (flat and inner)
    if kind == "scalar":
        schema, _ = draw(st.sampled_from(_SCALARS))
    elif kind == "struct":
        schema = _struct(draw, ["one", "two"], counter, depth - 1, flat=flat)
    else:
        items = _schema(draw, counter, depth - 1, flat=flat, inner=True)
        schema = Schema("ARRAY", items=items) if kind == "array" else Schema("MAP", keys=Schema("STRING"), items=items)
    return Schema(**{**{name: getattr(schema, name) for name in schema.__struct_fields__}, "optional": optional})


def _values(schema: Schema) -> st.SearchStrategy[Any]:
    if schema.optional:
        return st.none() | _present(schema)
    return _present(schema)


def _present(schema: Schema) -> st.SearchStrategy[Any]:
    for known, strategy in _SCALARS:
        if (known.type, known.name) == (schema.type, schema.name):
            return strategy
    if schema.type == "STRUCT":
        return st.fixed_dictionaries({field.name: _values(field.schema) for field in schema.fields})
    assert schema.items is not None
    if schema.type == "ARRAY":
        return st.lists(_values(schema.items), max_size=3)
    return st.dictionaries(_TEXT, _values(schema.items), max_size=3)
