"""Hypothesis strategies: JSON Schemas, values that fit them, and values that do not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import Any, NamedTuple

from hypothesis import strategies as st

TEXT = st.text(st.characters(codec="utf-8"), max_size=12)
DECIMALS = st.decimals(-(10**18), 10**18, places=4, allow_nan=False)
NOTHING: Any = object()


class DrawnSchema(NamedTuple):
    """A schema, a strategy of values that fit it, and one value that does not, or NOTHING if none is known.

    `members` are those of an object.
    """

    schema: Any
    values: st.SearchStrategy[Any]
    misfit: Any = NOTHING
    members: Mapping[str, Any] = MappingProxyType({})


def schemas() -> st.SearchStrategy[DrawnSchema]:
    """Return a strategy of schemas."""
    return st.recursive(_leaves(), _containers, max_leaves=8)


def objects() -> st.SearchStrategy[DrawnSchema]:
    """Return a strategy of schemas of objects, as most records have."""
    return st.lists(schemas(), min_size=1, max_size=5).map(_object)


def _leaves() -> st.SearchStrategy[DrawnSchema]:
    return st.sampled_from(
        [
            DrawnSchema({"type": "null"}, st.none(), 0),
            DrawnSchema({"type": "boolean"}, st.booleans(), "true"),
            DrawnSchema({"type": "integer"}, st.integers(-(2**70), 2**70), "1"),
            DrawnSchema({"type": "integer", "minimum": -5, "maximum": 2**63}, st.integers(-5, 2**63), -6),
            DrawnSchema({"type": "number"}, st.integers() | DECIMALS, "1.5"),
            DrawnSchema({"type": "string"}, TEXT, 5),
            DrawnSchema({"type": "string", "minLength": 2}, TEXT.filter(lambda text: len(text) > 1), "x"),
            DrawnSchema({"type": "string", "pattern": "^[a-f]+$"}, st.text("abcdef", min_size=1), "xyz"),
            DrawnSchema({"enum": ["EUR", 7, None]}, st.sampled_from(["EUR", 7, None]), "GBP"),
            DrawnSchema({"const": {"a": [1]}}, st.just({"a": [1]}), {"a": [2]}),
            DrawnSchema(True, TEXT | st.integers() | st.none()),
        ]
    )


def _containers(inner: st.SearchStrategy[DrawnSchema]) -> st.SearchStrategy[DrawnSchema]:
    many = st.lists(inner, min_size=1, max_size=4)
    return st.one_of(
        inner.map(lambda one: DrawnSchema({"type": "array", "items": one.schema}, st.lists(one.values, max_size=3), 5)),
        inner.map(
            lambda one: DrawnSchema(
                {"type": "object", "additionalProperties": one.schema},
                st.dictionaries(TEXT, one.values, max_size=3),
                [],
            )
        ),
        many.map(_object),
        many.map(
            lambda some: DrawnSchema({"anyOf": [one.schema for one in some]}, st.one_of([one.values for one in some]))
        ),
    )


def _object(parts: list[DrawnSchema]) -> DrawnSchema:
    """Return an object whose first member is required and whose others may be missing."""
    members = {f"f{index}": one for index, one in enumerate(parts)}
    schema = {
        "type": "object",
        "properties": {name: one.schema for name, one in members.items()},
        "required": ["f0"],
        "additionalProperties": False,
    }
    values = st.fixed_dictionaries(
        {"f0": parts[0].values}, optional={name: one.values for name, one in members.items() if name != "f0"}
    )
    return DrawnSchema(schema, values, {}, members)


def text_of(value: Any) -> str:
    """Return the JSON text of a value, with every digit: an oracle without a line of the product."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(name)}: {text_of(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(text_of, value)) + "]"
    return format(value, "f") if isinstance(value, Decimal) else json.dumps(value)
