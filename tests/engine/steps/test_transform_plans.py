"""What transforms work out once for a schema holds for every record with it, even one that is not as it says."""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.config.worker import StepConfig
from engine.errors import TransformError
from engine.record.schema import Schema
from engine.steps.per_schema import once_per_schema
from engine.steps.registry import build_transform
from engine.steps.transforms.cast import _CASTS
from tests.engine.steps.transforming import INT64, TEXT, applied, apply, record_of, struct

KINDS = sorted(_CASTS)
PLAIN = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(-(2**65), 2**65)
    | st.sampled_from([2**63, -(2**63), -(2**63) - 1, 2**64, 10**400])
    | st.floats()
    | st.floats(width=32)
    | st.text()
    | st.integers().map(str)
    | st.floats().map(str)
    | st.sampled_from(["true", "TRUE", "9" * 5000, ""])
)
DOUBLE = Schema("FLOAT64", optional=True)
EVENT = struct(("a", INT64), ("b", TEXT), ("c", DOUBLE))
RENAMES = {"exclude": "b", "renames": "a:x,d:y"}
STEPS = [
    ("ReplaceField$Value", RENAMES),
    ("ReplaceField$Value", {"exclude": "b"}),
    ("Cast$Value", {"spec": "a:string,c:float32"}),
    ("InsertField$Value", {"topic.field": "t", "timestamp.field": "ts", "static.field": "s", "static.value": "x"}),
    ("TimestampConverter$Value", {"field": "a", "target.type": "Timestamp"}),
    ("MaskField$Value", {"fields": "a,b"}),
    ("MaskField$Value", {"fields": "b", "replacement": "*"}),
]


def test_what_a_schema_leads_to_is_built_once_as_long_as_the_same_ones_come() -> None:
    built: list[Schema] = []

    def count(schema: Schema) -> int:
        built.append(schema)
        return len(schema.fields)

    length = once_per_schema(count)
    first, same = struct(("a", INT64)), struct(("a", INT64))
    assert [length(first), length(same), length(first), length(EVENT)] == [1, 1, 1, 3]
    assert [id(schema) for schema in built] == [id(first), id(same), id(EVENT)]


def test_thousands_of_schemas_that_come_once_are_not_taken_for_one_another() -> None:
    names = once_per_schema(lambda schema: schema.name)
    assert [names(struct(name=str(number))) for number in range(3000)] == [str(number) for number in range(3000)]


def test_what_can_not_be_built_is_tried_again() -> None:
    schema = struct(("a", INT64), ("t", TEXT))
    step = ("InsertField$Value", {"topic.field": "t"})
    for _ in range(2):
        with pytest.raises(TransformError, match="twice"):
            applied(*step, {"a": 1, "t": "x"}, schema)


@pytest.mark.parametrize("kind", KINDS)
@given(value=PLAIN)
def test_a_field_is_cast_as_a_whole_value_is(kind: str, value: Any) -> None:
    def cast(spec: str, given: Any, schema: Schema | None) -> Any:
        try:
            found = applied("Cast$Value", {"spec": spec}, given, schema)[0]
        except TransformError as error:
            return str(error).replace("field f", "the value", 1)
        return repr(found["f"] if isinstance(given, dict) else found)

    whole = cast(kind, value, None)
    assert cast(f"f:{kind}", {"f": value}, None) == whole
    assert cast(f"f:{kind}", {"f": value}, struct(("f", DOUBLE))) == whole


@given(fields=st.dictionaries(st.sampled_from(["a", "b", "c", "d", "e"]), st.integers()))
def test_a_struct_that_is_not_as_its_schema_says_keeps_what_it_has_in_its_order(fields: dict[str, int]) -> None:
    found = applied("ReplaceField$Value", RENAMES, fields, EVENT)[0]
    renamed = {{"a": "x", "d": "y"}.get(name, name): part for name, part in fields.items() if name != "b"}
    assert list(found.items()) == list(renamed.items())


@pytest.mark.parametrize(("options", "found"), [
    (RENAMES, {"x": 1, "c": 2.5}), ({"include": "c,a", "renames": "c:z"}, {"a": 1, "z": 2.5}),
    ({"include": "b", "renames": "b:z"}, {"z": "q"}), ({"include": "n", "renames": "b:z"}, {}),
])  # fmt: skip
def test_fields_of_a_struct_keep_their_order_under_new_names(options: dict[str, str], found: dict[str, Any]) -> None:
    fields, schema = applied("ReplaceField$Value", options, {"a": 1, "b": "q", "c": 2.5}, EVENT)
    assert schema is not None
    assert list(fields.items()) == list(found.items())
    assert [field.name for field in schema.fields] == list(found)


@pytest.mark.parametrize(("name", "options"), STEPS)
@pytest.mark.parametrize("schema", [None, EVENT])
def test_the_record_that_is_given_stays_as_it_is(name: str, options: dict[str, str], schema: Schema | None) -> None:
    record = record_of({"a": 1, "b": "q", "c": 2.5}, schema)
    found = apply(name, options, record)
    assert record.value == {"a": 1, "b": "q", "c": 2.5}
    assert found.value != record.value
    assert (found.key, found.key_schema) == (record.key, schema)


@pytest.mark.parametrize(("name", "options"), STEPS)
@pytest.mark.parametrize("schema", [None, EVENT])
@pytest.mark.parametrize("made", [OrderedDict, lambda fields: defaultdict(list, fields)])
def test_another_kind_of_map_comes_out_as_a_plain_one(
    name: str, options: dict[str, str], schema: Schema | None, made: Any
) -> None:
    fields = {"a": 1, "b": "q", "c": 2.5}
    given = made(fields)
    found = applied(name, options, given, schema)
    assert found == applied(name, options, fields, schema)
    assert (type(found[0]), given) == (dict, fields)


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [
        ("ReplaceField$Value", RENAMES, {"include": "c,a", "renames": "c:z"}),
        ("Cast$Value", {"spec": "a:string"}, {"spec": "c:float32"}),
        ("InsertField$Value", {"topic.field": "t"}, {"static.field": "s", "static.value": "x"}),
        ("TimestampConverter$Value", {"field": "a", "target.type": "Timestamp"}, {"field": "a", "target.type": "unix"}),
        ("MaskField$Value", {"fields": "a"}, {"fields": "b"}),
    ],
)
def test_nothing_is_left_of_options_that_are_replaced(name: str, first: dict[str, str], second: dict[str, str]) -> None:
    record = record_of({"a": 1, "b": "q", "c": 2.5}, EVENT)
    transform: Any = build_transform(StepConfig("x", name, first))
    transform.apply(record)
    transform.configure(second)
    assert transform.apply(record) == apply(name, second, record)


def test_a_whole_value_is_cast_as_the_last_options_say() -> None:
    transform: Any = build_transform(StepConfig("x", "Cast$Value", {"spec": "string"}))
    record = record_of(1, INT64)
    transform.apply(record)
    transform.configure({"spec": "int8"})
    assert transform.apply(record) == apply("Cast$Value", {"spec": "int8"}, record)


def test_what_is_wrong_with_a_schema_is_told_before_what_is_wrong_with_a_value() -> None:
    schema = struct(("a", INT64), ("b", Schema("STRING", default="x")))
    with pytest.raises(TransformError, match="the value: '<withheld>' can't be cast to int8"):
        applied("Cast$Value", {"spec": "a:int8,b:int8"}, {"a": "no number", "b": "1"}, schema)
    with pytest.raises(TransformError, match="would contain the field a twice"):
        apply("InsertField$Value", {"offset.field": "a"}, record_of({"a": 1, "b": "1"}, schema, offset=None))
