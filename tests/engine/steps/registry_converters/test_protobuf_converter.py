"""Protobuf as Confluent's `ProtobufData` converts it, case by case."""

from __future__ import annotations

from typing import Any

import pytest

from engine.errors import ConversionError
from engine.record.schema import Field, Schema
from engine.steps.registry_converters.protobuf import ProtobufConverter
from tests.engine.steps.registry_converters.rig import DECIMAL, converter, struct_of
from tests.support.fake_schema_registry import FakeSchemaRegistry

PREFIX = b"\0\0\0\0\1"
NAMESPACE = "io.confluent.connect.protobuf"
TAG = f"{NAMESPACE}.Tag"


def read(proto: str, payload: bytes, indexes: bytes = b"\0", **options: Any) -> tuple[Any, Any]:
    registry = FakeSchemaRegistry()
    registry.add("t-value", "PROTOBUF", f'syntax = "proto3"; package shop; {proto}')
    found: tuple[Any, Any] = converter(ProtobufConverter, registry, **options).to_connect(
        "t", PREFIX + indexes + payload
    )
    return found


def written(schema: Schema, value: Any, **options: Any) -> tuple[str, bytes]:
    registry = FakeSchemaRegistry()
    data = converter(ProtobufConverter, registry, **options).from_connect("t", schema, value)
    return registry.schemas[1].text, data[5:]


def kinds(schema: Schema) -> dict[str, str]:
    return {field.name: f"{field.schema.type}{'?' if field.schema.optional else ''}" for field in schema.fields}


ALL = """message All {
  int32 a = 1; sint32 b = 2; uint32 c = 3; fixed64 d = 4; float e = 5; double f = 6; bool g = 7; string h = 8;
  bytes i = 9; repeated int32 j = 10; map<string, int64> k = 11; optional int32 l = 12;
}"""


def test_each_type_has_its_connect_type() -> None:
    schema, value = read(ALL, b"")
    assert kinds(schema) == {
        "a": "INT32?", "b": "INT32?", "c": "INT64?", "d": "INT64?", "e": "FLOAT32?", "f": "FLOAT64?", "g": "BOOLEAN?",
        "h": "STRING?", "i": "BYTES?", "j": "ARRAY?", "k": "MAP?", "l": "INT32?",
    }  # fmt: skip
    assert (schema.name, schema.version) == ("All", 1)
    assert schema.fields[1].schema.parameters == {f"{NAMESPACE}.Type": "sint32", TAG: "2"}
    assert value == {
        "a": 0, "b": 0, "c": 0, "d": 0, "e": 0.0, "f": 0.0, "g": False, "h": "", "i": b"", "j": [], "k": {}, "l": None,
    }  # fmt: skip


def test_an_unsigned_number_wraps_as_in_java_and_is_written_back() -> None:
    schema, value = read("message A { uint64 a = 1; }", b"\x08" + b"\xff" * 9 + b"\1")
    assert value == {"a": -1}
    assert written(schema, value)[1] == b"\0\x08" + b"\xff" * 9 + b"\1"


def test_a_oneof_is_a_union_with_the_chosen_member() -> None:
    proto = "message A { string id = 1; oneof contact { string mail = 2; int32 phone = 3; } }"
    schema, value = read(proto, b"\x0a\1x\x18\7")
    assert [field.name for field in schema.fields] == ["contact_0", "id"]
    assert schema.fields[0].schema.name == f"{NAMESPACE}.Union.contact"
    assert value == {"contact_0": {"mail": None, "phone": 7}, "id": "x"}
    text, payload = written(schema, value)
    assert "oneof contact" in text
    assert payload == b"\0\x0a\1x\x18\7"
    flat, value = read(proto, b"\x18\7", flatten__unions="true")
    assert (kinds(flat), value) == (
        {"mail": "STRING?", "phone": "INT32?", "id": "STRING?"},
        {"mail": None, "phone": 7, "id": ""},
    )


def test_an_enum_is_text_or_a_number() -> None:
    proto = "message A { enum Color { RED = 0; BLUE = 5; } Color color = 1; }"
    schema, value = read(proto, b"\x08\5")
    assert value == {"color": "BLUE"}
    assert schema.fields[0].schema.parameters == {
        f"{NAMESPACE}.Enum": "Color",
        f"{NAMESPACE}.Enum.RED": "0",
        f"{NAMESPACE}.Enum.BLUE": "5",
        TAG: "1",
    }
    assert written(schema, value)[1] == b"\0\x08\5"
    assert read(proto, b"\x08\5", int__for__enums="true")[1] == {"color": 5}
    assert read(proto, b"\x08\7")[1] == {"color": "UNKNOWN_ENUM_VALUE_Color_7"}
    with pytest.raises(ConversionError, match="is not a symbol of the enum"):
        written(schema, {"color": "GREEN"})


def test_a_nested_message_that_is_not_set_is_null() -> None:
    proto = "message A { message B { int32 x = 1; } B b = 1; }"
    assert read(proto, b"")[1] == {"b": None}
    assert read(proto, b"\x0a\0")[1] == {"b": {"x": 0}}
    assert read(proto, b"", generate__struct__for__nulls="true")[1] == {"b": {"x": 0}}


def test_wrappers_are_nullable_scalars() -> None:
    proto = 'import "google/protobuf/wrappers.proto"; message A { google.protobuf.StringValue a = 1; string b = 2; }'
    schema, value = read(proto, b"\x0a\3\x0a\1x", wrapper__for__nullables="true")
    assert (kinds(schema), value) == ({"a": "STRING?", "b": "STRING"}, {"a": "x", "b": ""})
    assert written(schema, value, wrapper__for__nullables="true")[1] == b"\0\x0a\3\x0a\1x"


def test_the_second_message_of_a_file_is_found_by_its_index() -> None:
    schema, value = read("message A {} message B { int32 x = 1; }", b"\x08\7", indexes=b"\2\2")
    assert (schema.name, value) == ("B", {"x": 7})


def test_a_scalar_at_the_root_is_a_wrapper() -> None:
    text, payload = written(Schema("STRING"), "x")
    assert "package google.protobuf;" in text
    registry = FakeSchemaRegistry()
    registry.add("t-value", "PROTOBUF", text)
    assert payload == b"\2\x0e\x0a\1x"
    schema, value = converter(ProtobufConverter, registry).to_connect("t", PREFIX + payload)
    assert (schema, value) == (Schema("STRING", version=1), "x")


def test_names_have_packages_only_with_enhanced_support() -> None:
    assert read("message A {}", b"", enhanced__protobuf__schema__support="true")[0].name == "shop.A"


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        (None, 5, "ProtobufConverter writes only values with a schema"),
        (Schema("ARRAY", items=Schema("INT32")), [1], "Protobuf has no message for a value that is ARRAY"),
        (struct_of("A", **{"a-b": Schema("INT32")}), {"a-b": 1}, "the name 'a-b' is not valid in Protobuf"),
        (struct_of("A", a=Schema("INT8")), {"a": 500}, "the field a: '<withheld>' needs more than 8 bits"),
        (struct_of("A", a=Schema("INT32")), {"a": True}, "the field a: '<withheld>' is not a valid INT32"),
        (struct_of("A", a=DECIMAL), {"a": 1.5}, "it is not a finite Decimal"),
        (
            struct_of("A", a=Schema("ARRAY", items=Schema("ARRAY", items=Schema("INT32")))),
            {"a": []},
            "the field a is an ARRAY of ARRAY, which Protobuf does not have",
        ),
    ],
)
def test_a_value_that_does_not_fit_is_told(schema: Any, value: Any, message: str) -> None:
    with pytest.raises(ConversionError) as raised:
        written(schema, value)
    assert message in str(raised.value)


def test_recursive_messages_and_broken_bytes_are_told() -> None:
    with pytest.raises(ConversionError, match=r"the message shop\.A contains itself"):
        read("message A { A a = 1; }", b"")
    with pytest.raises(ConversionError, match="can't be read with the Protobuf schema of id 1: field 1 has 5 bytes"):
        read("message A { string a = 1; }", b"\x0a\5x")


def test_two_fields_of_a_union_without_tags_get_the_next_free_ones() -> None:
    union = Schema(
        "STRUCT", optional=True, name=f"{NAMESPACE}.Union.pick",
        fields=(Field("x", Schema("INT32", optional=True)), Field("y", Schema("STRING", optional=True))),
    )  # fmt: skip
    text, payload = written(struct_of("A", id=Schema("INT32"), pick=union), {"id": 1, "pick": {"x": None, "y": "b"}})
    assert "string y = 3;" in text
    assert payload == b"\0\x08\1\x1a\1b"
