from __future__ import annotations

import json
import time
from typing import Any

import pytest

from dlqadmin.replays.fixes.error_fields import ErrorField, error_fields, fields_of_all
from dlqadmin.replays.fixes.field_paths import candidates, jq_path, loaded_json, nodes, plain_name, pointer_of

QUAKE = {"type": "Feature", "properties": {"gap": None, "mag": 1.6, "magType": "ml"}, "geometry": {"xs": [1, 2]}}
ROW = {"before": {"gap": 1}, "after": {"gap": None}, "source": {"table": "earthquakes"}}


@pytest.mark.parametrize(
    ("message", "found"),
    [
        (
            'null value in column "gap" of relation "earthquakes" violates not-null constraint',
            ErrorField("gap", "null", "earthquakes"),
        ),
        (
            "(psycopg.errors.NotNullViolation) null value in column gap violates not-null constraint",
            ErrorField("gap", "null"),
        ),
        ("NOT NULL constraint failed: earthquakes.gap", ErrorField("gap", "null", "earthquakes")),
        ("NOT NULL constraint failed: quakes.properties.gap", ErrorField("properties.gap", "null", "quakes")),
        ("(1048, \"Column 'gap' cannot be null\")", ErrorField("gap", "null")),
        ("Field 'gap' doesn't have a default value", ErrorField("gap", "missing")),
        (
            "Cannot insert the value NULL into column 'gap', table 'seismo.dbo.earthquakes'; nulls are refused.",
            ErrorField("gap", "null", "earthquakes"),
        ),
        ('ORA-01400: cannot insert NULL into ("SEISMO"."EARTHQUAKES"."GAP")', ErrorField("GAP", "null", "EARTHQUAKES")),
        (
            'Invalid value: null used for required field: "gap", schema type: FLOAT64',
            ErrorField("gap", "null", type="float64"),
        ),
        ("Missing required field: gap", ErrorField("gap", "missing")),
        ("Missing required field: properties.gap", ErrorField("properties.gap", "missing")),
        ("Missing required creator property 'gap' (index 2)", ErrorField("gap", "missing")),
        ("'gap' is a required property", ErrorField("gap", "missing")),
        ("required key [gap] not found", ErrorField("gap", "missing")),
        ("Field gap must not be null", ErrorField("gap", "null")),
        ("field mag: '<withheld>' can't be cast to float64", ErrorField("mag", "type", type="float64")),
        ("field properties.mag: 'n/a' can't be cast to int32", ErrorField("properties.mag", "type", type="int32")),
        ("field mag is a STRUCT, which can't be cast to string", ErrorField("mag", "type", type="string")),
        (
            'column "mag" is of type double precision but expression is of type character varying',
            ErrorField("mag", "type", type="double"),
        ),
        ("Incorrect double value: 'n/a' for column 'mag' at row 1", ErrorField("mag", "type", type="double")),
        (
            'Not a valid `double` (through reference chain: shop.Quake["properties"]->shop.Properties["mag"])',
            ErrorField("properties.mag", "type"),
        ),
    ],
)
def test_real_errors_name_their_field(message: str, found: ErrorField) -> None:
    assert error_fields(message) == (found,)


@pytest.mark.parametrize(
    "message",
    ["", "unexpected character: line 1 column 51 (char 50)", "duplicate key value violates unique constraint", "null"],
)
def test_other_errors_name_none(message: str) -> None:
    assert error_fields(message) == ()


def test_a_long_word_is_searched_quickly() -> None:
    began = time.process_time()
    assert error_fields("a" * 8000) == error_fields("column " * 1000) == ()
    assert time.process_time() - began < 0.5


def test_the_fields_of_many_errors_occur_once() -> None:
    errors = ["NOT NULL constraint failed: quakes.gap", "NOT NULL constraint failed: quakes.nst"] * 3
    assert [one.name for one in fields_of_all(errors)] == ["gap", "nst"]


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("gap", QUAKE, [".properties.gap"]),
        ("GAP", QUAKE, [".properties.gap"]),
        ("properties.gap", QUAKE, [".properties.gap"]),  # by Flatten
        ("properties_gap", QUAKE, [".properties.gap"]),
        ("earthquakes.gap", QUAKE, [".properties.gap"]),  # a table
        ("mag_type", QUAKE, [".properties.magType"]),
        ("mag", QUAKE, [".properties.mag"]),
        ("geometry_xs_1", QUAKE, [".geometry.xs[1]"]),
        ("dmin", QUAKE, []),
        ("ap", QUAKE, []),  # not a part of a name
        ("gap", {"gap": None}, [".gap"]),
        ("gap", {"gap": 1, "properties": {"gap": None}}, [".gap", ".properties.gap"]),
        ("gap", {"GAP": 1, "properties": {"gap": None}}, [".properties.gap"]),  # spelling counts first
        ("a_b", {"a": {"b": 1}, "a_b": 2}, [".a_b", ".a.b"]),
        ("gap", {"payload": ROW}, [".payload.after.gap", ".payload.before.gap"]),  # Debezium
        ("gap", {"schema": {"name": "x", "gap": 1}, "payload": {"gap": None}}, [".payload.gap"]),  # Connect
        ("type", {"schema": {"type": "struct"}, "payload": {"kind": 1}}, []),
        ("unit price", {"lines": [{"unit price": None}]}, ['.lines[0]["unit price"]']),
        ("end", {"end": None}, ['.["end"]']),
    ],
)
def test_a_column_is_found_in_the_values(name: str, value: Any, found: list[str]) -> None:
    assert [jq_path(path) for path in candidates(name, [path for path, _ in nodes(value)])] == found


def test_a_path_is_written_for_each_language() -> None:
    path = ("a/b", 0, "c")
    assert (jq_path(path), pointer_of(path), plain_name(path)) == ('.["a/b"][0].c', "/a~1b/0/c", "a/b[0].c")


@pytest.mark.parametrize("data", [None, b"", b"{", b"NaN", b'{"a":Infinity}', b"[" * 100_000, b"\xff"])
def test_other_bytes_have_no_fields(data: bytes | None) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 (the text is that of the parser)
        loaded_json(data)


def test_deep_and_wide_values_have_a_limited_number_of_paths() -> None:
    deep: Any = 1
    for _ in range(50):
        deep = {"a": deep}
    assert len(list(nodes(deep))) == 20
    assert len(list(nodes(json.loads(f"[{'1,' * 99}1]")))) == 8
