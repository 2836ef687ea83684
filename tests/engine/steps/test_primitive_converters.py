from __future__ import annotations

import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.config.worker import StepConfig
from engine.errors import ConfigError, ConversionError
from engine.record.schema import Schema
from engine.steps.registry import Converter, build_converter

PACKAGE = "org.apache.kafka.connect.converters."


def converter(name: str, **options: str) -> Converter:
    return build_converter(StepConfig("key.converter", name, options, "key.converter."), is_key=True)


GOOD: list[tuple[str, str, bytes, Any]] = [
    ("Boolean", "BOOLEAN", b"\0", False), ("Boolean", "BOOLEAN", b"\1", True), ("Short", "INT16", b"\1\2", 258),
    ("Short", "INT16", b"\xff\xff", -1), ("Integer", "INT32", b"\0\0\1\2", 258), ("Integer", "INT32", b"\xff" * 4, -1),
    ("Long", "INT64", b"\0" * 7 + b"\1", 1), ("Long", "INT64", b"\x80" + b"\0" * 7, -(2**63)),
    ("Float", "FLOAT32", b"\x3f\x8c\xcc\xcd", 1.1), ("Float", "FLOAT32", b"\x7f\x80\0\0", float("inf")),
    ("Double", "FLOAT64", b"\x3f\xf1\x99\x99\x99\x99\x99\x9a", 1.1),
]  # fmt: skip


@pytest.mark.parametrize(("name", "kind", "data", "value"), GOOD)
def test_values_are_read_and_written_under_an_optional_schema(name: str, kind: str, data: bytes, value: Any) -> None:
    one = converter(f"{PACKAGE}{name}Converter")
    assert one.to_connect("t", data) == (Schema(kind, optional=True), value)
    assert type(one.to_connect("t", data)[1]) is type(value)
    assert one.from_connect("t", Schema(kind), value) == data


@pytest.mark.parametrize("name", ["Boolean", "Short", "Integer", "Long", "Float", "Double"])
def test_null_is_null(name: str) -> None:
    one = converter(f"{name}Converter")
    assert one.to_connect("t", None)[1] is None
    assert one.from_connect("t", None, None) is None


@pytest.mark.parametrize(
    ("name", "data"),
    [(name, data) for name in ("Short", "Integer", "Long", "Float", "Double") for data in (b"", b"\1", b"\1\2\3")]
    + [("Boolean", b""), ("Boolean", b"\2"), ("Boolean", b"\0\0")],
)
def test_bytes_of_another_length_are_refused(name: str, data: bytes) -> None:
    with pytest.raises(ConversionError, match=r"the size in bytes of [A-Z0-9]+ data|not a valid BOOLEAN"):
        converter(f"{name}Converter").to_connect("t", data)


@pytest.mark.parametrize(
    ("name", "schema", "value"),
    [
        ("Short", None, 1), ("Short", Schema("INT8"), 1), ("Short", Schema("INT16"), 2**15), ("Integer", None, 1),
        ("Integer", Schema("STRING"), "1"), ("Long", None, 1.5), ("Long", None, True), ("Long", None, "1"),
        ("Long", Schema("INT32"), 1), ("Float", None, 1.5), ("Float", Schema("FLOAT64"), 1.5), ("Float", None, []),
        ("Double", None, 1), ("Double", Schema("FLOAT32"), 1.5), ("Boolean", None, 1),
        ("Boolean", Schema("INT8"), None),
        ("Double", Schema("FLOAT64"), "1"), ("Long", None, object()), ("Long", None, 2**63),
    ],
)  # fmt: skip
def test_values_of_another_type_are_refused(name: str, schema: Schema | None, value: Any) -> None:
    with pytest.raises(ConversionError, match=r"writes only |is not a valid "):
        converter(f"{name}Converter").from_connect("t", schema, value)


def test_without_a_schema_whole_numbers_are_long_and_others_double() -> None:
    assert converter("LongConverter").from_connect("t", None, 1) == struct.pack(">q", 1)
    assert converter("DoubleConverter").from_connect("t", None, 1.5) == struct.pack(">d", 1.5)
    assert converter("BooleanConverter").from_connect("t", None, True) == b"\1"


@given(st.floats(width=32, allow_nan=False))
def test_floats_of_32_bits_survive_their_short_form(number: float) -> None:
    one = converter("FloatConverter")
    data = struct.pack(">f", number)
    assert one.from_connect("t", *one.to_connect("t", data)) == data


def test_an_option_that_no_converter_has_is_a_problem() -> None:
    with pytest.raises(ConfigError, match="unknown option"):
        converter("LongConverter", sise="8")
