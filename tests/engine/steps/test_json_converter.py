from __future__ import annotations

import json
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
from tests.engine.steps.json_forms import enveloped, plain, read

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text()
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip
INT32 = Schema("INT32")
MAP_OF_INT8 = {"type": "map", "keys": {"type": "string"}, "values": {"type": "int8"}}


@given(JSON)
def test_plain_json_round_trips_without_a_schema(value: Any) -> None:
    data = plain().from_connect("t", None, value)
    assert plain().to_connect("t", data) == (None, value)


@pytest.mark.parametrize("data", [b'{"a: 10}', b"\xff", b"[1,", b"1x", b"NaN"])
def test_bytes_that_are_no_json_are_a_conversion_error_with_its_cause(data: bytes) -> None:
    with pytest.raises(ConversionError, match="not valid JSON") as caught:
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
    ("kind", "payload", "value"),
    [
        ("boolean", 1, False), ("int8", 128, -128), ("int16", -32769, 32767), ("int32", 2**31, -(2**31)),
        ("int64", 2**63, -(2**63)), ("int64", 2**64, 0), ("int32", "1", 0), ("int32", True, 0), ("int32", -1.5, -1),
        ("int32", [1], 0), ("double", "1", 0.0), ("double", True, 0.0), ("string", 1, None), ("bytes", 1, None),
    ],
)  # fmt: skip
def test_a_payload_of_another_type_is_read_as_kafka_connect_reads_it(kind: str, payload: Any, value: Any) -> None:
    data = json.dumps({"schema": {"type": kind}, "payload": payload}).encode()
    found = enveloped().to_connect("t", data)[1]
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(("kind", "payload"), [("bytes", "%%"), ("bytes", "é"), ("bytes", "MQ"), ("int32", None)])
def test_a_payload_that_can_not_be_read_is_a_conversion_error(kind: str, payload: Any) -> None:
    with pytest.raises(ConversionError):
        read({"type": kind}, payload)


@pytest.mark.parametrize("kind", ["string", "bytes"])
def test_in_a_struct_another_type_than_the_field_has_is_an_error(kind: str) -> None:
    """Outside of one it is null; inside, null is checked."""
    field = {"field": "a", "type": kind}
    with pytest.raises(ConversionError, match="field a"):
        read({"type": "struct", "fields": [field]}, {"a": 1})
    assert read({"type": "struct", "fields": [field | {"optional": True}]}, {"a": 1}) == {"a": None}


@pytest.mark.parametrize("rest", [{"type": "array", "items": {"type": "int8"}}, MAP_OF_INT8])
def test_a_container_that_bears_the_name_of_a_logical_type_is_refused_in_a_struct(rest: dict[str, Any]) -> None:
    field = {"field": "a", "name": "org.apache.kafka.connect.data.Time", **rest}
    with pytest.raises(ConversionError, match=r"field a: the logical type .*Time can't be used"):
        read({"type": "struct", "fields": [field]}, {"a": 1})


def test_numbers_whose_digits_count_are_read_exactly() -> None:
    row = {"type": "bytes", "name": "org.apache.kafka.connect.data.Decimal", "parameters": {"scale": "2"}}
    text = '{"schema":%s,"payload":%s}'
    assert str(enveloped().to_connect("t", (text % (json.dumps(row), "12345678901234567890.10")).encode())[1]) == (
        "12345678901234567890.10"
    )
    int64 = text % ('{"type":"int64"}', "9007199254740993.0")
    assert enveloped().to_connect("t", int64.encode())[1] == 9007199254740993


@pytest.mark.parametrize("payload", ["1e2000000000", "-1e2000000000", "1e400", "1e-2000000000", "0e2000000000"])
def test_an_absurd_exponent_costs_nothing_and_wraps_to_zero(payload: str) -> None:
    text = f'{{"schema":{{"type":"int64"}},"payload":{payload}}}'
    assert enveloped().to_connect("t", text.encode())[1] == 0


@pytest.mark.parametrize(
    ("number", "text"), [("-1.28", "gA=="), ("1.27", "fw=="), ("1.28", "AIA="), ("0.00", "AA=="), ("-327.68", "gAA=")]
)
def test_decimals_are_written_in_as_few_bytes_as_java_takes(number: str, text: str) -> None:
    schema = Schema("BYTES", name="org.apache.kafka.connect.data.Decimal", parameters={"scale": "2"})
    assert plain().from_connect("t", schema, Decimal(number)) == f'"{text}"'.encode()


@pytest.mark.parametrize(
    ("name", "kind", "value"),
    [
        ("Decimal", "BYTES", Decimal("1.5")), ("Decimal", "BYTES", 1), ("Date", "INT32", 1), ("Time", "INT32", 1),
        ("Date", "INT32", datetime(2020, 1, 1, 1, tzinfo=UTC)), ("Timestamp", "INT64", date(2020, 1, 1)),
    ],
)  # fmt: skip
def test_what_a_logical_type_can_not_hold_is_not_written(name: str, kind: str, value: Any) -> None:
    schema = Schema(kind, name=f"org.apache.kafka.connect.data.{name}", parameters={"scale": "2"})
    with pytest.raises(ConversionError, match=name):
        plain().from_connect("t", schema, value)


def test_what_nests_beyond_reason_is_a_conversion_error_when_it_is_written() -> None:
    value: Any = 1
    for _ in range(5000):
        value = [value]
    with pytest.raises(ConversionError, match="nested too deeply"):
        plain().from_connect("t", None, value)


def test_a_float_of_32_bits_is_the_number_with_the_fewest_digits() -> None:
    assert read({"type": "float"}, 0.10000000149) == 0.1
    assert read({"type": "float"}, 1e39) == float("inf")


def test_a_struct_holds_the_fields_of_its_schema() -> None:
    schema = {
        "type": "struct",
        "fields": [{"field": "a", "type": "boolean"}, {"field": "b", "type": "string", "optional": True}],
    }
    assert read(schema, {"a": True, "unknown": 1}) == {"a": True, "b": None}


def test_the_message_names_the_field_that_does_not_fit() -> None:
    schema = {"type": "struct", "fields": [{"field": "a", "type": "array", "items": {"type": "int32"}}]}
    with pytest.raises(ConversionError, match="field a"):
        read(schema, {"a": [None]})


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
