"""Avro as Confluent's `AvroData` converts it, case by case."""

from __future__ import annotations

import io
import json
from datetime import date
from decimal import Decimal
from typing import Any

import fastavro
import pytest
from hypothesis import given
from msgspec.structs import replace

from engine.errors import ConversionError
from engine.record.schema import Field, Schema
from engine.schemas import avro_schema
from engine.steps.registry_converters import avro_compatibility
from engine.steps.registry_converters.avro import AvroConverter
from tests.engine.steps.registry_converters.rig import DATE, DECIMAL, TIMESTAMP, converter, records, struct_of
from tests.support.fake_schema_registry import FakeSchemaRegistry

PREFIX = b"\0\0\0\0\1"
NAMESPACE = "io.confluent.connect.avro"


def written(schema: Schema | None, value: Any, **options: Any) -> tuple[Any, bytes]:
    """Return the registered schema and the bytes after the prefix."""
    registry = FakeSchemaRegistry()
    data = converter(AvroConverter, registry, **options).from_connect("t", schema, value)
    return json.loads(registry.schemas[1].text), data[5:]


def read(avro: Any, payload: bytes, **options: Any) -> tuple[Any, Any]:
    registry = FakeSchemaRegistry()
    registry.add("t-value", "AVRO", json.dumps(avro))
    schema, value = converter(AvroConverter, registry, **options).to_connect("t", PREFIX + payload)
    return schema, value


def read_schema(avro: Any, **options: Any) -> Schema:
    """Return the Connect schema of a type, as that of an item, so that no version is added."""
    schema, _ = read({"type": "map", "values": avro}, b"\0", **options)
    items: Schema = schema.items
    return items


@given(records())
def test_fastavro_reads_the_same_values(row: tuple[Schema, Any]) -> None:
    avro, payload = written(*row, connect__meta__data="false")
    plain = json.loads(json.dumps(avro).replace("logicalType", "ignored"))
    value = fastavro.schemaless_reader(io.BytesIO(payload), plain, None)
    out = io.BytesIO()
    fastavro.schemaless_writer(out, plain, value)
    assert out.getvalue() == payload


@pytest.mark.parametrize(
    ("avro", "connect"),
    [
        ("int", Schema("INT32")),
        ({"type": "int", "connect.type": "int8"}, Schema("INT8")),
        ({"type": "int", "connect.type": "int16"}, Schema("INT16")),
        ({"type": "int", "logicalType": "date"}, DATE),
        ({"type": "long", "logicalType": "timestamp-millis"}, TIMESTAMP),
        ({"type": "long", "logicalType": "timestamp-micros"}, Schema("INT64")),
        ({"type": "string", "logicalType": "uuid"}, Schema("STRING")),
        (["null", "string"], Schema("STRING", optional=True)),
        (["string", "null"], Schema("STRING", optional=True)),
        (["string"], Schema("STRING")),
        ({"type": "array", "items": ["null", "int"]}, Schema("ARRAY", items=Schema("INT32", optional=True))),
        ({"type": "map", "values": "int"}, Schema("MAP", keys=Schema("STRING"), items=Schema("INT32"))),
        (
            {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2},
            replace(DECIMAL, parameters={"scale": "2", "connect.decimal.precision": "9"}),
        ),
        ({"type": "bytes", "logicalType": "decimal", "precision": 64, "scale": 2}, DECIMAL),
        (
            {"type": "fixed", "name": "shop.Code", "size": 4},
            Schema("BYTES", name="shop.Code", parameters={"connect.fixed.size": "4"}),
        ),
        (
            {"type": "enum", "name": "shop.Color", "symbols": ["RED", "BLUE"], "doc": "c"},
            Schema(
                "STRING",
                name="shop.Color",
                parameters={
                    f"{NAMESPACE}.enum.doc.Color": "c",
                    f"{NAMESPACE}.Enum": "shop.Color",
                    f"{NAMESPACE}.Enum.RED": "RED",
                    f"{NAMESPACE}.Enum.BLUE": "BLUE",
                },
            ),
        ),
        (
            ["null", "int", {"type": "record", "name": "shop.A", "fields": []}],
            Schema(
                "STRUCT",
                optional=True,
                name=f"{NAMESPACE}.Union",
                fields=(
                    Field("int", Schema("INT32", optional=True)),
                    Field("A", Schema("STRUCT", optional=True, name="shop.A")),
                ),
            ),
        ),
        (
            {"type": "string", "connect.name": "x.Y", "connect.version": 3, "connect.doc": "d", "connect.default": "e",
             "connect.parameters": {"a": "b"}},
            Schema("STRING", name="x.Y", version=3, doc="d", default="e", parameters={"a": "b"}),
        ),
    ],
)  # fmt: skip
def test_a_type_has_the_connect_schema_of_confluent(avro: Any, connect: Schema) -> None:
    assert read_schema(avro) == connect


def test_the_full_names_of_a_union_need_enhanced_support() -> None:
    two = [{"type": "record", "name": f"{space}.A", "fields": []} for space in ("x", "y")]
    with pytest.raises(ConversionError, match="two types of a union are named A; set enhanced"):
        read(two, b"\0")
    assert [field.name for field in read(two, b"\2", enhanced__avro__schema__support="true")[0].fields] == [
        "x.A",
        "y.A",
    ]


def test_without_meta_data_no_connect_property_is_written_or_read() -> None:
    schema = Schema("STRING", name="x.Y", version=3, doc="d")
    assert written(schema, "x", connect__meta__data="false")[0] == "string"
    avro = {"type": "string", "connect.doc": "d", "connect.parameters": {"a": "b"}}
    assert read(avro, b"\2x", connect__meta__data="false")[0] == Schema("STRING", version=1)


def test_a_field_default_is_kept_and_marked() -> None:
    avro = {"type": "record", "name": "R", "fields": [{"name": "n", "type": "int", "default": 5}]}
    (field,) = read(avro, b"\0")[0].fields
    assert field.schema == Schema("INT32", default=5, parameters={f"{NAMESPACE}.field.default": "true"})


def test_a_union_is_read_and_written_by_its_branch() -> None:
    avro = ["null", "int", "string", {"type": "array", "items": "long"}]
    schema, value = read(avro, b"\4\2x")
    assert value == {"int": None, "string": "x", "array": None}
    again, payload = written(schema, value)
    assert (again[0], payload) == ("null", b"\4\2x")
    assert read(avro, b"\0")[1] is None


def test_an_enum_stays_an_enum_only_with_enhanced_support() -> None:
    avro = {"type": "enum", "name": "shop.Color", "symbols": ["RED", "BLUE"]}
    schema, value = read(avro, b"\2")
    assert value == "BLUE"
    assert written(schema, value)[0]["type"] == "string"
    again, payload = written(schema, value, enhanced__avro__schema__support="true")
    assert (again["type"], again["symbols"], payload) == ("enum", ["RED", "BLUE"], b"\2")


def test_a_fixed_decimal_is_filled_up_with_its_sign() -> None:
    avro = {"type": "fixed", "name": "Money", "size": 4, "logicalType": "decimal", "precision": 9, "scale": 2}
    schema, value = read(avro, (-120).to_bytes(4, "big", signed=True))
    assert value == Decimal("-1.20")
    assert written(schema, value)[1] == b"\xff\xff\xff\x88"


def test_a_map_with_keys_that_are_no_text_is_a_list_of_entries() -> None:
    schema = Schema("MAP", keys=Schema("INT32"), items=Schema("STRING", optional=True))
    avro, payload = written(schema, {1: "x", 2: None})
    assert avro["items"]["name"] == "MapEntry"
    assert read(avro, payload)[1] == {1: "x", 2: None}


def test_values_without_a_schema_carry_their_types() -> None:
    value = {"a": [1, 2.5, "x", True, None, b"z"], "b": {}}
    avro, payload = written(None, value)
    assert avro["name"] == "Anything"
    assert read(avro, payload) == (None, value)


def test_bytes_at_the_top_have_no_length() -> None:
    assert written(Schema("BYTES"), b"abc") == ("bytes", b"abc")
    assert read("bytes", b"abc")[1] == b"abc"


def test_invalid_names_are_told_or_scrubbed() -> None:
    schema = struct_of("my-shop.Order", **{"unit price": Schema("INT32")})
    with pytest.raises(ConversionError, match="the name 'my-shop' is not valid in Avro"):
        written(schema, {"unit price": 1})
    avro, payload = written(schema, {"unit price": 1}, scrub__invalid__names="true")
    assert (avro["namespace"], avro["fields"][0]["name"], payload) == ("my_shop", "unit_price", b"\2")


def test_a_struct_that_occurs_twice_is_defined_once() -> None:
    inner = struct_of("A", x=Schema("INT32"))
    avro, _ = written(struct_of("B", one=inner, two=inner), {"one": {"x": 1}, "two": {"x": 2}})
    assert avro["fields"][1]["type"] == "A"
    other = struct_of("A", y=Schema("INT32"))
    with pytest.raises(ConversionError, match="two different schemas have the name A, which Avro does not allow"):
        written(struct_of("B", one=inner, two=other), {"one": {"x": 1}, "two": {"y": 2}})


def test_null_takes_the_default_unless_it_is_ignored() -> None:
    schema = struct_of("A", x=Schema("INT32", optional=True, default=5))
    assert written(schema, {"x": None})[1] == b"\0\x0a"
    assert written(schema, {"x": None}, ignore__default__for__nullables="true")[1] == b"\2"


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (Schema("INT8"), 200, "the value: '<withheld>' is not a valid INT8: it needs more than 8 bits"),
        (
            struct_of("A", x=Schema("STRING")),
            {"x": 5},
            "the field x: '<withheld>' is not a valid STRING: its type is int",
        ),
        (struct_of("A", x=Schema("STRING")), {}, "the field x is null, but its STRING schema is not optional"),
        (DECIMAL, Decimal("1.234"), "its scale is 3, but the scale of its schema is 2"),
        (DATE, date, "it is not a date"),
        (Schema("STRING"), None, "the value is null, but its STRING schema is not optional"),
    ],
)
def test_a_value_that_does_not_fit_is_told_without_its_content(schema: Schema, value: Any, message: str) -> None:
    with pytest.raises(ConversionError) as raised:
        written(schema, value)
    assert message in str(raised.value)
    assert "200" not in str(raised.value)


@pytest.mark.parametrize(
    ("avro", "payload", "message"),
    [
        ("string", b"\6ab", "the bytes end within the value, at byte 8"),
        ("string", b"\2\xff", "the value is not UTF-8, at byte 6"),
        ("int", b"\xff\xff\xff\xff\x7f", "the value has a number of more than 32 bits"),
        ("boolean", b"\5", "the value is a boolean, but its byte is neither 0 nor 1"),
        ("int", b"\2\2", "1 bytes are left after the value, at byte 6"),
        (["null", "int"], b"\6\2", "the value has branch 3, and the union has 2"),
        ({"type": "array", "items": "int"}, b"\xfe\xff\xff\xff\x0f\2", "a block announces"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, b"\4", "the value has symbol 2, and enum E has 1"),
    ],
)
def test_broken_bytes_are_told_with_the_place(avro: Any, payload: bytes, message: str) -> None:
    with pytest.raises(ConversionError) as raised:
        read(avro, payload)
    assert message in str(raised.value)
    assert "with the Avro schema of id 1" in str(raised.value)


def test_recursive_schemas_and_items_without_bytes_are_refused() -> None:
    node = {"type": "record", "name": "Node", "fields": [{"name": "next", "type": ["null", "Node"]}]}
    with pytest.raises(ConversionError, match="the type Node contains itself"):
        read(node, b"\0")
    empty = {"type": "array", "items": {"type": "record", "name": "Nothing", "fields": []}}
    with pytest.raises(ConversionError, match="the items of the value have no bytes"):
        read(empty, b"\0")


@pytest.mark.parametrize(
    ("reader", "writer", "reason"),
    [
        ('"long"', '"int"', None),
        ('"int"', '"long"', "the value is long, and the schema wants int"),
        ('["null","string"]', '"string"', None),
        ('"string"', '["null","string"]', "the value is null, and the schema wants string"),
        ('{"type":"enum","name":"E","symbols":["A"]}', '{"type":"enum","name":"E","symbols":["A","B"]}',
         "the value has the symbol B, which the schema does not know"),
    ],
)  # fmt: skip
def test_schema_resolution(reader: str, writer: str, reason: str | None) -> None:
    assert avro_compatibility.incompatibility(avro_schema.parse(reader), avro_schema.parse(writer)) == reason
