"""DropHeaders, HeaderFrom, InsertHeader: every row is what Kafka 4.1's own class does."""

from __future__ import annotations

from typing import Any

import pytest

from engine.errors import TransformError
from engine.record.schema import Schema
from tests.engine.steps.transforming import DEFAULTED, INT32, MAYBE, apply, problem_of, record_of, struct

HEADERS = (("h", INT32, 1), ("g", None, "x"), ("h", None, None))
SCHEMA = struct(("a", INT32), ("b", MAYBE), ("d", DEFAULTED), optional=True, name="r")
VALUE = {"a": 1, "b": None, "d": None}


def header_from(fields: str, headers: str, operation: str, **more: str) -> dict[str, str]:
    return {"fields": fields, "headers": headers, "operation": operation, **more}


@pytest.mark.parametrize(("names", "left"), [("h", HEADERS[1:2]), ("h, g", ()), ("H,zz", HEADERS)])
def test_headers_of_these_names_are_dropped(names: str, left: tuple[Any, ...]) -> None:
    assert apply("DropHeaders", {"headers": names}, record_of(1, headers=HEADERS)).headers == left


@pytest.mark.parametrize(
    ("literal", "schema", "value"),
    [
        ("5", Schema("INT8"), 5), ("128", Schema("INT16"), 128), ("abc", Schema("STRING"), "abc"),
        ("true", Schema("BOOLEAN"), True), ("null", None, None), ("", Schema("STRING"), ""),
        ("[1,2]", Schema("ARRAY", items=Schema("INT8")), [1, 2]), ("1.5", Schema("FLOAT32"), 1.5),
    ],
)  # fmt: skip
def test_a_header_is_added_at_the_end_with_the_type_of_its_text(literal: str, schema: Schema, value: Any) -> None:
    found = apply("InsertHeader", {"header": "h", "value.literal": literal}, record_of(1, headers=HEADERS))
    assert found.headers == (*HEADERS, ("h", schema, value))


def test_fields_move_into_headers_with_their_schemas() -> None:
    record = record_of(VALUE, SCHEMA, headers=HEADERS)
    found = apply("HeaderFrom$Value", header_from("a,d", "x,y", "move"), record)
    assert found.headers == (*HEADERS, ("x", INT32, 1), ("y", DEFAULTED, 7))
    assert (found.value, found.value_schema) == ({"b": None}, struct(("b", MAYBE), name="r"))
    assert (found.key, found.key_schema) == (VALUE, SCHEMA)


def test_fields_are_copied_into_headers() -> None:
    found = apply("HeaderFrom$Value", header_from("a,a", "x,y", "copy"), record_of(VALUE, SCHEMA))
    assert found.headers == (("x", INT32, 1), ("y", INT32, 1))
    assert (found.value, found.value_schema) == (VALUE, SCHEMA)


def test_a_header_is_null_where_defaults_are_not_asked_for() -> None:
    options = header_from("d", "x", "copy", **{"replace.null.with.default": "false"})
    assert apply("HeaderFrom$Value", options, record_of(VALUE, SCHEMA)).headers == (("x", DEFAULTED, None),)


@pytest.mark.parametrize(
    ("operation", "fields", "headers", "left"),
    [
        ("move", "a", (("x", None, 1),), {"n": {"q": 1}, "z": None}),
        ("copy", "n", (("x", None, {"q": 1}),), {"a": 1, "n": {"q": 1}, "z": None}),
        ("move", "zz", (("x", None, None),), {"a": 1, "n": {"q": 1}, "z": None}),
        ("move", "z", (("x", None, None),), {"a": 1, "n": {"q": 1}}),
    ],
)  # fmt: skip
def test_fields_of_a_map_become_headers_missing_ones_null(
    operation: str, fields: str, headers: tuple[Any, ...], left: dict[str, Any]
) -> None:
    record = record_of({"a": 1, "n": {"q": 1}, "z": None})
    found = apply("HeaderFrom$Key", header_from(fields, "x", operation), record)
    assert (found.headers, found.key, found.value) == (headers, left, record.value)


@pytest.mark.parametrize("operation", ["move", "copy"])
@pytest.mark.parametrize(
    ("value", "schema"), [(None, None), (5, None), (5, INT32), (None, SCHEMA), ({"b": 1}, struct(("b", INT32)))]
)
def test_where_there_can_be_no_such_field_the_record_fails(operation: str, value: Any, schema: Schema | None) -> None:
    with pytest.raises(TransformError):
        apply("HeaderFrom$Value", header_from("a", "x", operation), record_of(value, schema))


@pytest.mark.parametrize(
    ("name", "options", "option"),
    [
        ("DropHeaders", {}, "headers"), ("DropHeaders", {"headers": ""}, "headers"),
        ("InsertHeader", {"header": "h"}, "value.literal"), ("InsertHeader", {"value.literal": "x"}, "header"),
        ("HeaderFrom$Value", header_from("a", "x,y", "move"), "headers"),
        ("HeaderFrom$Value", header_from("a", "x", "MOVE"), "operation"),
        ("HeaderFrom$Value", header_from("", "", "move"), "fields"),
    ],
)  # fmt: skip
def test_options_that_make_no_sense_are_problems(name: str, options: dict[str, str], option: str) -> None:
    assert problem_of(name, options)[0] == option
