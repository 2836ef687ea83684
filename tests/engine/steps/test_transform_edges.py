"""What Kafka's own tests of its transforms know about null, defaults and logical types."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.config.worker import StepConfig
from engine.errors import TransformError
from engine.record.record import RawRecord, Record
from engine.record.schema import BYTES, Field, Schema
from engine.steps.registry import build_transform

RAW = RawRecord("t", 1, 2, 3, "CREATE_TIME", b"k", b"v", (("h", b"1"),))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "b", "c.d"]), inner, max_size=3),
    max_leaves=8,
)
STEPS = [
    ("Flatten$Value", {}),
    ("Flatten$Key", {"delimiter": "_"}),
    ("ReplaceField$Value", {"include": "a,b", "renames": "a:x"}),
    ("Cast$Value", {"spec": "a:int8,b:float64"}),
    ("Cast$Value", {"spec": "string"}),
    ("Cast$Value", {"spec": "boolean"}),
    ("Cast$Value", {"spec": "float32"}),
    ("Cast$Value", {"spec": "a:string,b:int64"}),
    ("ExtractField$Value", {"field": "a"}),
    ("ExtractField$Value", {"field": "a.b", "field.syntax.version": "V2"}),
    ("HeaderFrom$Key", {"fields": "a,b", "headers": "x,y", "operation": "move"}),
    ("HoistField$Value", {"field": "a"}),
    ("InsertField$Value", {"topic.field": "t", "timestamp.field": "ts!"}),
    ("MaskField$Value", {"fields": "a,b"}),
    ("MaskField$Key", {"fields": "a,b", "replacement": "7"}),
    ("SetSchemaMetadata$Value", {"schema.name": "n"}),
    ("TimestampConverter$Value", {"field": "a", "target.type": "string", "format": "yyyy-MM-dd"}),
    ("TimestampConverter$Value", {"target.type": "Timestamp", "format": "yyyy", "unix.precision": "seconds"}),
    ("TimestampConverter$Key", {"field": "a", "target.type": "unix", "unix.precision": "nanoseconds"}),
    ("ValueToKey", {"fields": "a,b"}),
]
DEFAULTED = Schema(
    "STRUCT", fields=(Field("a", Schema("INT32", optional=True, default=7)), Field("b", Schema("STRING")))
)


def transform(name: str, options: dict[str, str], value: Any, schema: Schema | None = None) -> Record:
    step = StepConfig("x", name, options)
    record = Record("t", 1, 3, value, value, schema, schema, (("h", BYTES, b"1"),), 2, raw=RAW)
    applied = build_transform(step).apply(record)
    assert applied is not None
    return applied


@pytest.mark.parametrize(("name", "options"), STEPS)
@settings(max_examples=40)
@given(value=JSON)
def test_no_value_at_all_raises_anything_but_a_transform_error(name: str, options: dict[str, str], value: Any) -> None:
    try:
        found = transform(name, options, value)
    except TransformError:
        return
    assert (found.topic, found.partition, found.offset, found.headers[:1]) == ("t", 1, 2, (("h", BYTES, b"1"),))
    assert found.raw is RAW


@pytest.mark.parametrize(
    "name", ["ReplaceField$Value", "ReplaceField$Key", "Flatten$Value", "Flatten$Key", "Cast$Value"]
)
@pytest.mark.parametrize("optional", [True, False])
def test_a_tombstone_passes_whatever_its_schema(name: str, optional: bool) -> None:
    """FlattenTest, ReplaceFieldTest, CastTest: tombstones with and without a schema pass through."""
    schema = Schema("STRUCT", optional, fields=(Field("a", Schema("INT32")),))
    found = transform(name, {"spec": "a:int8"} if name.startswith("Cast") else {}, None, schema)
    assert (found.value, found.value_schema) == (None, schema)


@pytest.mark.parametrize(("replace", "left"), [("true", 7), ("false", None)])
def test_null_becomes_its_default_when_a_field_is_replaced(replace: str, left: int | None) -> None:
    """ReplaceFieldTest#testReplaceNullWithDefault… with both values of the option."""
    options = {"include": "a", "replace.null.with.default": replace}
    assert transform("ReplaceField$Value", options, {"a": None, "b": "x"}, DEFAULTED).value == {"a": left}


@pytest.mark.parametrize(("replace", "left"), [("true", "7"), ("false", None)])
def test_null_becomes_its_default_when_a_field_is_cast(replace: str, left: str | None) -> None:
    options = {"spec": "a:string", "replace.null.with.default": replace}
    found = transform("Cast$Value", options, {"a": None, "b": "x"}, DEFAULTED)
    assert found.value == {"a": left, "b": "x"}
    assert found.value_schema is not None
    assert found.value_schema.fields[0].schema == Schema("STRING", optional=True, default="7")


def test_a_transform_leaves_its_input_alone() -> None:
    value = {"a": {"b": 1}, "n": None}
    transform("Flatten$Value", {}, value)
    transform("Cast$Value", {"spec": "n:int8"}, value)
    transform("ReplaceField$Value", {"renames": "a:x"}, value)
    assert value == {"a": {"b": 1}, "n": None}


def test_a_schema_that_comes_again_gives_the_same_schema() -> None:
    step = build_transform(StepConfig("x", "ReplaceField$Value", {"exclude": "b"}))
    found = [step.apply(Record("t", 0, 0, None, {"a": 1, "b": ""}, None, DEFAULTED)) for _ in range(2)]
    assert found[0] is not None
    assert found[1] is not None
    assert found[0].value_schema is found[1].value_schema


DATE, TIME, TIMESTAMP, DECIMAL = (
    Schema(kind, name=f"org.apache.kafka.connect.data.{name}", version=1)
    for kind, name in (("INT32", "Date"), ("INT32", "Time"), ("INT64", "Timestamp"), ("BYTES", "Decimal"))
)


@pytest.mark.parametrize(
    ("kind", "schema", "value", "found"),
    [
        ("int32", DATE, date(1970, 1, 11), 10),
        ("int64", TIMESTAMP, datetime(1970, 1, 1, 0, 0, 2, 5000, UTC), 2005),
        ("int32", TIME, time(0, 0, 1, 2000), 1002),
        ("string", DATE, date(2018, 5, 17), "2018-05-17"),
        ("string", TIME, time(0, 58, 35, 403000), "00:58:35.403Z"),
        ("string", TIMESTAMP, datetime(2018, 5, 17, 0, 58, 35, 403000, UTC), "2018-05-17T00:58:35.403Z"),
        ("string", TIMESTAMP, datetime(1969, 12, 31, 23, 0, tzinfo=UTC), "23:00:00.000Z"),
        ("string", DECIMAL, Decimal("42.10"), "42.10"),
        ("float64", DECIMAL, Decimal("42.5"), 42.5),
        ("int8", DECIMAL, Decimal("42.9"), 42),
        ("boolean", DECIMAL, Decimal(0), False),
    ],
)
def test_logical_types_are_cast_by_what_they_stand_for(kind: str, schema: Schema, value: Any, found: Any) -> None:
    """CastTest#castLogicalToPrimitive, #castFieldsWithSchema; texts as Kafka writes them, by the value alone."""
    result = transform("Cast$Value", {"spec": kind}, value, schema)
    assert (result.value, result.value_schema) == (found, Schema(kind.upper()))
    assert type(result.value) is type(found)


@pytest.mark.parametrize("value", [date(1970, 1, 11), time(1), Decimal(5), datetime(1970, 1, 1, tzinfo=UTC)])
def test_a_logical_value_without_a_schema_can_not_be_cast(value: Any) -> None:
    with pytest.raises(TransformError, match="can't be cast to string"):
        transform("Cast$Value", {"spec": "string"}, value)


def test_a_float_of_32_bits_is_cast_by_what_it_holds() -> None:
    found = transform("Cast$Value", {"spec": "float64"}, 0.1, Schema("FLOAT32"))
    assert found.value == 0.10000000149011612
    assert transform("Cast$Value", {"spec": "int64"}, 1.0995116e12, Schema("FLOAT32")).value == 2**40


def test_a_whole_value_keeps_the_notes_of_its_schema() -> None:
    schema = Schema("INT32", optional=True, name="own", version=2, doc="d", default=7, parameters={"p": "1"})
    found = transform("Cast$Value", {"spec": "string"}, 4, schema).value_schema
    assert found == Schema("STRING", True, "own", 2, "d", "7", parameters={"p": "1"})


def test_null_is_flattened_to_its_default_unless_all_of_its_parent_is_null() -> None:
    schema = Schema("STRUCT", optional=True, fields=(Field("x", DEFAULTED), Field("y", DEFAULTED)))
    found = transform("Flatten$Value", {}, {"x": {"a": None, "b": "s"}, "y": None}, schema)
    assert found.value == {"x.a": 7, "x.b": "s", "y.a": None, "y.b": None}
    assert found.value_schema is not None
    assert not found.value_schema.optional
    assert all(field.schema.optional for field in found.value_schema.fields)


def test_only_a_struct_with_its_schema_can_be_flattened() -> None:
    with pytest.raises(TransformError, match="found a MAP"):
        transform("Flatten$Value", {}, {"a": 1}, Schema("MAP", keys=Schema("STRING"), items=Schema("INT32")))
