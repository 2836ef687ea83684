from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engine.schemas.codecs import codec_of
from engine.schemas.framing import SchemaFrame
from engine.schemas.json_schema import JsonSchema
from engine.schemas.problems import InvalidValue, UnusableSchema
from engine.schemas.registry import SchemaText
from tests.engine.schemas.json_schema_strategies import NOTHING, DrawnSchema, objects, schemas, text_of

pytestmark = pytest.mark.unit


def problems(schema: Any, value: Any, references: dict[str, Any] | None = None) -> list[tuple[str, str]]:
    texts = {name: json.dumps(text) for name, text in (references or {}).items()}
    try:
        JsonSchema(json.dumps(schema), texts).check(json.dumps(value))
    except InvalidValue as error:
        return [(one.path, one.message) for one in error.problems]
    return []


FRAME = SchemaFrame("id", 1, b"\0\0\0\0\1")


@settings(max_examples=150, deadline=None)
@given(st.data(), schemas())
def test_decoding_and_encoding_any_value_of_any_schema_returns_its_bytes(
    data: st.DataObject, drawn: DrawnSchema
) -> None:
    codec = codec_of(SchemaText(1, "JSON", json.dumps(drawn.schema)))
    text = text_of(data.draw(drawn.values))
    encoded = FRAME.prefix + text.encode()
    found = codec.read(encoded, FRAME)
    assert (found.json, found.notes) == (text, ())
    assert FRAME.prefix + codec.write(found.json, (encoded, FRAME)) == encoded


@settings(max_examples=150, deadline=None)
@given(st.data(), objects())
def test_a_member_that_does_not_fit_is_refused_at_its_path(data: st.DataObject, drawn: DrawnSchema) -> None:
    name = data.draw(st.sampled_from(sorted(drawn.members)))
    wrong = drawn.members[name].misfit
    assume(wrong is not NOTHING)
    value = {**data.draw(drawn.values), name: wrong}
    with pytest.raises(InvalidValue) as caught:
        codec_of(SchemaText(1, "JSON", json.dumps(drawn.schema))).write(text_of(value))
    assert {one.path for one in caught.value.problems} == {name}


def test_every_problem_is_found_at_its_path() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "array", "items": {"pattern": "^x"}}},
        "required": ["c"],
    }
    found = problems(schema, {"a": "1", "b": ["x", "y"]})
    assert sorted(found) == [
        ("", "'c' is a required property"),
        ("a", "'1' is not of type 'integer'"),
        ("b[1]", "'y' does not match '^x'"),
    ]


def test_a_reference_is_resolved_from_the_registry_alone() -> None:
    schema = {"properties": {"a": {"$ref": "address.json"}}}
    assert problems(schema, {"a": 1}, {"address.json": {"type": "string"}}) == [("a", "1 is not of type 'string'")]
    with pytest.raises(UnusableSchema, match=r"refers to 'http://127\.0\.0\.1:1/x', which the registry does not list"):
        problems({"$ref": "http://127.0.0.1:1/x"}, {})


def test_a_pattern_that_takes_forever_is_stopped() -> None:
    assert problems({"pattern": "^(a|a)*$"}, "a" * 60 + "b") == [("", "a pattern of the schema took more than 0.5 s")]


@pytest.mark.parametrize("text", ["{", '{"type": 5}'])
def test_an_invalid_schema_has_a_reason(text: str) -> None:
    with pytest.raises(UnusableSchema, match="the JSON Schema is invalid"):
        JsonSchema(text, {})
