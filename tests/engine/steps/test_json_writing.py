"""Fields of a STRUCT as JSON: what stays as it is, and what must be looked at first."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import ConversionError
from engine.record.schema import Field, Schema
from engine.steps.converters.json_trees import dumps
from engine.steps.converters.json_writing import JsonWriteOptions, to_json, writer

BITS = {"INT8": 8, "INT16": 16, "INT32": 32, "INT64": 64}
KINDS = [*BITS, "FLOAT32", "FLOAT64", "BOOLEAN", "STRING", "BYTES"]
TIMESTAMP = "org.apache.kafka.connect.data.Timestamp"
ANY = (
    st.none() | st.booleans() | st.integers() | st.integers(-130, 130) | st.floats() | st.text() | st.binary()
    | st.sampled_from([end for bits in BITS.values() for half in (1 << (bits - 1),) for end in (half, half - 1, -half)])
)  # fmt: skip


def struct(schema: Schema) -> Schema:
    return Schema("STRUCT", fields=(Field("f", schema),))


def outcome(schema: Schema, value: Any, how: JsonWriteOptions) -> str | bytes:
    try:
        found = to_json(schema, value, how)
    except ConversionError as error:
        return str(error)
    return dumps(found["f"] if schema.type == "STRUCT" else found)


@pytest.mark.parametrize("kind", KINDS)
@given(value=ANY, optional=st.booleans(), replace_null=st.booleans(), has_default=st.booleans())
def test_a_part_is_written_as_it_would_be_alone(
    kind: str, value: Any, optional: bool, replace_null: bool, has_default: bool
) -> None:
    default = {"BOOLEAN": True, "STRING": "d", "BYTES": b"d"}.get(kind, 7) if has_default else None
    schema, how = Schema(kind, optional, default=default), JsonWriteOptions(replace_null=replace_null)
    assert outcome(struct(schema), {"f": value}, how) == outcome(schema, value, how)


@pytest.mark.parametrize("kind", BITS)
def test_whole_numbers_are_written_up_to_the_ends_of_their_type(kind: str) -> None:
    half, write = 1 << (BITS[kind] - 1), writer(struct(Schema(kind)), JsonWriteOptions())
    assert [write({"f": number})["f"] for number in (-half, half - 1)] == [-half, half - 1]
    for number in (-half - 1, half):
        with pytest.raises(ConversionError, match="bits"):
            write({"f": number})


@pytest.mark.parametrize(("schema", "value"), [
    (Schema("INT64"), True), (Schema("INT64", name=TIMESTAMP), 5), (Schema("STRING", name=TIMESTAMP), "x"),
    (Schema("BOOLEAN"), 1), (Schema("STRING"), None), (Schema("INT8"), None),
])  # fmt: skip
def test_what_only_looks_like_a_part_of_that_type_is_refused(schema: Schema, value: Any) -> None:
    with pytest.raises(ConversionError):
        to_json(struct(schema), {"f": value}, JsonWriteOptions())


def test_a_writer_is_good_for_many_values() -> None:
    schema = Schema("STRUCT", fields=(
        Field("at", Schema("INT64", name=TIMESTAMP, version=1)), Field("text", Schema("STRING", optional=True)),
        Field("tags", Schema("ARRAY", items=Schema("STRING"))),
        Field("counts", Schema("MAP", keys=Schema("STRING"), items=Schema("INT32", default=4))),
    ))  # fmt: skip
    write = writer(schema, JsonWriteOptions())
    moment = datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC)
    values = [
        {"at": moment, "tags": ["a"], "counts": {"k": None}},
        {"at": moment, "text": "t", "tags": [], "counts": {}},
    ]
    assert [write(value) for value in values] == [
        {"at": 2000, "text": None, "tags": ["a"], "counts": {"k": 4}},
        {"at": 2000, "text": "t", "tags": [], "counts": {}},
    ]
