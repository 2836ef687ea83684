"""MaskField, SetSchemaMetadata, ValueToKey: every row is what Kafka 4.1's own class does."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest

from engine.errors import TransformError
from engine.record.schema import Schema
from tests.engine.steps.transforming import DEFAULTED, INT32, MAYBE, TEXT, applied, apply, problem_of, record_of, struct

NOON = datetime(2020, 1, 2, 12, tzinfo=UTC)
MAP = Schema("MAP", keys=TEXT, items=INT32)


@pytest.mark.parametrize(
    ("value", "masked"),
    [
        (5, 0), (1.5, 0.0), (True, False), ("x", ""), ([1], []), ({"x": 1}, {}), (None, None),
        (Decimal("1.50"), Decimal(0)),
        (NOON, datetime(1970, 1, 1, tzinfo=UTC)), (NOON.date(), date(1970, 1, 1)), (time(12), time(0)),
    ],
)  # fmt: skip
def test_a_masked_field_is_empty(value: Any, masked: Any) -> None:
    found = applied("MaskField$Value", {"fields": "a,zz"}, {"a": value, "b": 1})[0]
    assert found == {"a": masked, "b": 1, "zz": None}
    assert type(found["a"]) is type(masked)


@pytest.mark.parametrize(
    ("value", "replacement", "masked"),
    [
        (5, "7", 7), (5, "1e3", 1000), (5, "1.9", 1), (5, "9223372036854775808", -(2**63)), (1.5, "7", 7.0),
        (1.5, "-1e400", float("-inf")), ("x", "***", "***"), ("x", "7", "7"), (Decimal(1), "7.50", Decimal("7.50")),
        (None, "7", None),
    ],
)  # fmt: skip
def test_numbers_and_texts_have_a_replacement(value: Any, replacement: str, masked: Any) -> None:
    found = applied("MaskField$Value", {"fields": "a", "replacement": replacement}, {"a": value})[0]["a"]
    assert found == masked
    assert type(found) is type(masked)


@pytest.mark.parametrize(("kind", "found"), [("INT8", -128), ("INT16", 128), ("INT64", 128), ("FLOAT32", 128.0)])
def test_a_replacement_is_of_the_field_s_type(kind: str, found: float) -> None:
    schema = struct(("a", Schema(kind)))
    value = 1.0 if kind == "FLOAT32" else 1
    assert applied("MaskField$Value", {"fields": "a,zz", "replacement": "128"}, {"a": value}, schema) == (
        {"a": found},
        schema,
    )


@pytest.mark.parametrize("value", [True, [1], {"x": 1}, b"1", NOON])
def test_other_types_have_no_replacement(value: Any) -> None:
    with pytest.raises(TransformError, match=r"field a has the type .*can't be masked with a replacement"):
        applied("MaskField$Value", {"fields": "a", "replacement": "7"}, {"a": value})


@pytest.mark.parametrize("replacement", ["abc", "5f", "NaN", "0x10"])
@pytest.mark.parametrize("value", [5, 1.5, Decimal(1)])
def test_a_replacement_for_numbers_is_a_number(value: Any, replacement: str) -> None:
    with pytest.raises(TransformError, match=f"field a: the replacement {replacement} is not a number"):
        applied("MaskField$Value", {"fields": "a", "replacement": replacement}, {"a": value})


def test_bytes_and_structs_have_no_mask_and_maps_have() -> None:
    schema = struct(("m", MAP), ("s", struct(("x", INT32))), ("b", Schema("BYTES")))
    value = {"m": {"a": 1}, "s": {"x": 1}, "b": b"1"}
    assert applied("MaskField$Value", {"fields": "m"}, value, schema)[0] == {**value, "m": {}}
    for name in ("s", "b"):
        with pytest.raises(TransformError, match=f"field {name} has the type .*can't be masked"):
            applied("MaskField$Value", {"fields": name}, value, schema)


@pytest.mark.parametrize(("replace", "masked"), [("true", 0), ("false", None)])
def test_a_default_is_masked_where_it_stands_for_null(replace: str, masked: int | None) -> None:
    options = {"fields": "d", "replace.null.with.default": replace}
    assert applied("MaskField$Value", options, {"d": None}, struct(("d", DEFAULTED)))[0] == {"d": masked}


NOTED = Schema(
    "STRUCT", True, "old", 3, "d", fields=struct(("a", INT32), ("d", DEFAULTED)).fields, parameters={"q": "1"}
)


@pytest.mark.parametrize(
    ("options", "name", "version"),
    [
        ({"schema.name": "new"}, "new", 3), ({"schema.version": "9"}, "old", 9), ({"schema.name": ""}, "", 3),
        ({"schema.name": "new", "schema.version": "-1"}, "new", -1),
    ],
)  # fmt: skip
def test_a_schema_gets_name_and_version(options: dict[str, str], name: str, version: int) -> None:
    value, schema = applied("SetSchemaMetadata$Value", options, {"a": 1, "d": None}, NOTED)
    assert value == {"a": 1, "d": 7}
    assert schema == Schema("STRUCT", True, name, version, "d", fields=NOTED.fields, parameters={"q": "1"})


def test_null_of_a_struct_gets_the_schema_too_and_null_without_one_passes() -> None:
    options = {"schema.name": "new", "replace.null.with.default": "false"}
    assert applied("SetSchemaMetadata$Value", options, None, struct(optional=True))[1] == struct(
        optional=True, name="new"
    )
    assert applied("SetSchemaMetadata$Value", options, None) == (None, None)
    assert applied("SetSchemaMetadata$Value", options, {"d": None}, NOTED)[0] == {"d": None}


@pytest.mark.parametrize(("value", "schema"), [(5, None), ({}, None), (5, INT32), ([1], Schema("ARRAY", items=INT32))])
def test_only_a_struct_s_metadata_can_be_set(value: Any, schema: Schema | None) -> None:
    with pytest.raises(TransformError, match="metadata"):
        applied("SetSchemaMetadata$Value", {"schema.name": "new"}, value, schema)


def test_a_key_is_made_of_fields_of_the_value() -> None:
    schema = struct(("a", INT32), ("d", DEFAULTED), ("o", MAYBE), optional=True, name="r")
    found = apply("ValueToKey", {"fields": "d,a"}, record_of({"a": 1, "d": None, "o": None}, schema))
    assert (found.key, found.key_schema) == ({"d": 7, "a": 1}, struct(("d", DEFAULTED), ("a", INT32)))
    assert (found.value, found.value_schema) == ({"a": 1, "d": None, "o": None}, schema)


def test_a_key_has_null_where_a_map_has_no_field() -> None:
    found = apply("ValueToKey", {"fields": "a,zz"}, record_of({"a": 1, "b": 2}))
    assert (found.key, found.key_schema) == ({"a": 1, "zz": None}, None)


def test_a_key_has_null_where_defaults_are_not_asked_for() -> None:
    options = {"fields": "d", "replace.null.with.default": "false"}
    assert apply("ValueToKey", options, record_of({"d": None}, struct(("d", DEFAULTED)))).key == {"d": None}


@pytest.mark.parametrize(
    ("fields", "value", "schema"),
    [
        ("a", None, None), ("a", 5, None), ("a", 5, INT32), ("a", None, struct(("a", INT32), optional=True)),
        ("a,zz", {"a": 1}, struct(("a", INT32))), ("a,a", {"a": 1}, struct(("a", INT32))),
    ],
)  # fmt: skip
def test_a_value_without_these_fields_makes_no_key(fields: str, value: Any, schema: Schema | None) -> None:
    with pytest.raises(TransformError):
        apply("ValueToKey", {"fields": fields}, record_of(value, schema))


@pytest.mark.parametrize(("value", "schema"), [(None, None), (5, None), (5, INT32), (None, struct(optional=True))])
def test_what_has_no_fields_is_not_masked(value: Any, schema: Schema | None) -> None:
    with pytest.raises(TransformError, match="for masking"):
        applied("MaskField$Value", {"fields": "a"}, value, schema)


@pytest.mark.parametrize(
    ("name", "options", "option"),
    [
        ("MaskField$Value", {}, "fields"), ("MaskField$Value", {"fields": "a", "replacement": ""}, "replacement"),
        ("SetSchemaMetadata$Value", {}, "schema.name"), ("ValueToKey", {"fields": ""}, "fields"),
        ("SetSchemaMetadata$Value", {"schema.version": "x"}, "schema.version"),
    ],
)  # fmt: skip
def test_options_that_make_no_sense_are_problems(name: str, options: dict[str, str], option: str) -> None:
    assert problem_of(name, options)[0] == option
