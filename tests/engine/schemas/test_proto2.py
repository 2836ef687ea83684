"""Messages of proto2: required fields, defaults, groups, extensions and closed enums."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.descriptor import Descriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from engine.schemas import protobuf_codec
from engine.schemas.fields import FieldRows
from engine.schemas.problems import InvalidValue
from engine.schemas.protobuf_compiler import compile_proto

pytestmark = pytest.mark.unit

PROTO = """
syntax = "proto2";
package shop;
message Order {
  required string id = 1;
  optional int32 qty = 2 [default = 7];
  optional Currency currency = 3 [default = USD];
  repeated group Line = 4 { required string sku = 5; optional double price = 6 [default = 1.5]; }
  repeated int32 sizes = 9 [packed = true];
  extensions 100 to 199;
}
enum Currency { EUR = 0; USD = 1; }
extend Order { optional string channel = 100; repeated int32 tags = 101; optional Extra extra = 102; }
message Extra { optional bool gift = 1; extend Order { optional Extra more = 103; } }
"""
MINIMAL: dict[str, Any] = {"id": "o-1", "line": [], "sizes": []}
EXTENDED: dict[str, Any] = {
    **MINIMAL,
    "line": [{"sku": "a", "price": 2.0}, {"sku": "b"}],
    "[shop.channel]": "web",
    "[shop.tags]": [1, 2],
    "[shop.extra]": {"gift": True},
    "[shop.Extra.more]": {"gift": False},
}


@pytest.fixture(scope="module")
def order() -> Descriptor:
    return protobuf_codec.message_type(compile_proto(PROTO, {}), (0,))


def parsed(type_: Descriptor, data: bytes) -> Message:
    return GetMessageClass(type_).FromString(data)


def refused(type_: Descriptor, value: Any) -> list[tuple[str, str]]:
    with pytest.raises(InvalidValue) as caught:
        protobuf_codec.write(type_, value)
    return [(one.path, one.message) for one in caught.value.problems]


def test_a_missing_required_field_is_told_at_its_path(order: Descriptor) -> None:
    assert refused(order, {"line": [{"sku": "a"}, {"price": 1}]}) == [
        ("line[1].sku", "is missing; it is a required string"),
        ("id", "is missing; it is a required string"),
    ]


def test_a_message_without_a_required_field_is_shown_with_a_note(order: Descriptor) -> None:
    value, notes = protobuf_codec.read(order, b"\x10\x05", 0)
    assert value == {"qty": 5, "line": [], "sizes": []}
    assert notes == ("Required but missing: id. An edit must add them.",)


def test_a_default_is_neither_shown_nor_written(order: Descriptor) -> None:
    encoded = b"\x0a\x03o-1"
    assert protobuf_codec.read(order, encoded, 0) == (MINIMAL, ())
    assert protobuf_codec.write(order, MINIMAL, (encoded, 0)) == encoded
    message: Any = parsed(order, protobuf_codec.write(order, {**MINIMAL, "qty": 7}))
    assert (message.HasField("qty"), message.HasField("currency"), message.currency) == (True, False, 1)


def test_groups_and_extensions_survive_as_json(order: Descriptor) -> None:
    encoded = protobuf_codec.write(order, EXTENDED)
    assert protobuf_codec.read(order, encoded, 0) == (EXTENDED, ())
    assert protobuf_codec.write(order, EXTENDED, (encoded, 0)) == encoded


def test_fields_of_groups_and_extensions_have_their_bytes(order: Descriptor) -> None:
    encoded = protobuf_codec.write(order, EXTENDED)
    rows = FieldRows()
    protobuf_codec.read(order, encoded, 0, rows)
    shown = {row.path: (row.type, row.text, encoded[row.start or 0 : row.end]) for row in rows.all()}
    assert shown["line[1]"] == ("message Line", "", b"\x23\x2a\x01b\x24")
    assert shown["line[1].sku"] == ("string", '"b"', b"\x2a\x01b")
    assert shown["[shop.channel]"] == ("string", '"web"', b"\xa2\x06\x03web")
    assert shown["[shop.extra].gift"] == ("bool", "true", b"\x08\x01")


def test_unknown_fields_in_extensions_are_told_and_kept(order: Descriptor) -> None:
    encoded = b"\x0a\x03o-1" + b"\xb2\x06\x04\x08\x01\x10\x09"  # extra = {gift: true, field 2: 9}
    value, notes = protobuf_codec.read(order, encoded, 0)
    assert notes == ("The schema does not know field 2 of [shop.extra]. An edit keeps them.",)
    assert protobuf_codec.write(order, {**value, "id": "o-2"}, (encoded, 0)) == encoded.replace(b"o-1", b"o-2")


def test_an_extension_that_nobody_declares_is_no_field(order: Descriptor) -> None:
    assert refused(order, {**MINIMAL, "[shop.nope]": 1}) == [("[shop.nope]", "is not a field of shop.Order")]
    assert [path for path, _ in refused(order, {**MINIMAL, "[shop.tags]": ["x"]})] == ["[shop.tags][0]"]


def test_a_number_that_a_closed_enum_does_not_have_is_kept(order: Descriptor) -> None:
    encoded = b"\x0a\x03o-1\x18\x09"
    value, notes = protobuf_codec.read(order, encoded, 0)
    assert (value, notes) == (MINIMAL, ("The schema does not know field 3. An edit keeps them.",))
    assert protobuf_codec.write(order, {**value, "id": "o-2"}, (encoded, 0)) == encoded.replace(b"o-1", b"o-2")
