from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ConfigError, ConversionError
from engine.record.schema import BYTES, STRING, Field, Schema
from engine.steps.converters.bytes import ByteArrayConverter
from engine.steps.converters.string import StringConverter


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


MAP = Schema("MAP", keys=STRING, items=Schema("FLOAT32"))
STRUCT = Schema("STRUCT", fields=(Field("a", Schema("INT32")), Field("b", STRING), Field("c", MAP)))


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        (None, True, "true"), (Schema("INT32"), 7, "7"), (STRING, "7", "7"), (None, 1.0, "1.0"), (None, 1e7, "1.0E7"),
        (None, 0.0001, "1.0E-4"), (None, float("-inf"), "-Infinity"), (None, Decimal("1E+3"), "1E+3"),
        (None, {"a": 1, "b": [1, "x", None, 2.5], "c": {"d": None}}, "{a=1, b=[1, x, null, 2.5], c={d=null}}"),
        (MAP, {"a": 1.5}, "{a=1.5}"), (STRUCT, {"a": 1, "b": None, "c": {"k": 0.1}}, "Struct{a=1,c={k=0.1}}"),
        (None, datetime(2018, 5, 17, 0, 58, 35, 403000, UTC), "Thu May 17 00:58:35 UTC 2018"),
        (None, date(1970, 1, 2), "Fri Jan 02 00:00:00 UTC 1970"), (None, time(0, 1, 1), "Thu Jan 01 00:01:01 UTC 1970"),
        (BYTES, b"\xff", "/w=="),
    ],
)  # fmt: skip
def test_what_is_no_text_is_written_as_java_prints_it(schema: Schema | None, value: Any, text: str) -> None:
    """StringConverterTest#testToBytesIgnoresSchema; bytes apart, of which Java prints only an address."""
    assert strings().from_connect("t", schema, value) == text.encode()


def test_what_has_no_text_is_refused() -> None:
    with pytest.raises(ConversionError, match="a value of type object can't be written as text"):
        strings().from_connect("t", None, [object()])


@pytest.mark.parametrize(("encoding", "data"), [("UTF-8", b"ab\xff"), ("ascii", b"\x80"), ("utf-16", b"a")])
def test_bytes_that_are_no_text_are_refused_and_never_replaced(encoding: str, data: bytes) -> None:
    with pytest.raises(ConversionError, match=f"not valid {encoding} text"):
        strings(encoding).to_connect("t", data)


@pytest.mark.parametrize(
    ("encoding", "data", "text", "written"),
    [
        ("UTF-16", b"\0\xe9\x001", "é1", b"\xfe\xff\0\xe9\x001"),
        ("utf_16", b"\xff\xfe\xe9\x001\0", "é1", b"\xfe\xff\0\xe9\x001"),
        ("UTF-16", b"", "", b""),
        ("UTF-16LE", b"\xe9\0", "é", b"\xe9\0"),
        ("UTF-32", b"\0\0\0\xe9", "é", b"\0\0\0\xe9"),
        ("ISO-8859-1", b"\xff\xe9", "ÿé", b"\xff\xe9"),
        ("UTF-8", b"\xef\xbb\xbfa", "\ufeffa", b"\xef\xbb\xbfa"),
    ],
)
def test_character_sets_are_javas(encoding: str, data: bytes, text: str, written: bytes) -> None:
    """Without a byte order mark UTF-16 is big-endian; it is written with one, UTF-32 is not."""
    assert strings(encoding).to_connect("t", data) == (STRING, text)
    assert strings(encoding).from_connect("t", STRING, text) == written


@pytest.mark.parametrize(("encoding", "text"), [("ascii", "é"), ("UTF-8", "\ud800")])
def test_text_that_the_character_set_lacks_is_refused(encoding: str, text: str) -> None:
    with pytest.raises(ConversionError):
        strings(encoding).from_connect("t", None, text)


@pytest.mark.parametrize("encoding", ["utf-99", "hex", "undefined", "\0", "base64"])
def test_what_is_no_character_set_is_a_config_error(encoding: str) -> None:
    with pytest.raises(ConfigError, match="is not a known character set"):
        strings(encoding)


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
