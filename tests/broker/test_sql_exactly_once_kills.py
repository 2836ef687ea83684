"""A SqlSink whose processes are killed, or stopped and woken when somebody else has its work: all is there once."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from engine.connectors.sql.offsets import SqlOffsets
from engine.worker_messages import LeaseEnd
from tests.broker.exactly import KILLS, REPLAYED, ExactlyOnce, Feeder, Table, await_stop, child_of, go_on, numbered
from tests.broker.exactly_classes import MARKER

BAD = 10  # each tenth of them


@pytest.fixture(params=["sqlite", "postgres"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Table]:
    url = f"sqlite:///{tmp_path}/rows.sqlite3" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    made = Table(url)
    yield made
    made.close()


@pytest.fixture
def postgres(postgres_url: str) -> Iterator[Table]:
    made = Table(postgres_url)
    yield made
    made.close()


def value(partition: int, number: int) -> bytes:
    """Of each tenth record the database thinks nothing."""
    return numbered(partition, [number if number % BAD else -1])[0]


@pytest.mark.parametrize(("kills", "count"), KILLS)
def test_rows_letters_and_outcomes_are_there_once_whenever_it_is_killed(
    broker: str, table: Table, kills: int, count: int
) -> None:
    connector = ExactlyOnce(broker, table.options(), partitions=2).with_dead_letters()
    connector.configure(1)
    feeder = Feeder(
        connector, count, lambda partition, number: numbered(partition, [number if number % BAD else -1])[0]
    )
    feeder.start()
    chance = random.Random(1)
    for _ in range(kills):
        before = len(table.rows())
        with child_of(connector.lease(60_000)) as child:
            while len(table.rows()) == before and child.poll() is None:
                time.sleep(0.01)
            time.sleep(chance.random() * 0.3)
    feeder.join()
    report = connector.run()
    assert report.end is LeaseEnd.CAUGHT_UP, report.trace
    good = [number for number in range(count) if number % BAD]
    assert table.rows() == [(partition, number) for partition in range(2) for number in good]
    letters = [(one["record"]["partition"], one["record"]["offset"]) for one in connector.contexts()]
    assert sorted(letters) == [(partition, number) for partition in range(2) for number in range(0, count, BAD)]
    for partition in range(2):
        own = [offset for of, offset in letters if of == partition]
        assert own == sorted(own)
    told = sorted((line["partition"], line["offset"]) for line in connector.outcomes())
    assert told == [(partition, number) for partition in range(2) for number in range(0, count, REPLAYED)]
    assert table.letters(connector.name) == []
    assert [one and one.offset for one in connector.committed().values()] == [count, count]
    assert report.metrics["records-consumed"] == 2 * count


def moving(broker: str, table: Table, stopping: str) -> ExactlyOnce:
    """A connector with a task of two partitions, and records in both."""
    connector = ExactlyOnce(broker, {**table.options(), "connector.class": stopping}, partitions=2).with_dead_letters()
    connector.configure(1)
    for partition in range(2):
        connector.send(numbered(partition, [0, -1, 2]), partition=partition)
    return connector


def assert_all_is_there_once(connector: ExactlyOnce, table: Table) -> None:
    assert table.rows() == [(0, 0), (0, 2), (0, 3), (1, 0), (1, 2), (1, 3)]
    letters = [(one["record"]["partition"], one["record"]["offset"]) for one in connector.contexts()]
    assert sorted(letters) == [(0, 1), (1, 1)]
    assert table.letters(connector.name) == []
    assert [one and one.offset for one in connector.committed().values()] == [4, 4]


def test_who_is_stopped_before_its_rows_and_wakes_when_its_partitions_have_moved_writes_nothing(
    broker: str, table: Table, tmp_path: Path
) -> None:
    connector = moving(broker, table, "StoppedBeforeRows")
    with child_of(connector.lease(60_000), **{MARKER: str(tmp_path / "stopped")}) as child:
        await_stop(child)
        connector.props["connector.class"] = "SqlSink"
        connector.move_to(2, [[1], [0]])
        for partition in range(2):
            connector.send(numbered(partition, [3]), partition=partition)
        assert {report.end for report in connector.run_all()} == {LeaseEnd.CAUGHT_UP}
        assert_all_is_there_once(connector, table)
        go_on(child)
        assert_all_is_there_once(connector, table)


def test_who_is_stopped_in_the_middle_of_a_transaction_holds_nobody_up_for_long(
    broker: str, postgres: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.connectors.sql.sink_task.SqlOffsets", partial(SqlOffsets, grace_ms=500))
    connector = moving(broker, postgres, "StoppedWithRows")
    with child_of(connector.lease(60_000), **{MARKER: str(tmp_path / "stopped")}) as child:
        await_stop(child)
        connector.props["connector.class"] = "SqlSink"
        connector.move_to(2, [[1], [0]])
        for partition in range(2):
            connector.send(numbered(partition, [3]), partition=partition)
        reports = connector.run_all()
        assert {report.end for report in reports} == {LeaseEnd.CAUGHT_UP}, [report.trace for report in reports]
        assert_all_is_there_once(connector, postgres)
        go_on(child)
        assert_all_is_there_once(connector, postgres)


def test_on_sqlite_who_is_stopped_in_the_middle_is_waited_for(broker: str, tmp_path: Path) -> None:
    table = Table(f"sqlite:///{tmp_path}/rows.sqlite3?timeout=0")
    connector = moving(broker, table, "StoppedWithRows")
    with child_of(connector.lease(60_000), **{MARKER: str(tmp_path / "stopped")}) as child:
        await_stop(child)
        connector.props["connector.class"] = "SqlSink"
        connector.move_to(2, [[1], [0]])
        for partition in range(2):
            connector.send(numbered(partition, [3]), partition=partition)
        reports = connector.run_all()
        assert {report.end for report in reports} == {LeaseEnd.PARKED}
        assert "locked" in str(reports[0].trace)
        go_on(child)
        assert {report.end for report in connector.run_all()} == {LeaseEnd.CAUGHT_UP}
        assert_all_is_there_once(connector, table)
        table.close()
