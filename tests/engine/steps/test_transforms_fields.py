"""ExtractField, HoistField, InsertField: every row is what Kafka 4.1's own class does."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from engine.errors import TransformError
from engine.record.record import Record
from engine.record.schema import Schema
from engine.steps.transforms.field_path import split_path
from tests.engine.steps.transforming import (
    DEFAULTED,
    INT32,
    INT64,
    MAYBE,
    TEXT,
    applied,
    apply,
    problem_of,
    record_of,
    struct,
)

INNER = struct(("x", INT64), ("y.z", MAYBE), optional=True)
SCHEMA = struct(("a", INT32), ("b", MAYBE), ("d", DEFAULTED), ("n", INNER))
FULL = {"a": 1, "b": "q", "d": None, "n": {"x": 5, "y.z": "w"}}
EMPTY = {"a": 1, "b": None, "d": None, "n": None}
PLAIN: dict[str, Any] = {"a": 1, "n": {"x": 5, "y.z": "w"}, "l": [{"x": 1}]}
V2 = {"field.syntax.version": "v2"}
TIMESTAMP = Schema("INT64", name="org.apache.kafka.connect.data.Timestamp", version=1)


def optional(schema: Schema) -> Schema:
    return Schema(schema.type, True, schema.name, schema.version)


@pytest.mark.parametrize(
    ("options", "value", "schema", "found"),
    [
        ({"field": "a"}, FULL, SCHEMA, (1, INT32)), ({"field": "b"}, EMPTY, SCHEMA, (None, MAYBE)),
        ({"field": "d"}, FULL, SCHEMA, (7, DEFAULTED)), ({"field": "n"}, FULL, SCHEMA, (FULL["n"], INNER)),
        ({"field": "d", "replace.null.with.default": "false"}, FULL, SCHEMA, (None, DEFAULTED)),
        ({"field": "a"}, PLAIN, None, (1, None)), ({"field": "zz"}, PLAIN, None, (None, None)),
        ({"field": "n.x"}, PLAIN, None, (None, None)), ({"field": "a"}, None, None, (None, None)),
        ({"field": "a"}, None, struct(("a", INT32), optional=True), (None, INT32)),
        ({"field": "n.x", **V2}, FULL, SCHEMA, (5, INT64)), ({"field": "n.x", **V2}, EMPTY, SCHEMA, (None, INT64)),
        ({"field": "n.`y.z`", **V2}, FULL, SCHEMA, ("w", MAYBE)), ({"field": "`n`.x", **V2}, PLAIN, None, (5, None)),
        ({"field": "s.d", **V2}, {"s": None}, struct(("s", struct(("d", DEFAULTED)))), (None, DEFAULTED)),
        ({"field": "n.y.z", **V2}, {"n": {}}, None, (None, None)), ({"field": "n..x", **V2}, PLAIN, None, (None, None)),
    ],
)  # fmt: skip
def test_one_field_takes_the_place_of_all(
    options: dict[str, str], value: Any, schema: Schema | None, found: tuple[Any, Schema]
) -> None:
    assert applied("ExtractField$Value", options, value, schema) == found


@pytest.mark.parametrize(
    ("options", "value", "schema"),
    [
        ({"field": "zz"}, FULL, SCHEMA), ({"field": "n.x"}, FULL, SCHEMA), ({"field": "n.zz", **V2}, FULL, SCHEMA),
        ({"field": "a.x", **V2}, FULL, SCHEMA), ({"field": "a.x", **V2}, PLAIN, None),
        ({"field": "l.x", **V2}, PLAIN, None), ({"field": "a"}, 5, None), ({"field": "a"}, [1], None),
        ({"field": "a"}, 5, INT32), ({"field": "a"}, {"a": 1}, Schema("MAP", keys=TEXT, items=INT32)),
    ],
)  # fmt: skip
def test_where_there_can_be_no_such_field_the_record_fails(
    options: dict[str, str], value: Any, schema: Schema | None
) -> None:
    with pytest.raises(TransformError):
        applied("ExtractField$Value", options, value, schema)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("a", ("a",)), ("a.b.c", ("a", "b", "c")), ("`a.b`.c", ("a.b", "c")), ("a.`b.c`", ("a", "b.c")),
        ("`a.b`", ("a.b",)), ("a`.b", ("a`", "b")), (".a", ("", "a")), ("a..b", ("a", "", "b")), ("a.", ("a", "")),
        ("`a\\`.b`.c", ("a`.b", "c")), ("`a`b`.c", ("a`b", "c")), ("``", ("",)), ("`a`.", ("a", "")),
    ],
)  # fmt: skip
def test_paths_have_dots_and_backticks(text: str, steps: tuple[str, ...]) -> None:
    """FieldSyntaxVersionTest, SingleFieldPathTest."""
    assert split_path(text, "V2") == steps
    assert split_path(text, "V1") == (text,)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, ("field", "is required")), ({"field": ""}, ("field", "must not be empty")),
        ({"field": "a", "field.syntax.version": "V3"}, ("field.syntax.version", "must be one of V1, V2")),
    ],
)  # fmt: skip
def test_a_path_that_is_none_is_a_problem(options: dict[str, str], problem: tuple[str, str]) -> None:
    option, message = problem_of("ExtractField$Value", options)
    assert (option, message.partition(";")[0]) == problem


@pytest.mark.parametrize("path", ["a.`b.c", "a.`b\\`", "a.`b`c"])
def test_a_backtick_that_is_never_closed_is_shown(path: str) -> None:
    option, message = problem_of("ExtractField$Value", {"field": path, **V2})
    assert option == "field"
    assert "backtick for the one at index 2" in message


@pytest.mark.parametrize(
    ("value", "schema"),
    [(5, None), (None, None), (PLAIN, None), (3, INT32), (None, MAYBE), (FULL, SCHEMA), (None, DEFAULTED)],
)
def test_a_whole_value_is_hoisted_null_too(value: Any, schema: Schema | None) -> None:
    hoisted = None if schema is None else struct(("h", schema))
    assert applied("HoistField$Value", {"field": "h"}, value, schema) == ({"h": value}, hoisted)


def test_null_is_not_hoisted_into_a_field_that_wants_a_value() -> None:
    with pytest.raises(TransformError, match="field h"):
        applied("HoistField$Value", {"field": "h"}, None, INT32)


def test_the_same_schema_gives_the_same_schema() -> None:
    first, second = (applied("HoistField$Value", {"field": "h"}, 1, INT32)[1] for _ in range(2))
    assert first == second


ALL = {
    "topic.field": "tt!", "partition.field": "pp?", "offset.field": "oo!", "timestamp.field": "ts!",
    "static.field": "s!", "static.value": "sv",
}  # fmt: skip


def test_what_is_known_of_a_record_is_inserted_without_a_schema() -> None:
    found = applied("InsertField$Value", ALL, {"a": 1})
    assert found == ({"a": 1, "tt": "t", "pp": 1, "oo": 5, "ts": 1500000000123, "s": "sv"}, None)


def test_what_is_known_of_a_record_is_inserted_with_its_schema() -> None:
    schema = struct(("a", INT32), ("d", DEFAULTED), optional=True, name="r")
    value, found = applied("InsertField$Value", ALL, {"a": 1, "d": None}, schema)
    stamp = datetime(2017, 7, 14, 2, 40, 0, 123000, UTC)
    assert value == {"a": 1, "d": 7, "tt": "t", "pp": 1, "oo": 5, "ts": stamp, "s": "sv"}
    fields = (("tt", TEXT), ("pp", optional(INT32)), ("oo", INT64), ("ts", TIMESTAMP), ("s", TEXT))
    assert found == struct(("a", INT32), ("d", DEFAULTED), *fields, name="r")


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"topic.field": "x"}, ("x", MAYBE)), ({"topic.field": "x!?"}, ("x!", MAYBE)),
        ({"topic.field": "x?!"}, ("x?", TEXT)), ({"offset.field": "x"}, ("x", optional(INT64))),
        ({"timestamp.field": "x?"}, ("x", optional(TIMESTAMP))),
    ],
)  # fmt: skip
def test_a_new_field_is_optional_unless_it_ends_in_an_exclamation_mark(
    options: dict[str, str], field: tuple[str, Schema]
) -> None:
    assert applied("InsertField$Value", options, {}, struct())[1] == struct(field)


def test_nulls_are_kept_as_they_are_where_asked_for() -> None:
    options = {"topic.field": "x", "replace.null.with.default": "false"}
    assert applied("InsertField$Value", options, {"d": None}, struct(("d", DEFAULTED)))[0] == {"d": None, "x": "t"}


@pytest.mark.parametrize("schema", [None, struct(("a", INT32), optional=True)])
def test_null_stays_null(schema: Schema | None) -> None:
    assert applied("InsertField$Value", {"topic.field": "x"}, None, schema) == (None, schema)


def test_a_key_gets_its_field_though_the_value_is_a_tombstone() -> None:
    found = apply("InsertField$Key", {"topic.field": "x"}, Record("t", 1, 0, {"a": 1}, None))
    assert (found.key, found.value) == ({"a": 1, "x": "t"}, None)


def test_a_map_s_field_of_that_name_is_replaced_and_a_struct_s_is_an_error() -> None:
    assert applied("InsertField$Value", {"topic.field": "a"}, {"a": 1})[0] == {"a": "t"}
    with pytest.raises(TransformError, match="would contain the field a twice"):
        applied("InsertField$Value", {"topic.field": "a"}, {"a": 1}, struct(("a", INT32)))


@pytest.mark.parametrize(("value", "schema"), [(5, None), ([], None), (5, INT32)])
def test_what_has_no_fields_fails(value: Any, schema: Schema | None) -> None:
    with pytest.raises(TransformError, match="for field insertion"):
        applied("InsertField$Value", {"topic.field": "x"}, value, schema)


def test_a_record_without_a_timestamp_gets_none() -> None:
    record = Record("t", 1, None, None, {"a": 1})
    assert apply("InsertField$Value", {"timestamp.field": "ts"}, record).value == {"a": 1}


def test_a_record_of_a_source_has_no_offset_to_insert() -> None:
    with pytest.raises(TransformError, match="works only in sinks"):
        apply("InsertField$Value", {"offset.field": "o"}, record_of({"a": 1}, offset=None))


@pytest.mark.parametrize(
    ("options", "option"),
    [({}, "topic.field"), ({"static.value": "x"}, "topic.field"), ({"static.field": "x"}, "static.value")],
)
def test_nothing_to_insert_is_a_problem(options: dict[str, str], option: str) -> None:
    assert problem_of("InsertField$Value", options)[0] == option
