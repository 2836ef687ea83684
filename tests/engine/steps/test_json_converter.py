from __future__ import annotations

from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ConfigError, ConversionError
from engine.record.schema import Field, Schema
from engine.steps.converters.json import JsonConverter

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
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
INT32 = Schema("INT32")


def plain() -> JsonConverter:
    converter = JsonConverter()
    converter.configure({"schemas.enable": "false"}, is_key=False)
    return converter


def enveloped(**options: str) -> JsonConverter:
    converter = JsonConverter()
    converter.configure({name.replace("_", "."): value for name, value in options.items()}, is_key=False)
    return converter


def read(schema: Any, payload: Any, **options: str) -> Any:
    return enveloped(**options).to_connect("t", orjson.dumps({"schema": schema, "payload": payload}))[1]


@given(JSON)
def test_plain_json_round_trips_without_a_schema(value: Any) -> None:
    data = plain().from_connect("t", None, value)
    assert plain().to_connect("t", data) == (None, value)


@pytest.mark.parametrize("data", [b'{"a: 10}', b"", b"\xff", b"[1,", b'{"a":1}x', b"NaN"])
def test_bytes_that_are_no_json_are_a_conversion_error_with_its_cause(data: bytes) -> None:
    with pytest.raises(ConversionError, match="not JSON") as caught:
        plain().to_connect("t", data)
    assert isinstance(caught.value.__cause__, orjson.JSONDecodeError)


@pytest.mark.parametrize("converter", [plain(), enveloped()])
def test_null_bytes_are_a_tombstone_both_ways(converter: JsonConverter) -> None:
    assert converter.to_connect("t", None) == (None, None)
    assert converter.from_connect("t", None, None) is None


@pytest.mark.parametrize("value", [{"a": 1}, [1], 1, None, {"schema": None}, {"schema": None, "payload": 1, "more": 2}])
def test_an_envelope_has_exactly_schema_and_payload(value: Any) -> None:
    with pytest.raises(ConversionError, match=r"schemas\.enable=false"):
        enveloped().to_connect("t", orjson.dumps(value))


def test_an_envelope_without_a_schema_holds_any_json() -> None:
    data = b'{"schema":null,"payload":{"a":[1,null]}}'
    assert enveloped().to_connect("t", data) == (None, {"a": [1, None]})


@pytest.mark.parametrize(
    ("kind", "payload", "value"),
    [
        ("boolean", True, True),
        ("int8", -128, -128),
        ("int16", 32767, 32767),
        ("int32", 12, 12),
        ("int64", 4398046511104, 4398046511104),
        ("float", 12.5, 12.5),
        ("double", 12.34, 12.34),
        ("bytes", "dGVzdA==", b"test"),
        ("string", "a string", "a string"),
    ],
)
def test_each_primitive_type_is_read_and_written(kind: str, payload: Any, value: Any) -> None:
    data = orjson.dumps({"schema": {"type": kind, "optional": False}, "payload": payload})
    schema, found = enveloped().to_connect("t", data)
    assert (found, type(found)) == (value, type(value))
    assert orjson.loads(enveloped().from_connect("t", schema, found) or b"") == orjson.loads(data)


def test_a_whole_number_of_a_floating_type_is_read_as_a_float() -> None:
    assert isinstance(read({"type": "double"}, 1), float)


@pytest.mark.parametrize(
    ("kind", "payload"),
    [
        ("boolean", 1), ("int8", 128), ("int16", -32769), ("int32", 2**31), ("int64", 2**63), ("int32", "1"),
        ("int32", True), ("int32", 1.5), ("double", "1"), ("double", True), ("string", 1), ("bytes", "%%"),
        ("bytes", 1), ("bytes", "é"), ("int32", None),
    ],
)  # fmt: skip
def test_a_payload_of_another_type_is_a_conversion_error(kind: str, payload: Any) -> None:
    with pytest.raises(ConversionError):
        read({"type": kind}, payload)


def test_a_struct_holds_the_fields_of_its_schema() -> None:
    schema = {
        "type": "struct",
        "fields": [{"field": "a", "type": "boolean"}, {"field": "b", "type": "string", "optional": True}],
    }
    assert read(schema, {"a": True, "unknown": 1}) == {"a": True, "b": None}


def test_the_message_names_the_field_that_does_not_fit() -> None:
    schema = {"type": "struct", "fields": [{"field": "a", "type": "array", "items": {"type": "int32"}}]}
    with pytest.raises(ConversionError, match="field a"):
        read(schema, {"a": ["x"]})


def test_maps_with_other_keys_than_text_are_lists_of_pairs() -> None:
    row = {"type": "map", "keys": {"type": "int32"}, "values": {"type": "int32"}}
    schema, value = enveloped().to_connect("t", orjson.dumps({"schema": row, "payload": [[1, 12], [2, 15]]}))
    assert value == {1: 12, 2: 15}
    written = orjson.loads(enveloped().from_connect("t", schema, value) or b"")
    assert written["payload"] == [[1, 12], [2, 15]]


def test_maps_with_text_keys_are_objects() -> None:
    row = {"type": "map", "keys": {"type": "string"}, "values": {"type": "bytes"}}
    assert read(row, {"k": "dGVzdA=="}) == {"k": b"test"}


def test_null_becomes_the_default_unless_that_is_switched_off() -> None:
    row = {"type": "string", "optional": True, "default": "foo"}
    assert read(row, None) == "foo"
    assert read(row, None, replace_null_with_default="false") is None


def test_a_default_of_bytes_is_bytes() -> None:
    row = {"type": "bytes", "default": "dGVzdA=="}
    schema, value = enveloped().to_connect("t", orjson.dumps({"schema": row, "payload": None}))
    assert value == b"test"
    written = orjson.loads(enveloped().from_connect("t", schema, value) or b"")
    assert written["schema"]["default"] == "dGVzdA=="


@pytest.mark.parametrize(
    ("row", "payload", "value"),
    [
        ({"type": "bytes", "name": "Decimal", "parameters": {"scale": "2"}}, "AJw=", Decimal("1.56")),
        ({"type": "int32", "name": "Date"}, 10000, date(1997, 5, 19)),
        ({"type": "int64", "name": "Timestamp"}, 1526518715403, datetime(2018, 5, 17, 0, 58, 35, 403000, UTC)),
    ],
)
def test_logical_types_are_read_and_written(row: dict[str, Any], payload: Any, value: Any) -> None:
    row = row | {"name": f"org.apache.kafka.connect.data.{row['name']}"}
    schema, found = enveloped().to_connect("t", orjson.dumps({"schema": row, "payload": payload}))
    assert found == value
    assert orjson.loads(enveloped().from_connect("t", schema, found) or b"")["payload"] == payload


def test_decimals_are_written_as_numbers_when_asked() -> None:
    schema = Schema("BYTES", name="org.apache.kafka.connect.data.Decimal", parameters={"scale": "2"})
    data = enveloped(decimal_format="NUMERIC").from_connect("t", schema, Decimal("1.56"))
    assert orjson.loads(data or b"")["payload"] == 1.56


@pytest.mark.parametrize("name", ["name", "version", "doc", "parameters"])
def test_what_a_schema_says_of_itself_in_another_type_counts_as_not_said(name: str) -> None:
    row = {"type": "int8", name: [1]}
    schema, found = enveloped().to_connect("t", orjson.dumps({"schema": row, "payload": 5}))
    assert (schema, found) == (Schema("INT8"), 5)


@given(SHAPES, SHAPES)
def test_no_envelope_at_all_raises_anything_but_a_conversion_error(schema: Any, payload: Any) -> None:
    with suppress(ConversionError):
        read(schema, payload)


@pytest.mark.parametrize("value", ["1", {"a": 1}, 1.5, None, b"1"])
def test_a_value_that_is_not_of_its_schema_is_not_written(value: Any) -> None:
    with pytest.raises(ConversionError):
        enveloped().from_connect("t", INT32, value)


def test_a_struct_is_written_with_its_schema() -> None:
    schema = Schema("STRUCT", fields=(Field("a", INT32), Field("b", Schema("ARRAY", items=Schema("STRING")))))
    written = orjson.loads(enveloped().from_connect("t", schema, {"a": 1, "b": ["x"]}) or b"")
    assert written["payload"] == {"a": 1, "b": ["x"]}
    assert [field["field"] for field in written["schema"]["fields"]] == ["a", "b"]


def test_what_json_can_not_hold_is_a_conversion_error() -> None:
    with pytest.raises(ConversionError, match="JSON"):
        plain().from_connect("t", None, {"a": object()})


def test_bytes_without_a_schema_are_written_as_base64() -> None:
    assert plain().from_connect("t", None, {"a": b"test"}) == b'{"a":"dGVzdA=="}'


def test_an_unknown_option_is_a_config_error() -> None:
    with pytest.raises(ConfigError, match=r"did you mean schemas\.enable"):
        JsonConverter().configure({"schema.enable": "false"}, is_key=False)
