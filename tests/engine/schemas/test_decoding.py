from __future__ import annotations

import base64
import gzip
import io
import json
import uuid
from fractions import Fraction

import cbor2
import msgpack
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from engine.schemas.decoding import MAX_BYTES, DecodedPart, decode
from engine.schemas.framing import SchemaFrame, frame_of
from engine.schemas.plain_formats import MAX_PLAIN_BYTES
from engine.schemas.registry import SchemaText, SchemaType

pytestmark = pytest.mark.unit
GUID = uuid.UUID("123e4567-e89b-12d3-a456-426614174000")
JSON = b'{"a": 1.50}'


def decoded(data: bytes) -> DecodedPart:
    found = decode(data, (), "value", None).result
    assert found is not None
    return found


def reasons(data: bytes) -> dict[str, str]:
    return {one.decoder: one.reason for one in decode(data, (), "value", None).attempts}


@pytest.mark.parametrize(
    ("data", "headers", "label", "place"),
    [
        (b"\0\0\0\1\2x", (), "id 258", "bytes 1 to 4"),
        (b"\1" + GUID.bytes, (), f"GUID {GUID}", "bytes 1 to 16"),
        (b"\3\0" + GUID.bytes, (), f"Glue schema version {GUID}", "bytes 2 to 17"),
        (b"\0\0\0\0\0\0\0\0\7x", (), "Apicurio global id 7", "bytes 1 to 8"),
        (b"x", (("__value_schema_id", b"\1" + GUID.bytes),), f"GUID {GUID}", "header __value_schema_id"),
        (b"x", (("__value_schema_id", b"\0\0\0\0\5"),), "id 5", "header __value_schema_id"),
        (b"x", (("apicurio.value.contentId", b"\0" * 7 + b"\6"),), "id 6", "header apicurio.value.contentId"),
    ],
)
def test_each_wire_format_names_its_schema(
    data: bytes, headers: tuple[tuple[str, bytes | None], ...], label: str, place: str
) -> None:
    frame = frame_of(data, headers, "value")
    assert frame is not None
    assert (frame.label, frame.place) == (label, place)


@pytest.mark.parametrize(
    "headers",
    [(("__key_schema_id", b"\0\0\0\0\5"),), (("__value_schema_id", b"5"),), (("__value_schema_id", None),), ()],
)
def test_other_headers_name_no_schema(headers: tuple[tuple[str, bytes | None], ...]) -> None:
    assert frame_of(b"x", headers, "value") is None


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "there are no bytes"),
        (b"\0\0", "a schema id needs 5 bytes, and there are 2"),
        (b"\x07abcd", "byte 0 is 0x07; a schema id begins with 0x00, 0x01 or 0x03"),
    ],
)
def test_bytes_without_a_schema_id_have_a_reason(data: bytes, reason: str) -> None:
    assert reasons(data)["Schema registry"] == reason


@pytest.mark.parametrize(
    ("head", "compression"),
    [(b"\3\0", "the value is not compressed"), (b"\3\5", "the value is compressed with zlib")],
)
def test_a_value_of_glue_names_its_schema_and_stays_bytes(head: bytes, compression: str) -> None:
    found = decode(head + GUID.bytes + b"abc", (), "value", None)
    assert (found.result, found.is_pending) == (None, False)
    [attempt] = found.attempts
    assert attempt.reason == (
        f"the bytes name Glue schema version {GUID}, and {compression}; "
        "dlqadmin does not connect to AWS, which keeps the schema"
    )


@pytest.mark.parametrize(
    ("data", "format_", "json"),
    [
        (JSON, "JSON", JSON.decode()),
        (gzip.compress(JSON, mtime=0), "JSON in gzip", JSON.decode()),
        (zstandard.compress(JSON), "JSON in zstd", JSON.decode()),
        (base64.b64encode(b'{"ab": 1.5}'), "JSON in base64", '{"ab": 1.5}'),
        (base64.b64encode(gzip.compress(JSON, mtime=0)), "JSON in gzip in base64", JSON.decode()),
        (gzip.compress(b"plain text", mtime=0), "text in gzip", None),
        (msgpack.packb({"a": [1, b"\xff", None], 2: float("nan")}), "MessagePack", '{"a":[1,"/w==",null],"2":"nan"}'),
        (cbor2.dumps({"a": 2**70, "b": b"\xff"}), "CBOR", '{"a":1180591620717411303424,"b":"/w=="}'),
        (b"<a x='1'><b>t</b></a>", "XML", None),
        (b"a;b\n1;2\n", "CSV", None),
    ],
)
def test_a_format_without_a_schema_is_recognised(data: bytes, format_: str, json: str | None) -> None:
    found = decoded(data)
    assert (found.format, found.json) == (format_, json)
    assert found.fields


@pytest.mark.parametrize("data", [b'{"a":1,"b":2,"c"}', b" [1,2,3,]", b"<a;b;c", b'\xef\xbb\xbf{"a":1,"b":2,,}'])
def test_damaged_json_and_xml_stay_text_although_they_have_commas(data: bytes) -> None:
    assert decode(data, (), "value", None).result is None
    assert reasons(data)["CSV"] == "the first character is that of JSON or XML"


def test_a_serialised_java_object_is_named_and_never_read() -> None:
    found = decoded(b"\xac\xed\x00\x05sr\x00\x14java.util.LinkedList\x0c" + bytes(20))
    assert found.format == "Java serialisation"
    [note] = found.notes
    assert note.startswith("A serialised Java object of the class java.util.LinkedList. It is never deserialised")


def test_elements_and_attributes_of_xml_are_listed() -> None:
    rows = [(row.path, row.type, row.text) for row in decoded(b"<o id='7'><l>K\xc3\xb6ln</l></o>").fields]
    assert rows == [("o", "element", ""), ("o.@id", "attribute", '"7"'), ("o.l", "element", '"Köln"')]


@pytest.mark.parametrize(
    ("data", "decoder", "reason"),
    [
        (gzip.compress(bytes(MAX_PLAIN_BYTES + 2), mtime=0), "gzip", "the content is larger than 8 MB"),
        (zstandard.compress(bytes(MAX_PLAIN_BYTES + 2)), "zstd", "the content is larger than 8 MB"),
        (gzip.compress(JSON, mtime=0)[:-9], "gzip", "the stream ends too early"),
        (b"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>", "XML", "the document type is not read"),
        (b"<a>" * 100, "XML", "elements are nested more than 64 levels deep"),
        (b"\xdd\xff\xff\xff\xff", "MessagePack", "4294967295 exceeds max_array_len(5)"),
        (b"[" * 100_000, "JSON", "the value is nested too deeply"),
        (b'{"a": 1, "a": 2}', "JSON", "the member 'a' occurs twice"),
    ],
)
def test_bombs_and_broken_bytes_have_one_sentence(data: bytes, decoder: str, reason: str) -> None:
    assert reasons(data)[decoder] == reason


def test_shared_values_of_cbor_do_not_grow() -> None:
    layers: list[object] = [1] * 10
    for _ in range(12):
        layers = [layers] * 10
    stream = io.BytesIO()
    cbor2.CBOREncoder(stream, value_sharing=True).encode(layers)
    assert "100,000 values" in reasons(stream.getvalue())["CBOR"]


def test_a_value_beyond_the_limit_is_not_decoded() -> None:
    assert reasons(bytes(MAX_BYTES + 1)) == {"All decoders": "the value is larger than 4 MB, the limit for decoding"}


def test_a_tag_of_cbor_is_shown_and_its_shared_values_do_not_grow() -> None:
    assert decoded(cbor2.dumps({"a": cbor2.CBORTag(9999, [1])})).json == '{"a":{"tag":9999,"value":[1]}}'
    layers: list[object] = [1] * 10
    for _ in range(12):
        layers = [layers] * 10
    stream = io.BytesIO()
    cbor2.CBOREncoder(stream, value_sharing=True).encode({"a": cbor2.CBORTag(9999, layers)})
    assert "100,000 values" in reasons(stream.getvalue())["CBOR"]


class FakeRegistry:
    """Knows one schema."""

    def __init__(self, type_: SchemaType, schema: object) -> None:
        self._schema = SchemaText(1, type_, schema if isinstance(schema, str) else json.dumps(schema))

    def schema(self, frame: SchemaFrame) -> SchemaText:
        return self._schema


DECIMAL = {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}
ARRAYS = '{"type": "array", "items": ' * 900 + '"int"' + "}" * 900
UNIONS = '["null", {"type": "array", "items": ' * 200 + '"int"' + "}]" * 200
HUNDREDTHS = {"properties": {"a": {"multipleOf": 0.01}}}
BROKEN = {"$ref": "#/x", "x": {"type": "nothing", "multipleOf": 0, "properties": 5}}


@pytest.mark.parametrize(
    ("type_", "schema", "payload", "reason"),
    [
        ("AVRO", DECIMAL, b"\xa0\x1f" + b"\x7f" * 2000, "the value is a decimal of more than 4,300 digits, at byte 5"),
        ("AVRO", ARRAYS, b"\0", "the Avro schema nests arrays, maps and unions more than 128 levels deep"),
        ("AVRO", UNIONS, b"\0", "the Avro schema nests arrays, maps and unions more than 128 levels deep"),
        ("AVRO", '{"type": "fixed", "name": "F", "size": 1e999}', b"\0", "the Avro schema is invalid: cannot convert"),
        ("AVRO", {"type": "record", "name": "R", "fields": [{"name": [], "type": "int"}]}, b"\0", "the name [] of a f"),
        ("JSON", {}, b'{"a": 1e99999999999999999999999999}', "the exponent of a number is too large"),
        ("JSON", {"$schema": 5}, b"{}", "the JSON Schema is invalid: its $schema is not text"),
        ("JSON", BROKEN, b'{"a": 1}', "the JSON Schema is invalid: "),
        ("JSON", {"$ref": "#/x/y", "x": []}, b"{}", "the JSON Schema is invalid: "),
    ],
)  # fmt: skip
def test_odd_values_and_schemas_have_one_sentence(
    type_: SchemaType, schema: object, payload: bytes, reason: str
) -> None:
    found = decode(b"\0\0\0\0\1" + payload, (), "value", FakeRegistry(type_, schema))  # type: ignore[arg-type]  # a fake
    assert found.result is None
    assert reason in found.attempts[0].reason


@pytest.mark.parametrize("number", [b"1e400", b"1" + b"0" * 400])
def test_a_number_that_is_too_large_to_be_validated_is_shown(number: bytes) -> None:
    data = b"\0\0\0\0\1" + b'{"a": ' + number + b"}"
    found = decode(data, (), "value", FakeRegistry("JSON", HUNDREDTHS)).result  # type: ignore[arg-type]  # a fake
    assert found is not None
    assert found.notes == ("The value: has a number that is too large to be validated.",)


@pytest.mark.parametrize(
    ("data", "decoder", "reason"),
    [
        (cbor2.dumps({"a": 10**4300}), "CBOR", "a number has more than 4,300 digits"),
        (cbor2.dumps({10**4300: 1}), "CBOR", "a number has more than 4,300 digits"),
        (cbor2.dumps({"a": Fraction(10**4300, 3)}), "CBOR", "a number has more than 4,300 digits"),
        (b'{"a": 1e99999999999999999999999999}', "JSON", "the exponent of a number is too large"),
        (b"<?xml version='1.0' encoding='GB2312'?><a/>", "XML", "the encoding that the XML names can't be read: multi"),
        (b"<?xml version='1.0' encoding='Shift_JIS'?><a/>", "XML", "the encoding that the XML names can't be read: mu"),
        (b"<?xml version='1.0' encoding='nope'?><a/>", "XML", "the encoding that the XML names can't be read: unknown"),
    ],
)
def test_odd_numbers_and_encodings_without_a_schema_have_one_sentence(data: bytes, decoder: str, reason: str) -> None:
    assert reasons(data)[decoder].startswith(reason)


STARTS = st.sampled_from([b"", b"\0\0\0\0\1", b"\x1f\x8b", b"<", b"\x28\xb5\x2f\xfd"])


@given(st.builds(bytes.__add__, STARTS, st.binary(max_size=200)))
def test_any_bytes_are_decoded_or_every_decoder_has_a_reason(data: bytes) -> None:
    found = decode(data, (), "value", None)
    assert found.result is not None or all(one.reason for one in found.attempts)
