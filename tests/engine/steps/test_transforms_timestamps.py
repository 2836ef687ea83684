"""TimestampConverter: every row is what Kafka 4.1's own class does."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from typing import Any

import pytest

from engine.errors import TransformError
from engine.record.schema import Schema
from engine.steps.transforms.timestamp_converter import TimestampConverter
from tests.engine.steps.transforming import INT32, INT64, TEXT, applied, problem_of, record_of, struct

CONVERTER = "TimestampConverter$Value"
DATE, TIME, TIMESTAMP = (
    Schema(kind, name=f"org.apache.kafka.connect.data.{name}", version=1)
    for kind, name in (("INT32", "Date"), ("INT32", "Time"), ("INT64", "Timestamp"))
)
STAMP = datetime(2017, 7, 14, 2, 40, 0, 123000, UTC)
MS = 1500000000123


def optional(schema: Schema) -> Schema:
    return Schema(schema.type, True, schema.name, schema.version)


@pytest.mark.parametrize(
    ("target", "value", "schema"),
    [
        ("string", "2017-07-14 02", TEXT), ("unix", MS, INT64), ("Date", date(2017, 7, 14), DATE),
        ("Time", time(2, 40, 0, 123000), TIME), ("Timestamp", STAMP, TIMESTAMP),
    ],
)  # fmt: skip
@pytest.mark.parametrize(("source", "its_schema"), [(STAMP, TIMESTAMP), (MS, INT64), (MS, optional(INT64)), (MS, None)])
def test_times_become_every_target(
    target: str, value: Any, schema: Schema, source: Any, its_schema: Schema | None
) -> None:
    found = applied(CONVERTER, {"target.type": target, "format": "yyyy-MM-dd HH"}, source, its_schema)
    expected = None if its_schema is None else optional(schema) if its_schema.optional else schema
    assert found == (value, expected)


@pytest.mark.parametrize(
    ("value", "schema", "unix"),
    [
        (date(1970, 1, 21), DATE, 1728000000), (time(1, 2, 3, 4000), TIME, 3723004), (STAMP, TIMESTAMP, MS),
        ("2020-01-02", TEXT, 1577923200000), ("2020-13-45", None, 1613260800000), (date(1969, 12, 31), DATE, -86400000),
    ],
)  # fmt: skip
def test_every_source_becomes_a_number(value: Any, schema: Schema | None, unix: int) -> None:
    assert applied(CONVERTER, {"target.type": "unix", "format": "yyyy-MM-dd"}, value, schema)[0] == unix


@pytest.mark.parametrize(
    ("precision", "number", "stamp"),
    [
        ("seconds", 1500000000, datetime(2017, 7, 14, 2, 40, tzinfo=UTC)), ("milliseconds", MS, STAMP),
        ("microseconds", 1500000000123456, STAMP), ("nanoseconds", 1500000000123456789, STAMP),
        ("microseconds", -1500, datetime(1969, 12, 31, 23, 59, 59, 999000, UTC)),
    ],
)  # fmt: skip
def test_numbers_are_read_in_their_precision(precision: str, number: int, stamp: datetime) -> None:
    options = {"target.type": "Timestamp", "unix.precision": precision}
    assert applied(CONVERTER, options, number)[0] == stamp


@pytest.mark.parametrize(
    ("precision", "number"),
    [
        ("seconds", 1500000000), ("milliseconds", MS), ("microseconds", 1500000000123000),
        ("nanoseconds", 1500000000123000000),
    ],
)  # fmt: skip
def test_numbers_are_written_in_their_precision(precision: str, number: int) -> None:
    options = {"target.type": "unix", "unix.precision": precision}
    assert applied(CONVERTER, options, STAMP, TIMESTAMP) == (number, INT64)


@pytest.mark.parametrize(
    ("precision", "stamp", "number"),
    [
        ("seconds", datetime(1969, 12, 31, 23, 59, 59, 999000, UTC), 0),
        ("nanoseconds", datetime.max.replace(tzinfo=UTC), 2**63 - 1),
    ],
)  # fmt: skip
def test_precision_is_lost_towards_zero_and_ends_at_64_bits(precision: str, stamp: datetime, number: int) -> None:
    options = {"target.type": "unix", "unix.precision": precision}
    assert applied(CONVERTER, options, stamp, TIMESTAMP)[0] == number


SCHEMA = struct(("ts", TIMESTAMP), ("u", Schema("INT64", True, default=5000)), ("x", INT32), optional=True, name="r")
VALUE = {"ts": STAMP, "u": None, "x": 9}


def test_one_field_is_converted_with_its_schema() -> None:
    found = applied(CONVERTER, {"target.type": "unix", "field": "ts"}, VALUE, SCHEMA)
    schema = struct(
        ("ts", INT64), *((field.name, field.schema) for field in SCHEMA.fields[1:]), optional=True, name="r"
    )
    assert found == ({"ts": MS, "u": 5000, "x": 9}, schema)


@pytest.mark.parametrize(("replace", "left"), [("true", date(1970, 1, 1)), ("false", None)])
def test_null_becomes_its_default_first_where_asked_for(replace: str, left: date | None) -> None:
    options = {"target.type": "Date", "field": "u", "replace.null.with.default": replace}
    value, schema = applied(CONVERTER, options, VALUE, SCHEMA)
    assert value["u"] == left
    assert schema is not None
    assert schema.fields[1].schema == optional(DATE)


@pytest.mark.parametrize("value", [{"a": MS}, {"a": None}, {}])
def test_one_field_of_a_map_is_converted_null_stays_null(value: dict[str, Any]) -> None:
    found = applied(CONVERTER, {"target.type": "Timestamp", "field": "a"}, value)
    assert found == ({"a": STAMP if value.get("a") else None}, None)


def test_a_struct_without_the_field_stays_as_it_is() -> None:
    found = applied(CONVERTER, {"target.type": "unix", "field": "zz"}, VALUE, SCHEMA)
    assert found == ({**VALUE, "u": 5000}, SCHEMA)


@pytest.mark.parametrize(
    ("field", "schema", "found"),
    [("", None, None), ("ts", None, None), ("", optional(TIMESTAMP), optional(INT64))],
)
def test_null_stays_null(field: str, schema: Schema | None, found: Schema | None) -> None:
    assert applied(CONVERTER, {"target.type": "unix", "field": field}, None, schema) == (None, found)


def test_the_schema_of_a_null_struct_follows() -> None:
    schema = applied(CONVERTER, {"target.type": "unix", "field": "ts"}, None, SCHEMA)[1]
    assert schema is not None
    assert schema.fields[0].schema == INT64


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        (1.5, None), (True, None), ([1], None), ("2020/01/02", None), (5, INT32), (True, Schema("BOOLEAN")),
        (b"1", Schema("BYTES")), ("2020/01/02", TEXT), (2**62, INT64),
        (None, Schema("FLOAT64", True)), (None, struct(("a", INT64), optional=True)),
    ],
)  # fmt: skip
def test_what_is_no_time_fails(value: Any, schema: Schema | None) -> None:
    with pytest.raises(TransformError):
        applied(CONVERTER, {"target.type": "Timestamp", "format": "yyyy-MM-dd"}, value, schema)


@pytest.mark.parametrize(("value", "schema"), [(None, optional(INT64)), ({"x": None}, struct(("x", optional(INT32))))])
def test_a_field_s_schema_is_looked_at_though_the_field_is_null(value: Any, schema: Schema) -> None:
    with pytest.raises(TransformError):
        applied(CONVERTER, {"target.type": "unix", "field": "x"}, value, schema)


@pytest.mark.parametrize(("year", "found"), [(2026, 1946), (2080, 2046)])
def test_a_year_of_two_digits_is_read_from_now_on(year: int, found: int) -> None:
    converter = TimestampConverter("Value", lambda: datetime(year, 11, 21, tzinfo=UTC))
    converter.configure({"target.type": "Date", "format": "yy-MM-dd"})
    assert converter.apply(record_of("46-11-22")).value == date(found, 11, 22)


def test_texts_are_not_read_without_a_pattern() -> None:
    with pytest.raises(TransformError, match="without the option format"):
        applied(CONVERTER, {"target.type": "unix"}, "2020")


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({}, "target.type"), ({"target.type": "Unix"}, "target.type"), ({"target.type": "string"}, "format"),
        ({"target.type": "unix", "format": "yyyy-ww"}, "format"),
        ({"target.type": "unix", "unix.precision": "ms"}, "unix.precision"),
    ],
)  # fmt: skip
def test_options_that_make_no_sense_are_problems(options: dict[str, str], option: str) -> None:
    assert problem_of(CONVERTER, options)[0] == option
