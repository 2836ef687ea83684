from __future__ import annotations

from typing import Any

import pytest

from engine.config.connector import read_connector
from engine.config.worker import StepConfig
from engine.errors import ConfigError, TransformError
from engine.record.record import Record
from engine.record.schema import Schema
from engine.record.stage import StageType
from engine.steps.connector_stages import sink_stages
from engine.steps.registry import build_transform, step_problems
from tests.engine.steps.transforming import INT32, TEXT, struct

OPTIONAL = Schema("INT64", optional=True)


class Shout:
    def configure(self, configs: dict[str, str]) -> None:
        self.mark = configs.get("mark", "!")

    def apply(self, record: Record) -> Record | None:
        return None if record.value is None else record


def applied(name: str, options: dict[str, str], value: Any, schema: Schema | None = None) -> Record:
    found = build_transform(StepConfig("x", name, options)).apply(Record("t", 0, 0, value, value, schema, schema))
    assert found is not None
    return found


def value_of(name: str, options: dict[str, str], value: Any) -> Any:
    return applied(name, options, value).value


NUMBERS = {"a": 1, "b": 2, "c": 3}


@pytest.mark.parametrize(
    ("options", "left"),
    [
        ({"exclude": "a,b"}, {"c": 3}), ({"blacklist": "a"}, {"b": 2, "c": 3}), ({"include": "c,a"}, {"a": 1, "c": 3}),
        ({"whitelist": "a,b", "exclude": "b"}, {"a": 1}), ({"renames": "a:x, z:y"}, {"x": 1, "b": 2, "c": 3}),
        ({}, NUMBERS), ({"include": "z"}, {}),
    ],
)  # fmt: skip
def test_fields_are_kept_left_out_and_renamed(options: dict[str, str], left: dict[str, int]) -> None:
    assert value_of("ReplaceField$Value", options, NUMBERS) == left


def test_fields_are_replaced_with_their_schema() -> None:
    schema = struct(("a", INT32), ("b", TEXT))
    found = applied("ReplaceField$Value", {"exclude": "a", "renames": "b:x"}, {"a": 1, "b": "y"}, schema)
    assert (found.value, found.value_schema) == ({"x": "y"}, struct(("x", TEXT)))


def test_the_key_variant_leaves_the_value_alone() -> None:
    found = applied("org.apache.kafka.connect.transforms.ReplaceField$Key", {"include": "a"}, NUMBERS)
    assert (found.key, found.value) == ({"a": 1}, NUMBERS)


@pytest.mark.parametrize("name", ["ReplaceField$Value", "Flatten$Value", "Cast$Value"])
def test_a_tombstone_passes_and_a_bare_number_does_not(name: str) -> None:
    options = {"spec": "a:int8"} if name.startswith("Cast") else {}
    assert value_of(name, options, None) is None
    with pytest.raises(TransformError):
        applied(name, options, 5)


def test_nested_maps_are_flattened_and_arrays_kept() -> None:
    value = {"a": {"b": {"c": 1}, "n": None}, "l": [{"x": 1}], "e": {}}
    assert value_of("Flatten$Value", {}, value) == {"a.b.c": 1, "a.n": None, "l": [{"x": 1}]}
    assert value_of("Flatten$Value", {"delimiter": "_"}, value)["a_b_c"] == 1
    assert value_of("Flatten$Value", {}, {"a.b": {"c": 1}}) == {"a.b.c": 1}
    assert value_of("Flatten$Value", {}, {"a": {}}) == {}


def test_what_is_no_connect_data_is_not_flattened() -> None:
    with pytest.raises(TransformError, match="field a"):
        applied("Flatten$Value", {}, {"a": object()})


def test_a_struct_is_flattened_and_below_an_optional_one_all_is_optional() -> None:
    schema = struct(("a", struct(("b", INT32), optional=True)), ("c", TEXT))
    found = applied("Flatten$Value", {}, {"a": None, "c": "x"}, schema)
    assert found.value == {"a.b": None, "c": "x"}
    assert found.value_schema == struct(("a.b", Schema("INT32", optional=True)), ("c", TEXT))


def test_a_map_with_a_schema_is_not_flattened() -> None:
    with pytest.raises(TransformError, match="field m"):
        applied("Flatten$Value", {}, {"m": {}}, struct(("m", Schema("MAP", keys=TEXT, items=INT32))))


@pytest.mark.parametrize(
    ("kind", "value", "found"),
    [
        ("int8", 300, 44), ("int8", -129, 127), ("int16", 70_000, 4464), ("int32", 2**40 + 5, 5), ("int64", "12", 12),
        ("int32", 3.99, 3), ("int32", -3.99, -3), ("int32", 1e300, 2**31 - 1), ("int64", -1e300, -(2**63)),
        ("int8", True, 1), ("int32", float("nan"), 0), ("float64", 2, 2.0), ("float64", " 1.5f ", 1.5),
        ("float64", 10**400, float("inf")),
        ("float32", 0.1, 0.1), ("float32", 1e300, float("inf")), ("float32", 16777217, 16777216.0),
        ("boolean", 0, False), ("boolean", 2.5, True), ("boolean", "TRUE", True), ("boolean", "yes", False),
        ("string", True, "true"), ("string", 1.5, "1.5"), ("string", 1e7, "1.0E7"), ("string", b"\xff", "/w=="),
        ("string", "x", "x"), ("int8", "-128", -128), ("float64", "-Infinity", float("-inf")),
    ],
)  # fmt: skip
def test_whole_values_are_cast_as_java_does(kind: str, value: Any, found: Any) -> None:
    result = value_of("Cast$Value", {"spec": kind}, value)
    assert result == found
    assert type(result) is type(found)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("int8", "128"), ("int32", "1.5"), ("int32", "1_0"), ("int32", " 1"), ("float64", "n/a"), ("float64", "1_0"),
        ("int32", b"1"), ("float64", b"1"), ("boolean", b"1"), ("string", {}), ("int8", []), ("float64", "1.5x"),
        ("int64", ""), ("int64", "9" * 5000), ("float64", "nan"), ("float64", "inf"), ("float64", "-INFINITY"),
        ("float64", "infinity"), ("float64", ""),
    ],
)  # fmt: skip
def test_what_a_type_cannot_hold_is_a_transform_error(kind: str, value: Any) -> None:
    with pytest.raises(TransformError):
        applied("Cast$Value", {"spec": kind}, value)


def test_fields_are_cast_null_stays_null_and_what_a_map_has_not_is_null() -> None:
    spec = {"spec": "a:float64, n:int8, z : string"}
    assert value_of("Cast$Value", spec, {"a": 1, "n": None, "b": 2}) == {"a": 1.0, "n": None, "b": 2, "z": None}


def test_an_error_names_field_and_type_and_keeps_the_value_apart() -> None:
    with pytest.raises(TransformError, match=r"field mag: '<withheld>' can't be cast to float64") as raised:
        applied("Cast$Value", {"spec": "mag:float64"}, {"mag": "n/a"})
    assert raised.value.args[0].content == "field mag: 'n/a' can't be cast to float64"


def test_the_schema_follows_the_cast() -> None:
    found = applied("Cast$Value", {"spec": "a:string"}, {"a": 1, "b": 2}, struct(("a", OPTIONAL), ("b", INT32)))
    assert found.value_schema == struct(("a", Schema("STRING", optional=True)), ("b", INT32))


@pytest.mark.parametrize("spec", ["", "a:int99", "int8,int16", "a:int8,string", "a:", "a:b:int8", "bytes"])
def test_a_spec_that_makes_no_sense_is_a_config_error(spec: str) -> None:
    with pytest.raises(ConfigError):
        build_transform(StepConfig("x", "Cast$Value", {"spec": spec}))


PREDICATES = [
    ("TopicNameMatches", {"pattern": "t"}, True), ("TopicNameMatches", {"pattern": "u"}, False),
    ("HasHeaderKey", {"name": "h"}, False), ("RecordIsTombstone", {}, False),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options", "holds"), PREDICATES)
@pytest.mark.parametrize("negate", [True, False])
def test_a_transform_applies_only_where_its_predicate_holds(
    name: str, options: dict[str, str], holds: bool, negate: bool
) -> None:
    step = StepConfig("x", "ReplaceField$Value", {"include": "a"}, predicate="p", negate=negate)
    found = build_transform(step, [StepConfig("p", name, options)]).apply(Record("t", 0, 0, None, NUMBERS))
    assert found is not None
    assert found.value == ({"a": 1} if holds is not negate else NUMBERS)


def test_a_class_of_the_users_own_is_loaded_by_its_dotted_name() -> None:
    found = build_transform(StepConfig("x", f"{__name__}.Shout", {"mark": "?"}, allow=("tests.*",)))
    assert found.apply(Record("t", 0, 0, None, None)) is None


CONNECTOR = {
    "name": "c", "connector.class": "FileStreamSink", "topics": "t", "value.converter": "JsonConverter",
    "value.converter.schemas.enable": "false", "transforms": "one,two", "transforms.one.type": "ReplaceField$Value",
    "transforms.one.whitelist": "a,b", "transforms.two.type": "Cast$Value", "transforms.two.spec": "a:int8",
    "some.password": "hush",
}  # fmt: skip


def test_the_problems_of_all_steps_are_found() -> None:
    props = {
        **CONNECTOR, "value.converter.schemas.enabel": "x",
        "transforms.one.includ": "a", "transforms.two.spec": "a:int9",
        "key.converter": "JsonConvertor",
    }  # fmt: skip
    found = {option: message for option, _, message in step_problems(read_connector(props)[0])}
    assert found.keys() == {
        "key.converter", "value.converter.schemas.enabel", "transforms.one.includ", "transforms.two.spec",
    }  # fmt: skip
    assert found["transforms.one.includ"].endswith("did you mean transforms.one.include?")


def test_stages_are_in_processing_order_with_names_as_configured_and_secrets_masked() -> None:
    config = read_connector(CONNECTOR)[0]
    stages = sink_stages(config)
    assert step_problems(config) == []
    assert [stage.type for stage in stages] == [
        StageType.KEY_CONVERTER, StageType.VALUE_CONVERTER, StageType.HEADER_CONVERTER, StageType.TRANSFORMATION,
        StageType.TRANSFORMATION, StageType.TASK_PUT,
    ]  # fmt: skip
    assert stages[3].class_name == "ReplaceField$Value"
    assert stages[5].config["some.password"] == "********"


def test_a_stage_shows_the_headers_that_a_step_names() -> None:
    props = {**CONNECTOR, "transforms": "one", "transforms.one.type": "DropHeaders", "transforms.one.headers": "trace"}
    del props["transforms.one.whitelist"]
    [stage] = [one for one in sink_stages(read_connector(props)[0]) if one.type is StageType.TRANSFORMATION]
    assert stage.config == {"headers": "trace"}
