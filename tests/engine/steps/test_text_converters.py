from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ConfigError, ConversionError
from engine.record.schema import BYTES, STRING, Schema
from engine.steps.converters.bytes import ByteArrayConverter
from engine.steps.converters.string import SimpleHeaderConverter, StringConverter


def strings(encoding: str = "UTF-8") -> StringConverter:
    converter = StringConverter()
    converter.configure({"converter.encoding": encoding, "converter.type": "key"}, is_key=True)
    return converter


@given(st.text())
def test_text_round_trips(text: str) -> None:
    assert strings().to_connect("t", strings().from_connect("t", STRING, text)) == (STRING, text)


def test_null_stays_null() -> None:
    """StringConverterTest#testStringToBytes, #testNullToBytes, #testBytesNullToString."""
    assert strings().from_connect("t", STRING, None) is None
    assert strings().to_connect("t", None) == (STRING, None)


@pytest.mark.parametrize(("value", "data"), [(True, b"true"), (7, b"7"), ({"a": [1]}, b'{"a":[1]}'), ("7", b"7")])
def test_what_is_no_text_is_written_as_json(value: Any, data: bytes) -> None:
    """StringConverterTest#testToBytesIgnoresSchema."""
    assert strings().from_connect("t", Schema("INT32"), value) == data


@pytest.mark.parametrize(("encoding", "data"), [("UTF-8", b"ab\xff"), ("ascii", b"\x80"), ("utf-16", b"a")])
def test_bytes_that_are_no_text_are_refused_and_never_replaced(encoding: str, data: bytes) -> None:
    with pytest.raises(ConversionError, match=f"is not {encoding} text"):
        strings(encoding).to_connect("t", data)


@pytest.mark.parametrize(("encoding", "text"), [("ascii", "é"), ("UTF-8", "\ud800")])
def test_text_that_the_character_set_lacks_is_refused(encoding: str, text: str) -> None:
    with pytest.raises(ConversionError):
        strings(encoding).from_connect("t", None, text)


@pytest.mark.parametrize("encoding", ["utf-99", "hex", "undefined", "\0", "base64"])
def test_what_is_no_character_set_is_a_config_error(encoding: str) -> None:
    with pytest.raises(ConfigError, match="no known character set"):
        strings(encoding)


@given(st.none() | st.binary())
def test_headers_lose_no_byte(data: bytes | None) -> None:
    one = SimpleHeaderConverter()
    assert one.from_connect("t", *one.to_connect("t", data)) == data


@given(st.none() | st.binary())
def test_bytes_pass_as_they_are(data: bytes | None) -> None:
    one = ByteArrayConverter()
    assert one.to_connect("t", data) == (BYTES, data)
    assert one.from_connect("t", BYTES, data) == data


@pytest.mark.parametrize(("schema", "value"), [(STRING, b"x"), (None, "x"), (BYTES, "x"), (Schema("INT32"), 1)])
def test_other_things_than_bytes_are_refused(schema: Schema | None, value: Any) -> None:
    """ByteArrayConverterTest#testFromConnectBadSchema, #testFromConnectInvalidValue."""
    with pytest.raises(ConversionError):
        ByteArrayConverter().from_connect("t", schema, value)
