from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.descriptor import Descriptor
from google.protobuf.message_factory import GetMessageClass
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.schemas import json_text, protobuf_codec, protobuf_compiler
from engine.schemas.codecs import codec_of
from engine.schemas.fields import FieldRows
from engine.schemas.problems import InvalidValue, SchemaTimeout, Undecodable, UnusableSchema
from engine.schemas.protobuf_compiler import compile_proto
from engine.schemas.registry import SchemaText
from tests.engine.schemas.protobuf_strategies import any_message

pytestmark = pytest.mark.unit

PROTO = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "common/money.proto";

message Unused {}
message Order {
  string order_id = 1;
  int64 customer = 2;
  Currency currency = 3;
  google.protobuf.Timestamp placed_at = 4;
  repeated Line lines = 5;
  oneof payment { string card = 6; common.Money cash = 7; }
  map<string, int32> stock = 8;
  bytes raw = 9;
  optional double weight = 10;
  repeated sint32 packed = 11;
  message Line { string sku = 1; uint64 qty = 2; }
}
enum Currency { EUR = 0; USD = 1; }
"""
MONEY = 'syntax = "proto3"; package common; message Money { fixed64 cents = 1; }'
VALUE = {
    "order_id": "o-1",
    "customer": "9007199254740993",
    "currency": "USD",
    "placed_at": "2026-11-23T08:58:03.398Z",
    "lines": [{"sku": "a", "qty": "2"}, {"sku": "ü", "qty": "18446744073709551615"}],
    "cash": {"cents": "5"},
    "stock": {"x": -1},
    "raw": "/w==",
    "weight": "NaN",
    "packed": [-1, 300],
}


@pytest.fixture(scope="module")
def order() -> Descriptor:
    file = compile_proto(PROTO, {"common/money.proto": MONEY})
    return protobuf_codec.message_type(file, (1,))


def refused(type_: Descriptor, value: Any, original: tuple[bytes, int] | None = None) -> list[tuple[str, str]]:
    with pytest.raises(InvalidValue) as caught:
        protobuf_codec.write(type_, value, original)
    return [(one.path, one.message) for one in caught.value.problems]


def test_a_message_survives_as_json(order: Descriptor) -> None:
    encoded = protobuf_codec.write(order, VALUE)
    assert protobuf_codec.read(order, encoded, 0) == (VALUE, ())
    assert protobuf_codec.write(order, VALUE) == encoded


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_decoding_and_encoding_any_message_returns_the_message(data: st.DataObject) -> None:
    type_, message = data.draw(any_message())
    encoded = message.SerializeToString(deterministic=True)
    text = json_text.dump(protobuf_codec.read(type_, encoded, 0)[0])
    again = protobuf_codec.write(type_, json_text.parse(text), (encoded, 0))
    # A NaN is not equal to itself, so the texts are compared where there is one.
    read_again = GetMessageClass(type_).FromString(again)
    assert read_again == message or str(read_again) == str(message)


def test_each_field_has_its_type_and_bytes(order: Descriptor) -> None:
    rows = FieldRows()
    encoded = protobuf_codec.write(order, VALUE)
    protobuf_codec.read(order, bytes(6) + encoded, 6, rows)
    shown = {row.path: (row.type, row.text, row.start, row.end) for row in rows.all()}
    assert shown["order_id"] == ("string", '"o-1"', 6, 11)
    assert shown["customer"][:2] == ("int64", "9007199254740993")
    assert shown["currency"][:2] == ("enum Currency", "USD")
    assert shown["placed_at"][:2] == ("Timestamp", "2026-11-23T08:58:03.398Z")
    assert shown["lines"][:2] == ("list of message Line", "2 items")
    assert shown["lines[1].sku"][:2] == ("string", '"ü"')
    assert shown["stock"][:2] == ("map of string to int32", "1 entry")
    assert shown["cash.cents"][:2] == ("fixed64", "5")
    start, end = shown["lines[0].sku"][2:]
    assert (bytes(6) + encoded)[start:end] == b"\x0a\x01a"


def test_unknown_fields_are_told_and_an_edit_keeps_them(order: Descriptor) -> None:
    newer = compile_proto(
        PROTO.replace("bytes raw = 9;", "bytes raw = 9; string channel = 20; repeated int64 n = 21;").replace(
            "uint64 qty = 2;", "uint64 qty = 2; float price = 7;"
        ),
        {"common/money.proto": MONEY},
    )
    wide = protobuf_codec.message_type(newer, (1,))
    value = {**VALUE, "channel": "web", "n": ["1", "2"], "lines": [{"sku": "a", "qty": "2", "price": 1.5}]}
    encoded = protobuf_codec.write(wide, value)
    read, notes = protobuf_codec.read(order, encoded, 0)
    assert notes == ("The schema does not know field 20, field 21, field 7 of lines. An edit keeps them.",)
    read["order_id"] = "o-2"
    again = protobuf_codec.write(order, read, (encoded, 0))
    assert protobuf_codec.read(wide, again, 0)[0] == {**value, "order_id": "o-2"}
    del read["lines"][0]
    assert refused(order, read, (encoded, 0)) == [
        ("lines", "holds fields that the schema does not know, so its number of items can't change")
    ]


def test_every_problem_of_a_value_is_found_at_its_path(order: Descriptor) -> None:
    value = {
        "order_id": 5,
        "customer": 2**63,
        "currency": "GBP",
        "placed_at": "yesterday",
        "lines": [{"sku": "a"}, {"size": 1, "qty": -1}],
        "card": "1",
        "cash": {"cents": "x"},
        "stock": {"x": "many"},
        "raw": "ü",
        "packed": 1,
        "totl": 1,
    }
    found = refused(order, value)
    assert [path for path, _ in found] == [
        "cash", "order_id", "customer", "currency", "placed_at", "lines[1].size", "lines[1].qty", "cash.cents",
        "stock.x", "raw", "packed", "totl",
    ]  # fmt: skip
    told = dict(found)
    assert told["cash"] == "is set beside card; only one of payment may be set"
    assert told["totl"] == "is not a field of shop.Order"
    assert told["packed"] == "must be a list; it is a list of sint32"
    assert all(told.values())


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x0a\x05ab", "field 1 has 5 bytes, and 2 are left, at byte 0"),
        (b"\x10\xff", "the bytes end within a number, at byte 1"),
        (b"\x07", "0x07 is no tag of a Protobuf field, at byte 0"),
        (b"\x0a\x01\xff", "the bytes are no shop.Order: a field within it is cut off, too deep or not UTF-8"),
        (b"\x2a\x02\x0a\x09", "the bytes are no shop.Order: a field within it is cut off, too deep or not UTF-8"),
    ],
)
def test_bytes_that_are_no_message_are_refused_with_a_sentence(order: Descriptor, data: bytes, reason: str) -> None:
    with pytest.raises(Undecodable) as caught:
        protobuf_codec.read(order, data, 0)
    assert str(caught.value) == reason


@pytest.mark.parametrize(
    ("data", "expected"), [(b"\0", ((0,), 1)), (b"\x02\x02", ((1,), 2)), (b"\x04\x02\x00x", ((1, 0), 3))]
)
def test_message_indexes_are_read(data: bytes, expected: Any) -> None:
    assert protobuf_codec.message_indexes(data, 0) == expected


def test_an_index_without_a_message_is_refused(order: Descriptor) -> None:
    with pytest.raises(Undecodable, match=r"no message at index 1\.3"):
        protobuf_codec.message_type(order.file, (1, 3))


@pytest.mark.parametrize(
    ("text", "imports", "reason"),
    [
        ("message {", {}, "does not compile: schema.proto:1:"),
        ('syntax = "proto3"; import "common/money.proto";', {}, "common/money.proto: File not found"),
        ("", {"../../x.proto": ""}, "is not a path below the schema"),
        ("", {"": ""}, "the reference '' is not a path below the schema"),
        ("", {".": ""}, r"the reference '\.' is not a path below the schema"),
        ("", {"./a.proto": ""}, "is not a path below the schema"),
        ("", {"a\0.proto": ""}, "is not a path below the schema"),
        ("", {"/a.proto": ""}, "is not a path below the schema"),
        ("", {"a" * 300: ""}, "is longer than 255 bytes"),
        ("", {"a": "", "a/b.proto": ""}, "the reference 'a' is also the folder of the reference 'a/b.proto'"),
        ("", {"a/b.proto": "", "a": ""}, "the reference 'a' is also the folder of the reference 'a/b.proto'"),
        ("\ud800", {}, "the file 'schema.proto' has an unpaired surrogate"),
        ("", {"\ud800": ""}, r"the file '\\ud800' has an unpaired surrogate"),
    ],
)
def test_a_schema_that_protoc_refuses_has_its_reason(text: str, imports: dict[str, str], reason: str) -> None:
    with pytest.raises(UnusableSchema, match=reason):
        compile_proto(text, imports)


@pytest.mark.parametrize(
    "name", ["schema.proto", "schema.proto/money.proto", "known.bin", "compiled.bin", "_schema.proto"]
)
def test_a_reference_may_have_any_name(name: str) -> None:
    text = f'syntax = "proto3"; import "{name}"; message Order {{ Money total = 1; }}'
    file = compile_proto(text, {"schema.proto" if "/" not in name else "x.proto": "", name: MONEY_ALONE})
    assert list(file.message_types_by_name) == ["Order"]


MONEY_ALONE = 'syntax = "proto3"; message Money { int64 units = 1; }'


def test_a_time_out_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    schema = SchemaText(1, "PROTOBUF", MONEY_ALONE)
    with monkeypatch.context() as slow:
        slow.setattr(protobuf_compiler, "TIMEOUT_S", 0.001)
        with pytest.raises(SchemaTimeout, match=r"protoc did not end within 0\.001 s"):
            codec_of(schema)
    assert codec_of(schema).write('{"units": "1"}') == b"\0\x08\x01"
