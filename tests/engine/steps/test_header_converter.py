"""What Kafka Connect 4.1's own SimpleHeaderConverter made of these texts, and wrote again."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ConversionError
from engine.record.schema import Field, Schema
from engine.steps.converters.string import SimpleHeaderConverter

CONVERTER = SimpleHeaderConverter()
DATA = "org.apache.kafka.connect.data."
DATE = Schema("INT32", name=f"{DATA}Date", version=1)
TIME = Schema("INT32", name=f"{DATA}Time", version=1)
TIMESTAMP = Schema("INT64", name=f"{DATA}Timestamp", version=1)
NOON = datetime(2020, 1, 1, 12, 30, 45, 123000, UTC)
CLOCK = time(12, 30, 45, 123000)
KINDS = {
    "b": "BOOLEAN", "8": "INT8", "16": "INT16", "32": "INT32", "64": "INT64", "f": "FLOAT32", "d": "FLOAT64",
    "s": "STRING",
}  # fmt: skip
BLANKS = "".join(map(chr, range(33)))  # as Java trims


def decimal(scale: int) -> Schema:
    return Schema("BYTES", name=f"{DATA}Decimal", version=1, parameters={"scale": str(scale)})


def array(items: Schema | str | None) -> Schema:
    return Schema("ARRAY", items=Schema(KINDS[items]) if isinstance(items, str) else items)


def a_map(keys: str, items: Schema | str | None) -> Schema:
    return Schema("MAP", keys=Schema(KINDS[keys]), items=Schema(KINDS[items]) if isinstance(items, str) else items)


def read(text: str) -> tuple[Schema | None, Any]:
    return CONVERTER.to_connect("t", text.encode())


SCALARS: list[tuple[str, str, Any]] = [
    ("true", "b", True), ("false", "b", False), (" true", "b", True), ("1", "8", 1), (" 1 ", "8", 1), ("+1", "8", 1),
    ("-128", "8", -128), ("128", "16", 128), ("-129", "16", -129), ("32768", "32", 32768), ("007", "8", 7),
    ("2147483648", "64", 2**31), ("9223372036854775807", "64", 2**63 - 1), ("1.0", "8", 1), ("1e3", "16", 1000),
    ("5.", "8", 5), ("-0.0", "8", 0), ("1.5", "f", 1.5), ("1.10", "f", 1.1), ("0.1", "f", 0.1), ("+.5", "f", 0.5),
    ("1e-400", "f", 0.0), ("0.1234567890123456789", "f", 0.12345679), ("3.5e38", "d", 3.5e38), ("1,2", "8", 1),
    ("1:2", "8", 1), ("1]", "8", 1), ("12:30:45Z", "8", 12), ("٣", "8", 3),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind", "value"), SCALARS)
def test_booleans_and_numbers_have_the_smallest_type_that_fits(text: str, kind: str, value: Any) -> None:
    found = read(text)
    assert found == (Schema(KINDS[kind]), value)
    assert type(found[1]) is type(value)


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "\t", "foo", "foo bar", "True",
        "NULL", "truex", "true,", "null,", "true false", '"a"', '"1"', '"', "a,b",
        "NaN", "Infinity", "-Infinity", "0x10", "1f", "1L", ".5", "1_000",
        "²", "-", "+", "a:1", "\\", "é", "😀", "a\0b",
        "2020-1-1", "2020-01-01T12:30:45Z", "2020-01-01T12:30:45.123+01:00", "[1", "{", "}", "]", "[,]", "[,1]",
        "[1,null]",
        "[a]", "{a:1}", '{"a"}', "{:1}", '{"a":}', "{null:1}", "x [1]", '{"a":[1}', "1e9999999999",
    ],
)  # fmt: skip
def test_everything_else_is_text(text: str) -> None:
    assert read(text) == (Schema("STRING"), text)


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ("2020-01-01", DATE, date(2020, 1, 1)),
        ("2020-13-01", DATE, date(2021, 1, 1)),
        ("2020-02-30", DATE, date(2020, 3, 1)),
        ("12:30:45.123Z", TIME, CLOCK),
        (r"12\:30\:45.123Z", TIME, CLOCK),
        ("2020-01-01T12:30:45.123Z", TIMESTAMP, NOON),
        ("9223372036854775808", decimal(0), Decimal(2**63)),
        ("1e400", decimal(-400), Decimal("1e400")),
        ("[]", array(None), []),
        ("[null]", array(None), [None]),
        ("[1, 2, 3]", array("8"), [1, 2, 3]),
        ("[1,128]", array("16"), [1, 128]),
        ("[1,2.5]", array("f"), [1.0, 2.5]),
        ("[0.1,1e39]", array("d"), [0.10000000149011612, 1e39]),
        ('[1,"a"]', array(None), [1, "a"]),
        ("[1,]", array("8"), [1]),
        ("[1]]", array("8"), [1]),
        ("[1] x", array("8"), [1]),
        ("[[],[1]]", array(array("8")), [[], [1]]),
        ('["a b","true"]', array("s"), ["a b", "true"]),
        ('["a","2020-01-01"]', array(None), ["a", date(2020, 1, 1)]),
        ("[12:30:45.123Z, 1]", array(TIME), [CLOCK, time(0, 0, 0, 1000)]),
        ("[2020-01-01, 5]", array(DATE), [date(2020, 1, 1), date(1970, 1, 6)]),
        ("[2020-01-01T12:30:45.123Z, 5]", array(TIMESTAMP), [NOON, datetime(1970, 1, 1, 0, 0, 0, 5000, UTC)]),
        ("{}", Schema("MAP"), {}),
        ('{"a":1,"b":300}', a_map("s", "16"), {"a": 1, "b": 300}),
        ('{ "a" : 1 }', a_map("s", "8"), {"a": 1}),
        ('{"a":1,"a":2}', a_map("s", "8"), {"a": 2}),
        ('{"a":1,"b":"c"}', a_map("s", None), {"a": 1, "b": "c"}),
        ('{"a":null}', a_map("s", None), {"a": None}),
        ("{1:2}", a_map("8", "8"), {1: 2}),
        ("{true:1}", a_map("b", "8"), {True: 1}),
        ('{"a":{"b":[1]}}', a_map("s", a_map("s", array("8"))), {"a": {"b": [1]}}),
        ('{"t":12:30:45.123Z}', a_map("s", TIME), {"t": CLOCK}),
    ],
)
def test_dates_lists_and_maps_are_inferred(text: str, schema: Schema, value: Any) -> None:
    assert read(text) == (schema, value)


@pytest.mark.parametrize("text", ["24:00:00.000Z", "99:99:99.999Z", "0000-01-01"])
def test_moments_that_python_has_not_stay_text_where_kafka_connect_counts_on(text: str) -> None:
    assert read(text) == (Schema("STRING"), text)


def test_null_is_null_in_both_directions() -> None:
    assert CONVERTER.to_connect("t", None) == (None, None)
    assert read("null") == (None, None)
    assert CONVERTER.from_connect("t", None, None) is None


STRUCT = Schema("STRUCT", fields=(Field("a", Schema("INT32")), Field("b", Schema("STRING", optional=True))))


@pytest.mark.parametrize(
    ("schema", "value", "text"),
    [
        (None, True, "true"), (Schema("INT8"), 1, "1"), (Schema("FLOAT32"), 0.1, "0.1"), (None, 1e10, "1.0E10"),
        (None, 3.4e38, "3.4E38"), (decimal(-400), Decimal("1e400"), "1E+400"), (None, "a", "a"), (None, '"a"', '"a"'),
        (None, b"\xff", "/w=="), (None, [b"\xff"], '["/w=="]'), (None, ['a"b', "c\\d", None], r'["a\"b","c\\d",null]'),
        (None, {"a": [1, 2.0], 1: "x"}, '{"a":[1,2.0],1:"x"}'), (STRUCT, {"a": 1, "b": None}, '{"a":1,"b":null}'),
        (DATE, date(2020, 1, 1), "2020-01-01"), (TIME, CLOCK, "12:30:45.123Z"),
        (TIMESTAMP, NOON, "2020-01-01T12:30:45.123Z"), (TIMESTAMP, datetime(2020, 1, 1, tzinfo=UTC), "2020-01-01"),
        (TIMESTAMP, datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), "00:00:01.000Z"),
        (TIMESTAMP, datetime(1969, 12, 31, 23, 59, 59, 999000, UTC), "23:59:59.999Z"),
        (DATE, date(1969, 12, 31), "00:00:00.000Z"),
    ],
)  # fmt: skip
def test_values_are_written_as_kafka_connect_writes_them(schema: Schema | None, value: Any, text: str) -> None:
    assert CONVERTER.from_connect("t", schema, value) == text.encode()


@pytest.mark.parametrize("data", [b"\xff\xfe", b"\xc3", b"\xed\xa0\x80"])
def test_bytes_that_are_no_text_are_kept_where_kafka_connect_replaces_them(data: bytes) -> None:
    schema, value = CONVERTER.to_connect("t", data)
    assert value == data
    assert CONVERTER.from_connect("t", schema, value) == data


@given(st.text(alphabet='[]{},:"\\ 12.5ex-TZtrue', max_size=20) | st.text())
def test_any_text_is_read_and_what_is_read_is_written(text: str) -> None:
    schema, value = read(text)
    written = CONVERTER.from_connect("t", schema, value)
    assert (written is None) == (value is None)
    if isinstance(value, str):
        assert written == value.encode()
        assert value == text or not value.strip(BLANKS)  # of " [" Kafka Connect reads the blank alone


def test_what_has_no_text_is_a_conversion_error() -> None:
    with pytest.raises(ConversionError, match="a value of type object can't be written as text"):
        CONVERTER.from_connect("t", None, object())


def test_a_text_that_nests_beyond_reason_is_text() -> None:
    text = "[" * 5000 + "]" * 5000
    assert read(text) == (Schema("STRING"), text)


LONG = 100_000


@pytest.mark.parametrize(
    "text", ["1" * LONG + "x", "1" * LONG + "." + "1" * LONG + "x", "[1," * LONG, '{"a":' * LONG, '["' + '\\"' * LONG]
)
def test_the_time_to_infer_a_type_grows_with_the_text_and_not_its_square(text: str) -> None:
    started = process_time()
    assert read(text) == (Schema("STRING"), text)
    assert process_time() - started < 10


def test_a_map_with_a_crowd_of_keys_of_one_hash_stays_text_and_costs_little() -> None:
    text = "{" + ",".join(f"{(10**6 + n) * (2**61 - 1) * 1000003}:1" for n in range(16_000)) + "}"
    began = process_time()
    assert CONVERTER.to_connect("t", text.encode()) == (Schema("STRING"), text)
    assert process_time() - began < 2


def test_a_map_with_many_decimal_keys_is_a_map() -> None:
    text = "{" + ",".join(f"{10**20 + n}:1" for n in range(2000)) + "}"
    schema, value = CONVERTER.to_connect("t", text.encode())
    assert schema is not None
    assert (schema.type, len(value)) == ("MAP", 2000)
