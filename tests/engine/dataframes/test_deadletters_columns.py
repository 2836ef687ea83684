"""The columns of the data source: those of the exports, in bounded batches, and only the asked ones."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StringType, StructType

from dlqadmin.exports.columns import PARQUET
from engine.dataframes.deadletters_columns import (
    COLUMNS,
    BatchBuilder,
    MessageFacts,
    check_schema,
    in_batches,
    whole_schema,
)
from engine.dataframes.deadletters_options import SourceOptionError
from engine.record.record import RawRecord
from tests import fakes
from tests.dlqadmin.deadletters.letters import letter
from tests.engine.dataframes.deadletter_rows import ODD, indexed, recorded, rows_of

# What only the dashboard knows: its rows, its groups, its replays.
DASHBOARDS = {"id", "cluster", "indexed_at", "group", "replay_state"}


def test_the_columns_are_those_of_the_exports_without_the_dashboards_own() -> None:
    exported = [column.name for column in PARQUET if column.name not in DASHBOARDS]
    assert {column.name for column in PARQUET} >= DASHBOARDS
    assert list(COLUMNS) == [*exported, "timestamp"]


def test_recorded_letters_of_every_framework_have_the_values_that_the_index_exports() -> None:
    letters = [*recorded(), *ODD]
    rows = rows_of([BatchBuilder(whole_schema()).batch(letters)])
    assert len({row["dialect"] for row in rows}) > 8
    for message, row in zip(letters, rows, strict=True):
        del row["timestamp"]
        assert row == indexed(message)


def test_without_a_column_of_the_error_nothing_is_decoded() -> None:
    asked = MessageFacts(letter(1))
    for name in ("topic", "partition", "offset", "headers", "timestamp"):
        COLUMNS[name][2](asked)
    assert "facts" not in vars(asked)
    COLUMNS["stage"][2](asked)
    assert "facts" in vars(asked)


def test_a_batch_has_the_columns_of_the_schema_in_its_order() -> None:
    schema = StructType().add("value", "binary").add("offset", "long", nullable=False)
    batch = BatchBuilder(schema).batch([letter(3), letter(4, value=None)])
    assert batch.schema.names == ["value", "offset"]
    assert batch.schema.field("offset") == pa.field("offset", pa.int64(), nullable=False)
    assert batch.to_pylist() == [{"value": b'{"mag": 1.6}', "offset": 3}, {"value": None, "offset": 4}]


@pytest.mark.parametrize(
    ("schema", "sentence"),
    [
        (StructType().add("exceptionclass", StringType()), "no column exceptionclass; did you mean exception_class?"),
        (StructType().add("offset", StringType()), "the column offset is bigint, not string"),
        (StructType().add("fingerprint", LongType()), "the dead letters have no column fingerprint"),
        (StructType(), "names no column; choose from topic, partition, offset"),
    ],
)
def test_a_column_that_does_not_exist_is_refused_in_one_sentence(schema: StructType, sentence: str) -> None:
    with pytest.raises(SourceOptionError, match=sentence):
        check_schema(schema)


def test_batches_are_bounded_by_rows_and_by_bytes() -> None:
    small = [fakes.raw(number, b"x" * 10) for number in range(10)]
    assert sizes([small[:7], small[7:]], rows=4) == [4, 4, 2]
    large = [fakes.raw(number, b"x" * 100) for number in range(5)]
    assert sizes([large], rows=1000, size=250) == [3, 2]
    assert sizes([[], []], rows=4) == []


def sizes(polled: list[list[RawRecord]], rows: int, size: int = 10_000) -> list[int]:
    return [len(batch) for batch in in_batches(iter(polled), rows, size)]
