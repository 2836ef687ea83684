from __future__ import annotations

import io
import json
from typing import Any

import fastavro
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.schemas import avro_reader, avro_schema, avro_writer, json_text
from engine.schemas.fields import MAX_ROWS, FieldRows
from engine.schemas.problems import InvalidValue, Undecodable, UnusableSchema
from tests.engine.schemas.avro_strategies import Drawn, encode, long, schemas

pytestmark = pytest.mark.unit

ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "com.shop.orders",
    "fields": [
        {"name": "orderId", "type": "string"},
        {"name": "customerId", "type": "long"},
        {"name": "placedAt", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "currency", "type": {"type": "enum", "name": "Currency", "symbols": ["EUR", "USD"]}},
        {
            "name": "shipTo",
            "type": {"type": "record", "name": "Address", "fields": [{"name": "city", "type": "string"}]},
        },
        {"name": "lines", "type": {"type": "array", "items": "int"}},
        {
            "name": "total",
            "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}],
            "default": None,
        },
        {"name": "coupon", "type": ["null", "string"], "default": None},
    ],
}
ORDER_JSON = {
    "orderId": "o-1",
    "customerId": 9007199254740993,
    "placedAt": "2026-11-23T08:58:03.398Z",
    "currency": "EUR",
    "shipTo": {"city": "Köln"},
    "lines": [1, 2],
    "total": "44.80",
    "coupon": None,
}


def node(schema: Any) -> avro_schema.AvroNode:
    return avro_schema.parse(json.dumps(schema))


def refused(schema: Any, value: Any) -> list[tuple[str, str]]:
    with pytest.raises(InvalidValue) as caught:
        avro_writer.write(node(schema), json_text.parse(json.dumps(value)))
    return [(one.path, one.message) for one in caught.value.problems]


@settings(max_examples=400, deadline=None)
@given(st.data(), schemas())
def test_decoding_and_encoding_any_value_of_any_schema_returns_its_bytes(data: st.DataObject, drawn: Drawn) -> None:
    schema, values = drawn
    encoded = encode(schema, data.draw(values))
    parsed = node(schema)
    text = json_text.dump(avro_reader.read(parsed, encoded))
    again = avro_writer.write(parsed, json_text.parse(text))
    assert _without_nan_bits(parsed, again) == _without_nan_bits(parsed, encoded)


def _without_nan_bits(parsed: avro_schema.AvroNode, encoded: bytes) -> str:
    """Return the value as text: a NaN has many bit patterns, and JSON knows one."""
    text = json_text.dump(avro_reader.read(parsed, encoded))
    return text if "NaN" in text else encoded.hex()


def test_what_we_write_fastavro_reads() -> None:
    encoded = avro_writer.write(node(ORDER), ORDER_JSON)
    read = fastavro.schemaless_reader(io.BytesIO(encoded), fastavro.parse_schema(ORDER), None)
    assert (read["orderId"], read["customerId"], str(read["total"])) == ("o-1", 9007199254740993, "44.80")  # type: ignore[call-overload, index]  # decoded JSON


def test_a_value_is_shown_with_the_type_and_bytes_of_each_field() -> None:
    rows = FieldRows()
    encoded = avro_writer.write(node(ORDER), ORDER_JSON)
    assert avro_reader.read(node(ORDER), bytes(5) + encoded, 5, rows=rows) == ORDER_JSON
    shown = [(row.path, row.type, row.text, row.start, row.end) for row in rows.all()]
    assert shown[0] == ("orderId", "string", '"o-1"', 5, 9)
    assert shown[2] == ("placedAt", "timestamp-millis", "2026-11-23T08:58:03.398Z", 17, 23)
    assert shown[4:7] == [
        ("shipTo", "record Address", "", 24, 30),
        ("shipTo.city", "string", '"Köln"', 24, 30),
        ("lines", "array of int", "2 items", 30, 34),
    ]
    assert ("total", "null or decimal(10,2)", "44.80") in [row[:3] for row in shown]


def test_a_branch_is_named_only_where_json_does_not_tell_it() -> None:
    plain, tagged = node(["null", "string", "double"]), node(["int", "long", "string", "bytes"])
    assert avro_reader.read(plain, long(2) + encode("double", 1.5)) == 1.5
    assert avro_reader.read(plain, long(2) + encode("double", float("nan"))) == {"double": "NaN"}
    assert avro_reader.read(tagged, long(1) + long(7)) == {"long": 7}
    assert avro_reader.read(tagged, long(2) + encode("string", "a")) == {"string": "a"}
    assert avro_writer.write(tagged, "a") == long(2) + encode("string", "a")


def test_a_missing_field_takes_its_default_and_every_other_problem_is_found_at_its_path() -> None:
    value = {
        **ORDER_JSON,
        "customerId": "7",
        "currency": "GBP",
        "shipTo": {"town": "Köln"},
        "lines": [1, 2.5],
        "total": "1.005",
    }
    del value["coupon"]
    assert refused(ORDER, value) == [
        ("customerId", "is the text '7'; the schema wants long"),
        ("currency", "the text 'GBP' is not a symbol of enum Currency: EUR, USD"),
        ("shipTo.town", "is not a field of record Address"),
        ("shipTo.city", "is missing, and the schema has no default; it is string"),
        ("lines[1]", "is the number 2.5; the schema wants int"),
        ("total", "the text '1.005' has more than 2 decimal places"),
    ]


@pytest.mark.parametrize(
    ("schema", "default", "expected"),
    [
        ("bytes", "ÿ", long(1) + b"\xff"),
        ({"type": "bytes", "logicalType": "decimal", "precision": 4, "scale": 2}, "\u0001,", long(2) + b"\x01\x2c"),
        ({"type": "int", "logicalType": "date"}, 1, long(1)),
        (["string", "null"], "a", long(0) + encode("string", "a")),
        ({"type": "map", "values": "int"}, {"a": 1}, long(1) + encode("string", "a") + long(1) + b"\0"),
    ],
)
def test_defaults_of_the_schema_are_written(schema: Any, default: Any, expected: bytes) -> None:
    record = {"type": "record", "name": "R", "fields": [{"name": "f", "type": schema, "default": default}]}
    assert avro_writer.write(node(record), {}) == expected


@pytest.mark.parametrize(
    ("schema", "value", "problem"),
    [
        ("int", 2**31, "the number 2147483648 does not fit into 32 bits"),
        ("float", 1e300, "the number 1E+300 does not fit into a float"),
        ("boolean", 1, "is the number 1; the schema wants boolean"),
        ("bytes", "ü", "the text 'ü' is not base64"),
        (
            {"type": "int", "logicalType": "date"},
            "23.11.2026",
            "the text '23.11.2026' is not a date; write one like \"2026-11-23\"",
        ),
        (
            {"type": "int", "logicalType": "time-millis"},
            "25:00:00",
            "the text '25:00:00' has no such hour, minute or second",
        ),
        (
            {"type": "string", "logicalType": "uuid"},
            "x",
            "the text 'x' is not a UUID; write one like \"123e4567-e89b-12d3-a456-426614174000\"",
        ),
        (["null", "string"], 5, "is the number 5; the schema wants null or string"),
    ],
)
def test_a_wrong_value_is_refused_with_a_reason(schema: Any, value: Any, problem: str) -> None:
    assert refused(schema, value) == [("", problem)]


@pytest.mark.parametrize(
    ("schema", "data", "reason"),
    [
        ("string", long(5) + b"ab", "the bytes end within the value, which is string, at byte 3"),
        ("string", long(1) + b"\xff", "the value is not UTF-8: invalid start byte, at byte 1"),
        ("string", long(-1), "a length is -1, at byte 1"),
        ("boolean", b"\2", "the value is a boolean, and byte 0x02 is neither 0 nor 1, at byte 0"),
        ("int", long(2**40), "the value has a number of more than 32 bits, at byte 6"),
        (["null"], long(1), "the value has branch 1, and the union has 1, at byte 0"),
        (["null"], b"", "the bytes end before the value, at byte 0"),
        ("null", b"xy", "2 bytes are left after the last field, at byte 0"),
        (
            {"type": "array", "items": "null"},
            long(2**62),
            "a block announces 4,611,686,018,427,387,904 values, at byte 10",
        ),
        (
            {"type": "map", "values": "null"},
            long(2) + encode("string", "a") * 2,
            "the value has the key 'a' twice, at byte 5",
        ),
    ],
)
def test_bytes_that_do_not_fit_are_refused_with_a_sentence(schema: Any, data: bytes, reason: str) -> None:
    with pytest.raises(Undecodable) as caught:
        avro_reader.read(node(schema), data)
    assert str(caught.value) == reason


def test_a_bomb_of_depth_is_refused() -> None:
    chain = node({"type": "record", "name": "N", "fields": [{"name": "n", "type": ["null", "N"]}]})
    with pytest.raises(Undecodable, match="nested more than 64 levels deep"):
        avro_reader.read(chain, b"\x02" * 20_000 + b"\x00")


def test_a_bomb_of_values_without_bytes_is_refused() -> None:
    blocks = (long(900_000)) * 2 + b"\0"
    with pytest.raises(Undecodable, match="more than 1,000,000 values"):
        avro_reader.read(node({"type": "array", "items": "null"}), blocks)


def test_the_table_of_fields_ends_at_its_limit() -> None:
    rows = FieldRows()
    many = long(MAX_ROWS + 5) + b"\2" * (MAX_ROWS + 5) + b"\0"
    avro_reader.read(
        node({"type": "record", "name": "R", "fields": [{"name": "a", "type": {"type": "array", "items": "int"}}]}),
        many,
        rows=rows,
    )
    assert (len(rows.all()), rows.is_cut) == (MAX_ROWS, True)


def test_a_schema_refers_to_types_of_other_schemas() -> None:
    address = json.dumps(ORDER["fields"][4]["type"] | {"namespace": "com.shop"})  # type: ignore[index]  # a schema in JSON
    order = {"type": "record", "name": "O", "fields": [{"name": "a", "type": "com.shop.Address"}]}
    parsed = avro_schema.parse(json.dumps(order), [address])
    assert avro_reader.read(parsed, encode("string", "Köln")) == {"a": {"city": "Köln"}}
    with pytest.raises(UnusableSchema, match=r"refers to com\.shop\.Address, which it does not define"):
        avro_schema.parse(json.dumps(order))


@pytest.mark.parametrize("given", ["0e999999999", "1e999999999", "1e-999999999", "1" * 5000])
def test_a_decimal_of_too_many_digits_is_refused_before_it_is_written_out(given: str) -> None:
    decimal = node({"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2})
    with pytest.raises(InvalidValue, match="has more than 10 digits"):
        avro_writer.write(decimal, given)
