"""Sinks whose target keeps the offsets: what a record's put refused is a dead letter, whenever the worker is killed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import orjson
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from engine.worker_messages import LeaseEnd
from tests.broker.exactly import ExactlyOnce, await_stop, child_of
from tests.broker.exactly_classes import MARKER

Read = Callable[[Path], list[Any]]


def lines(folder: Path) -> list[Any]:
    return [orjson.loads(line) for file in sorted(folder.rglob("*.jsonl")) for line in file.read_bytes().splitlines()]


def tables(folder: Path) -> list[Any]:
    return [row for file in sorted(folder.rglob("*.parquet")) for row in pq.read_table(file).to_pylist()]


def lake(folder: Path) -> list[Any]:
    (table,) = [path.parent for path in folder.rglob("_delta_log")]
    rows: list[Any] = DeltaTable(table).to_pyarrow_table().to_pylist()
    return rows


Refused = list[bytes | None]
GOOD, NO_VALUE, NO_TEXT, NO_ROW, OTHER_TYPE = b'{"n": 1}', None, b'{"n": "\\ud800"}', b"7", b'{"n": "one"}'
NO_ROWS: Refused = [NO_VALUE, NO_TEXT, NO_ROW, OTHER_TYPE, b"{}"]


@pytest.mark.parametrize(
    ("sink", "stopped", "more", "refused", "read"),
    [
        ("ObjectStoreSink", "StoppedAfterObject", {}, [NO_VALUE], lines),
        (
            "ObjectStoreSink",
            "StoppedAfterObject",
            {"format": "parquet"},
            NO_ROWS,
            tables,
        ),
        ("DeltaSink", "StoppedAfterTable", {"auto.create": "true"}, [*NO_ROWS, b'{"n": null}'], lake),
    ],
    ids=["lines", "parquet", "delta"],
)
def test_records_that_the_put_refused_are_dead_letters_after_a_crash(
    broker: str,
    tmp_path: Path,
    sink: str,
    stopped: str,
    more: Mapping[str, str],
    refused: list[bytes | None],
    read: Read,
) -> None:
    """The worker is killed when its records are in the target, and their dead letters are not committed."""
    folder = tmp_path / "target"
    folder.mkdir()
    options = {"connector.class": stopped, "local.directory": str(folder), **more}
    connector = ExactlyOnce(broker, options).with_dead_letters()
    connector.configure(1)
    connector.send([GOOD, *refused, GOOD])
    with child_of(connector.lease(60_000), **{MARKER: str(tmp_path / "stopped")}) as child:
        await_stop(child)
        assert read(folder) == [{"n": 1}, {"n": 1}]
        assert connector.letters() == []
    connector.props["connector.class"] = sink
    connector.move_to(2, [[0]])
    connector.send([GOOD, OTHER_TYPE, GOOD])
    report = connector.run()
    assert report.end is LeaseEnd.CAUGHT_UP, report.trace
    also = [len(refused) + 3] if OTHER_TYPE in refused else []  # a line holds each type
    letters = [one["original_record"]["offset"] for one in connector.contexts()]
    assert letters == [*range(1, len(refused) + 1), *also]
    assert len(read(folder)) == 5 - len(also)


def test_each_object_is_checked_alone_after_two_crashes(broker: str, tmp_path: Path) -> None:
    """Two workers were killed after an object each, so the third one reads the records of both again."""
    folder = tmp_path / "target"
    folder.mkdir()
    options = {"connector.class": "StoppedAfterObject", "format": "parquet", "local.directory": str(folder)}
    connector = ExactlyOnce(broker, options).with_dead_letters()
    connector.configure(1)
    for number, values in enumerate([[GOOD, b'{"m": 1}'], [OTHER_TYPE, GOOD]]):
        connector.send(values)
        with child_of(connector.lease(60_000), **{MARKER: str(tmp_path / f"stopped-{number}")}) as child:
            await_stop(child)
        connector.move_to(number + 2, [[0]])
    connector.props["connector.class"] = "ObjectStoreSink"
    connector.move_to(4, [[0]])
    report = connector.run()
    assert report.end is LeaseEnd.CAUGHT_UP, report.trace
    assert [one["original_record"]["offset"] for one in connector.contexts()] == [3]
    assert tables(folder) == [{"n": 1, "m": None}, {"n": None, "m": 1}, {"n": "one"}]
