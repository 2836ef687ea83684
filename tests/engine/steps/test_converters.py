from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import orjson
import pytest

from engine.config.worker import StepConfig
from engine.errors import ConfigError, ConversionError
from engine.record.schema import BYTES, STRING
from engine.steps.registry import Converter, build_converter


def converter(name: str, **options: str) -> Converter:
    config = {key.replace("_", "."): value for key, value in options.items()}
    return build_converter(StepConfig("value.converter", name, config, "value.converter."), is_key=False)


PLAIN = converter("JsonConverter", schemas_enable="false")
ENVELOPE = converter("org.apache.kafka.connect.json.JsonConverter")


def envelope(schema: Any, payload: Any) -> bytes:
    return orjson.dumps({"schema": schema, "payload": payload})


def test_plain_json_has_no_schema() -> None:
    assert PLAIN.to_connect("t", b'{"a":[1,2.5,null,"x",true]}') == (None, {"a": [1, 2.5, None, "x", True]})


@pytest.mark.parametrize("data", [b'{"a: 10}', b"{", b'{"a":NaN}', b"\xff\xfe{", '{"a":"é"}'.encode("latin-1")])
def test_what_is_not_json_is_a_conversion_error_with_its_cause(data: bytes) -> None:
    with pytest.raises(ConversionError, match="not valid JSON") as caught:
        PLAIN.to_connect("t", data)
    assert isinstance(caught.value.__cause__, orjson.JSONDecodeError)


@pytest.mark.parametrize("one", [PLAIN, ENVELOPE])
def test_a_tombstone_stays_one(one: Converter) -> None:
    assert one.to_connect("t", None) == (None, None)
    assert one.from_connect("t", None, None) is None


DATA = "org.apache.kafka.connect.data."
DECIMAL = {"type": "bytes", "name": DATA + "Decimal", "parameters": {"scale": "2"}}
CASES: list[tuple[dict[str, Any], Any, Any]] = [
    ({"type": "int32"}, 5, 5),
    ({"type": "boolean"}, True, True),
    ({"type": "double"}, 5, 5),
    ({"type": "bytes"}, "/w==", b"\xff"),
    ({"type": "string", "optional": True}, None, None),
    ({"type": "array", "items": {"type": "string"}}, ["a"], ["a"]),
    ({"type": "map", "keys": {"type": "string"}, "values": {"type": "int64"}}, {"a": 1}, {"a": 1}),
    ({"type": "map", "keys": {"type": "int32"}, "values": {"type": "int64"}}, [[1, 2]], {1: 2}),
    ({"type": "struct", "fields": [{"field": "a", "type": "int8"}]}, {"a": 1}, {"a": 1}),
    ({"type": "int32", "name": DATA + "Date"}, 1, date(1970, 1, 2)),
    ({"type": "int32", "name": DATA + "Time"}, 61_001, time(0, 1, 1, 1000)),
    ({"type": "int64", "name": DATA + "Timestamp"}, 1001, datetime(1970, 1, 1, 0, 0, 1, 1000, UTC)),
    (DECIMAL, "AJw=", Decimal("1.56")),
    (DECIMAL, "nA==", Decimal("-1.00")),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "payload", "value"), CASES)
def test_an_envelope_is_opened_and_closed_again(schema: dict[str, Any], payload: Any, value: Any) -> None:
    found, opened = ENVELOPE.to_connect("t", envelope(schema, payload))
    assert opened == value
    closed = ENVELOPE.from_connect("t", found, opened)
    assert closed is not None
    assert orjson.loads(closed)["payload"] == payload
    assert ENVELOPE.to_connect("t", closed) == (found, opened)


@pytest.mark.parametrize(
    "data",
    [
        b"{}", b"[]", b'{"payload":1}', b'{"schema":null,"payload":1,"more":2}', envelope({"type": "int99"}, 1),
        envelope({"type": "string"}, None),
        envelope({"type": "bytes"}, "!"), envelope({"type": "struct"}, {}), envelope({"type": "array"}, []),
        envelope({"type": "struct", "fields": [{"type": "int8"}]}, {}), envelope("int32", 1),
        envelope({"type": "int64", "name": DATA + "Timestamp"}, 10**18),
    ],
)  # fmt: skip
def test_what_is_no_good_envelope_is_a_conversion_error(data: bytes) -> None:
    with pytest.raises(ConversionError):
        ENVELOPE.to_connect("t", data)


def test_null_becomes_the_default() -> None:
    data = envelope({"type": "int32", "optional": True, "default": 7}, None)
    assert ENVELOPE.to_connect("t", data)[1] == 7
    assert converter("JsonConverter", replace_null_with_default="false").to_connect("t", data)[1] is None


def test_plain_json_is_written_with_binary_as_base64() -> None:
    assert PLAIN.from_connect("t", None, {"a": b"\xff"}) == b'{"a":"/w=="}'
    with pytest.raises(ConversionError):
        PLAIN.from_connect("t", None, {"a": object()})


def test_strings_are_decoded_strictly() -> None:
    strings = converter("StringConverter")
    assert strings.to_connect("t", "é".encode()) == (STRING, "é")
    assert strings.from_connect("t", None, {"a": 1}) == b"{a=1}"
    with pytest.raises(ConversionError):
        strings.to_connect("t", b"\xff")


def test_another_character_set_can_be_named() -> None:
    assert converter("StringConverter", converter_encoding="latin-1").to_connect("t", b"\xe9")[1] == "é"


def test_bytes_pass_through() -> None:
    one = converter("org.apache.kafka.connect.converters.ByteArrayConverter")
    assert one.to_connect("t", b"\xff") == (BYTES, b"\xff")
    assert one.from_connect("t", BYTES, b"\xff") == b"\xff"
    with pytest.raises(ConversionError):
        one.from_connect("t", STRING, "x")


def test_an_unknown_class_comes_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean JsonConverter"):
        converter("JsonConvertor")
