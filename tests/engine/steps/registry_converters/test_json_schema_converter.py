"""JSON with a schema as Confluent's `JsonSchemaData` converts it, case by case."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from msgspec.structs import replace

from engine.errors import ConversionError
from engine.record.schema import Field, Schema
from engine.steps.registry_converters.json_schema import JsonSchemaConverter
from tests.engine.steps.registry_converters.rig import DECIMAL, converter, struct_of
from tests.support.fake_schema_registry import FakeSchemaRegistry

PREFIX = b"\0\0\0\0\1"
NAMESPACE = "io.confluent.connect.json"


def read(row: Any, value: Any, **options: Any) -> tuple[Schema, Any]:
    registry = FakeSchemaRegistry()
    registry.add("t-value", "JSON", json.dumps(row))
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    found: tuple[Schema, Any] = converter(JsonSchemaConverter, registry, **options).to_connect("t", PREFIX + text)
    return found


def written(schema: Schema | None, value: Any, **options: Any) -> tuple[Any, Any]:
    registry = FakeSchemaRegistry()
    data = converter(JsonSchemaConverter, registry, **options).from_connect("t", schema, value)
    return json.loads(registry.schemas[1].text), json.loads(data[5:])


def read_schema(row: Any, **options: Any) -> Schema:
    """Return the Connect schema of a type, as that of an item, so that no version is added."""
    items = read({"type": "array", "items": row}, [], **options)[0].items
    assert items is not None
    return items


@pytest.mark.parametrize(
    ("row", "connect"),
    [
        ({"type": "integer"}, Schema("INT64")),
        ({"type": "integer", "connect.type": "int8"}, Schema("INT8")),
        ({"type": "number"}, Schema("FLOAT64")),
        ({"type": "number", "connect.type": "float32"}, Schema("FLOAT32")),
        ({"type": "string"}, Schema("STRING")),
        ({"type": "string", "connect.type": "bytes"}, Schema("BYTES")),
        ({"type": "boolean", "title": "T", "description": "d"}, Schema("BOOLEAN", name="T", doc="d")),
        ({"oneOf": [{"type": "null"}, {"type": "string"}]}, Schema("STRING", optional=True)),
        ({"type": ["null", "string"]}, Schema("STRING", optional=True)),
        ({"type": "array", "items": {"type": "integer"}}, Schema("ARRAY", items=Schema("INT64"))),
        (
            {"type": "object", "connect.type": "map", "additionalProperties": {"type": "integer"}},
            Schema("MAP", keys=Schema("STRING"), items=Schema("INT64")),
        ),
        (
            {"enum": ["a", None]},
            Schema(
                "STRING",
                parameters={
                    f"{NAMESPACE}.Enum": "",
                    f"{NAMESPACE}.Enum.a": "a",
                    f"{NAMESPACE}.Enum.<NULL>": "<NULL>",
                },
            ),
        ),
        ({"type": "string", "const": "a"}, Schema("STRING")),
        ({"type": "integer", "default": 5}, Schema("INT64", default=5)),
        (
            {"oneOf": [{"type": "string"}, {"type": "integer"}]},
            Schema(
                "STRUCT",
                name=f"{NAMESPACE}.OneOf",
                fields=(
                    Field(f"{NAMESPACE}.OneOf.field.0", Schema("STRING", optional=True)),
                    Field(f"{NAMESPACE}.OneOf.field.1", Schema("INT64", optional=True)),
                ),
            ),
        ),
        (
            {"allOf": [{"properties": {"a": {"type": "string"}}}, {"properties": {"b": {"type": "integer"}}}]},
            struct_of(None, a=Schema("STRING"), b=Schema("INT64")),
        ),
    ],
)
def test_a_type_has_the_connect_schema_of_confluent(row: Any, connect: Schema) -> None:
    assert read_schema(row) == connect


def test_properties_have_the_order_of_connect_index() -> None:
    row = {"type": "object", "properties": {"b": {"type": "integer", "connect.index": 1},
                                            "a": {"type": "integer", "connect.index": 0}}}  # fmt: skip
    assert [field.name for field in read(row, {})[0].fields] == ["a", "b"]


def test_properties_that_are_not_required_are_optional_if_asked() -> None:
    row = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "required": ["a"]}
    schema, value = read(row, {"a": "x"}, use__optional__for__nonrequired="true")
    assert [field.schema.optional for field in schema.fields] == [False, True]
    assert value == {"a": "x", "b": None}


def test_a_reference_is_followed_and_a_recursive_one_refused() -> None:
    row = {
        "type": "object",
        "properties": {"a": {"$ref": "#/definitions/A"}},
        "definitions": {"A": {"type": "integer"}},
    }
    assert read(row, {"a": 5})[1] == {"a": 5}
    with pytest.raises(ConversionError, match="an object contains itself"):
        read({"type": "object", "properties": {"a": {"$ref": "#"}}}, {})
    with pytest.raises(ConversionError, match="refers to '#/definitions/B', which it does not define"):
        read({"type": "array", "items": {"$ref": "#/definitions/B"}}, [])


def test_a_one_of_is_read_by_the_type_that_fits_and_written_as_its_value() -> None:
    known, other = ({"type": "object", "properties": {name: {"type": "integer"}}} for name in ("a", "b"))
    schema, value = read({"oneOf": [{"type": "string"}, known, other]}, {"b": 1})
    assert list(value.values()) == [None, None, {"b": 1}]
    assert written(schema, value)[1] == {"b": 1}
    with pytest.raises(ConversionError, match="the value fits no type of the oneOf"):
        read({"oneOf": [{"type": "string"}, known]}, 5)


def test_a_map_with_keys_that_are_no_text_is_a_list_of_objects() -> None:
    schema = Schema("MAP", keys=Schema("INT32"), items=Schema("STRING"))
    row, value = written(schema, {1: "x"})
    assert (row["connect.type"], value) == ("map", [{"key": 1, "value": "x"}])
    assert read(row, value)[1] == {1: "x"}


def test_decimals_are_base64_or_numbers() -> None:
    assert written(DECIMAL, Decimal("1.20")) == (
        {"type": "string", "connect.type": "bytes", "title": DECIMAL.name, "connect.version": 1,
         "connect.parameters": {"scale": "2"}},
        "eA==",
    )  # fmt: skip
    row, value = written(DECIMAL, Decimal("1.20"), decimal__format="numeric")
    assert (row["type"], value) == ("number", 1.2)
    big = b"12345678901234567890.12"
    assert read(row, big)[1] == Decimal(big.decode())


def test_a_member_that_is_missing_takes_the_default_and_null_is_refused() -> None:
    row = {"type": "object", "properties": {"a": {"type": "integer", "default": 5}, "b": {"type": "integer"}}}
    assert read(row, {"b": 1})[1] == {"a": 5, "b": 1}
    assert read(row, {})[1] == {"a": 5, "b": None}
    with pytest.raises(ConversionError, match="field b: the value is null, but its INT64 schema is not optional"):
        read(row, {"b": None})


def test_additional_properties_are_allowed_unless_refused() -> None:
    schema = struct_of("A", a=Schema("INT32"))
    assert "additionalProperties" not in written(schema, {"a": 1})[0]
    assert written(schema, {"a": 1}, object__additional__properties="false")[0]["additionalProperties"] is False


def test_values_are_validated_if_asked() -> None:
    row = {"type": "object", "properties": {"age": {"type": "integer", "minimum": 0}}}
    assert read(row, {"age": -1})[1] == {"age": -1}
    with pytest.raises(ConversionError, match="the value does not fit its JSON Schema at age"):
        read(row, {"age": -1}, json__fail__invalid__schema="true")


def test_a_value_without_a_schema_or_with_any_type_is_refused() -> None:
    with pytest.raises(ConversionError, match="JsonSchemaConverter writes only values with a schema"):
        written(None, 5)
    with pytest.raises(ConversionError, match="a schema that allows any value has no Connect type"):
        read({"type": "array", "items": {}}, [])


def test_null_is_written_as_the_default_or_left_out() -> None:
    schema = struct_of("A", a=Schema("INT32", default=5), b=replace(Schema("INT32"), optional=True), c=Schema("INT32"))
    assert written(schema, {"a": None, "b": None, "c": None})[1] == {"a": 5, "b": None}
