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


def test_a_number_that_equals_another_is_not_unique_and_true_is_no_number() -> None:
    schema = {"uniqueItems": True}
    assert problems(schema, [1, True, "1", None, [1], [True], {"a": 1}, {"a": True}, 0, False]) == []
    assert problems(schema, [{"a": [1], "b": 2}, {}, {"b": 2.0, "a": [1.0]}]) == [
        ("", "has non-unique elements: items 0 and 2 are equal")
    ]


@pytest.mark.slow
@pytest.mark.parametrize("schema", [{"uniqueItems": True}, {"contains": {}, "unevaluatedItems": False}])
def test_the_items_of_a_long_list_take_linear_time(schema: Any) -> None:
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    assert problems({**draft, **schema}, [{"a": number} for number in range(60_000)]) == []


SLOW: Any = {"^(a|a)*$": {}}
STOPPED = [("", "a pattern of the schema took more than 0.5 s")]
X: Any = {"patternProperties": {"^x": {}}}


@pytest.mark.parametrize(
    "schema",
    [
        {"additionalProperties": False, "patternProperties": SLOW},
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "unevaluatedProperties": False, "allOf": [
            {"if": False, "else": {"patternProperties": SLOW}}]},
        {"$schema": "https://json-schema.org/draft/2019-09/schema", "unevaluatedProperties": False,
         "patternProperties": SLOW},
    ],
)  # fmt: skip
def test_a_pattern_of_names_that_takes_forever_is_stopped(schema: Any) -> None:
    assert problems(schema, {"a" * 60 + "b": 1}) == STOPPED


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ({"additionalProperties": False}, ["Additional properties are not allowed ('b', 'x1' were unexpected)"]),
        ({"additionalProperties": {"const": 2}}, ["2 was expected"]),
        ({"additionalProperties": False, **X}, ["Additional properties are not allowed ('b' was unexpected)"]),
        ({"unevaluatedProperties": False}, ["Unevaluated properties are not allowed ('b', 'x1' were unexpected)"]),
        ({"unevaluatedProperties": {"const": 1}}, ["1 was expected"]),
        (
            {"unevaluatedProperties": False, "anyOf": [X, {"required": ["c"], "properties": {"b": {}}}]},
            ["Unevaluated properties are not allowed ('b' was unexpected)"],
        ),
        ({"unevaluatedProperties": False, "$ref": "#/$defs/b", "if": {"required": ["x1"]}, "then": X}, []),
        ({"unevaluatedProperties": False, "dependentSchemas": {"a": {"additionalProperties": True}}}, []),
    ],
)
def test_members_that_no_keyword_names_are_found(schema: Any, found: list[str]) -> None:
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": {"b": {"properties": {"b": {}}}}}
    value = {"a": 0, "b": 1, "x1": 2}
    assert [message for _, message in problems({**draft, "properties": {"a": {}}, **schema}, value)] == found


def test_references_that_branch_end_at_the_deadline() -> None:
    steps = {f"s{step}": {"allOf": [{"$ref": f"#/definitions/s{step + 1}"}] * 2} for step in range(40)}
    schema = {"$ref": "#/definitions/s0", "definitions": {**steps, "s40": {}}}
    with pytest.raises(InvalidValue, match=r"the value: takes more than 0\.2 s to be validated"):
        JsonSchema(json.dumps(schema), {}).check("1", 0.2)


@pytest.mark.parametrize("loop", [{"$ref": "#"}, {"not": {"$ref": "#"}}, {"oneOf": [True, {"$ref": "#"}]}])
def test_references_without_an_end_are_stopped(loop: Any) -> None:
    assert problems(loop, 1) == [("", "is nested too deeply to be validated")]


@pytest.mark.parametrize("pattern", [r"^\p{L}+$", r"^(?<letters>\p{L}+)$"])
def test_patterns_of_ecma_are_valid(pattern: str) -> None:
    assert problems({"pattern": pattern}, "Köln") == []
    assert [path for path, _ in problems({"pattern": pattern}, "K2")] == [""]


@pytest.mark.parametrize("schema", [{"pattern": "("}, {"properties": {"a": {"patternProperties": {"(": {}}}}}])
def test_a_broken_pattern_makes_the_schema_unusable(schema: Any) -> None:
    with pytest.raises(UnusableSchema, match=r"the JSON Schema is invalid: '\(' is not a 'regex'"):
        JsonSchema(json.dumps(schema), {})
    with pytest.raises(UnusableSchema, match=r"the JSON Schema is invalid: missing \)"):
        problems({"$ref": "other.json"}, "x", {"other.json": {"pattern": "("}})


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ({"prefixItems": [{}]}, [("", "Unevaluated items are not allowed (1, 2 were unexpected)")]),
        ({"contains": {"const": "c"}, "allOf": [{"prefixItems": [{}]}]},
         [("", "Unevaluated items are not allowed (1 was unexpected)")]),
        ({"anyOf": [{"items": {"type": "string"}}, {"maxItems": 1}]}, []),
        ({"unevaluatedItems": {"enum": ["a", "b"]}}, [("[2]", "'c' is not one of ['a', 'b']")]),
        ({"$schema": "https://json-schema.org/draft/2019-09/schema", "items": [{}, {}]},
         [("", "Unevaluated items are not allowed (2 was unexpected)")]),
        ({"$schema": "https://json-schema.org/draft/2019-09/schema", "items": [{}], "additionalItems": {}}, []),
    ],
)  # fmt: skip
def test_items_that_no_keyword_evaluates_are_found(schema: Any, found: list[tuple[str, str]]) -> None:
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema", "unevaluatedItems": False}
    assert problems({**draft, **schema}, ["a", "b", "c"]) == found
