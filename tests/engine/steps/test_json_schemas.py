"""Schemas as the JSON converter reads and writes them."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ConversionError
from engine.record.schema import Schema
from tests.engine.steps.json_forms import enveloped, read

SHAPES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3)
    | st.sampled_from(["struct", "map", "int8", "bytes"]),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(
        st.sampled_from(["type", "fields", "field", "items", "keys", "values", "optional", "default", "name"]),
        inner,
        max_size=5,
    ),
    max_leaves=12,
)  # fmt: skip
DECIMAL = "org.apache.kafka.connect.data.Decimal"
SCHEMAS_WRITTEN = [
    (
        {"type": "struct", "fields": [{"field": "a", "type": "int8", "optional": True}]},
        {},
        '"type":"struct","fields":[{"type":"int8","optional":true,"field":"a"}],"optional":false',
    ),
    (
        {"type": "map", "values": {"type": "float"}, "keys": {"type": "int8"}},
        [],
        '"type":"map","keys":{"type":"int8","optional":false},"values":{"type":"float","optional":false},"optional":false',
    ),
    (
        {"parameters": {"scale": "2"}, "name": DECIMAL, "doc": "d", "version": 2, "default": "AJw=", "type": "bytes"},
        "AJw=",
        (
            f'"type":"bytes","optional":false,"name":"{DECIMAL}","version":2,"doc":"d","parameters":{{"scale":"2"}},'
            '"default":"AJw="'
        ),
    ),
]


@pytest.mark.parametrize(("row", "payload", "text"), SCHEMAS_WRITTEN)
def test_a_schema_is_written_to_the_byte_as_kafka_connect_writes_it(row: Any, payload: Any, text: str) -> None:
    one = enveloped()
    written = one.from_connect("t", *one.to_connect("t", orjson.dumps({"schema": row, "payload": payload})))
    assert (written or b"").startswith(f'{{"schema":{{{text}}},"payload":'.encode())


@pytest.mark.parametrize(
    "row",
    [
        {"type": "array", "items": None}, {"type": "map", "keys": {"type": "string"}},
        {"type": "map", "keys": None, "values": {"type": "string"}}, {"type": "struct", "fields": {}},
        {"type": "struct", "fields": [None]}, {"type": "struct", "fields": [{"field": 1, "type": "int8"}]},
        {"type": "struct", "fields": [{"field": "a", "type": "int8"}, {"field": "a", "type": "int8"}]},
        {"type": "struct", "fields": [{"field": "a", "type": "int8"}], "default": {"a": 1}},
        {"type": "int8", "parameters": {"a": 1}}, {"type": "int8", "default": None}, {"type": "string", "default": 1},
        {"type": 1}, {}, [], "int8", 1,
    ],
)  # fmt: skip
def test_a_schema_that_kafka_connect_refuses_is_refused(row: Any) -> None:
    with pytest.raises(ConversionError):
        read(row, {})


@pytest.mark.parametrize("size", [0, 1, 1000])
def test_the_schema_cache_changes_no_result(size: int) -> None:
    one = enveloped(schemas_cache_size=str(size))
    for kind in ("int8", "int16", "int8"):
        data = orjson.dumps({"schema": {"type": kind, "optional": False}, "payload": 1})
        assert one.from_connect("t", *one.to_connect("t", data)) == data


def test_a_schema_without_the_type_of_its_items_is_written_and_one_without_that_of_its_keys_is_not() -> None:
    """As SimpleHeaderConverter infers them for `[]`, `{"a":null}` and `{}`."""
    array = enveloped().from_connect("t", Schema("ARRAY"), [1, "a"])
    assert array == b'{"schema":{"type":"array","items":null,"optional":false},"payload":[1,"a"]}'
    held = enveloped().from_connect("t", Schema("MAP", keys=Schema("STRING")), {"a": None})
    assert orjson.loads(held or b"")["schema"]["values"] is None
    with pytest.raises(ConversionError):
        enveloped().from_connect("t", Schema("MAP"), {})


@pytest.mark.parametrize("name", ["name", "version", "doc", "parameters"])
def test_what_a_schema_says_of_itself_in_another_type_counts_as_not_said(name: str) -> None:
    row = {"type": "int8", name: [1]}
    schema, found = enveloped().to_connect("t", orjson.dumps({"schema": row, "payload": 5}))
    assert (schema, found) == (Schema("INT8"), 5)


@pytest.mark.slow
@given(SHAPES, SHAPES)
def test_no_envelope_at_all_raises_anything_but_a_conversion_error(schema: Any, payload: Any) -> None:
    with suppress(ConversionError):
        read(schema, payload)
