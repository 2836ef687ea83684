"""Tasks that are killed after they wrote, and before their dead letters and offsets are committed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from engine.config.permissions import Permissions
from engine.connectors.delta.sink import DeltaSink
from engine.connectors.objects.sink import ObjectStoreSink
from engine.errors import RecordError
from engine.record.record import Record, TopicPartition
from tests.fakes import raw

AT = TopicPartition("t", 0)
SIZES = pytest.mark.parametrize("size", [1, 100], ids=["one by one", "at once"])  # records in a put


def run(sink: ObjectStoreSink | DeltaSink, options: dict[str, str], values: Sequence[Any], size: int) -> list[int]:
    """Read all records from the first one on, and write them. Return the offsets of the refused records."""
    sink.start(options)
    sink.find_ends({AT: 0}, {AT: 100})
    refused: list[int] = []
    for first in range(0, len(values), size):
        left = list(enumerate(values))[first : first + size]
        while left:
            try:
                sink.put([Record("t", 0, 0, None, value, raw=raw(offset)) for offset, value in left])
                break
            except ExceptionGroup as group:
                named = [error.index for error in group.exceptions if isinstance(error, RecordError)]
                refused += [left[index][0] for index in named]
                left = [one for index, one in enumerate(left) if index not in named]
    sink.write({AT: len(values)})
    sink.stop()
    return refused


@SIZES
def test_each_object_is_checked_with_the_types_of_its_own_records(tmp_path: Path, size: int) -> None:
    """Two tasks have written an object each, so offset 2 was the first record of one."""
    values = [{"n": 1}, {"m": 1}, {"n": "y"}, {"n": 5}, {"n": "z"}]
    options = {"local.directory": str(tmp_path), "format": "parquet"}

    def task(count: int) -> list[int]:
        return run(ObjectStoreSink(Permissions(file_root="/")), options, values[:count], size)

    assert task(2) == []
    assert task(4) == [3]
    assert task(5) == [3]
    assert task(5) == [3]
    objects = sorted(tmp_path.rglob("*.parquet"))
    assert [pq.ParquetFile(one).read().to_pylist() for one in objects] == [
        [{"n": 1, "m": None}, {"n": None, "m": 1}],
        [{"n": "y"}],
        [{"n": "z"}],
    ]


@SIZES
@pytest.mark.parametrize("evolves", ["true", "false"])
def test_a_record_that_gave_a_table_no_row_is_refused_again(tmp_path: Path, size: int, evolves: str) -> None:
    """By the next task, for which the table has the column."""
    values = [{"a": None}, {"a": 1}, {"a": None, "b": None}, {}]
    options = {"name": "c", "local.directory": str(tmp_path), "auto.create": "true", "auto.evolve": evolves}
    for _ in range(2):
        refused = run(DeltaSink(Permissions(file_root="/")), options, values, size)
        assert sorted(refused) == [0, 2, 3]
    assert DeltaTable(tmp_path / "t").to_pyarrow_table().to_pylist() == [{"a": 1}]


@SIZES
@pytest.mark.parametrize("evolves", ["true", "false"])
def test_each_record_of_nulls_is_one_row_of_a_table(tmp_path: Path, size: int, evolves: str) -> None:
    values = [{"a": 1, "b": None}, {"a": None}, {"b": None}, {"b": []}]
    options = {"name": "c", "local.directory": str(tmp_path), "auto.create": "true", "auto.evolve": evolves}
    for count in (1, 2, 3, 4, 4):
        assert run(DeltaSink(Permissions(file_root="/")), options, values[:count], size) == []
    rows = DeltaTable(tmp_path / "t").to_pyarrow_table().to_pylist()
    assert sorted(rows, key=str) == [{"a": 1}, *[{"a": None}] * 3]
