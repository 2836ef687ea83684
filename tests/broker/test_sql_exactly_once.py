"""A SqlSink that is exactly once, on SQLite and PostgreSQL beside a real broker."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.config.topic import restart_record
from engine.record.replay import ATTEMPT, ID, ITEM
from engine.worker_messages import LeaseEnd
from tests.broker.exactly import ExactlyOnce, Table, numbered
from tests.broker.test_lease import balance


@pytest.fixture(params=["sqlite", "postgres"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Table]:
    url = f"sqlite:///{tmp_path}/rows.sqlite3" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    made = Table(url)
    yield made
    made.close()


def next_of(table: Table, connector: ExactlyOnce) -> list[int]:
    query = f"SELECT next FROM engine_offsets WHERE connector = '{connector.name}' ORDER BY partition"
    return [number for (number,) in table.ask(query)]


def test_rows_positions_and_the_group_go_together(broker: str, table: Table) -> None:
    connector = ExactlyOnce(broker, table.options(), partitions=2)
    connector.send(numbered(0, range(5)))
    connector.send(numbered(1, range(3)), partition=1)
    report = connector.run()
    assert (report.end, balance(report.metrics)) == (LeaseEnd.CAUGHT_UP, (8, 8, 0, 0, 0)), report.trace
    assert next_of(table, connector) == [5, 3]
    assert [one and one.offset for one in connector.committed().values()] == [5, 3]
    connector.send(numbered(0, range(5, 8)))
    assert balance(connector.run().metrics) == (11, 11, 0, 0, 0)
    assert table.rows() == [(0, number) for number in range(8)] + [(1, number) for number in range(3)]


def test_dead_letters_leave_the_database_when_kafka_has_them(broker: str, table: Table) -> None:
    connector = ExactlyOnce(broker, table.options()).with_dead_letters()
    connector.configure(1)
    connector.send([*numbered(0, [0, -1, 1]), b"{", *numbered(0, [2, -2])])
    report = connector.run()
    assert (report.end, balance(report.metrics)) == (LeaseEnd.CAUGHT_UP, (6, 3, 3, 0, 0)), report.trace
    assert table.rows() == [(0, 0), (0, 1), (0, 2)]
    assert [one["record"]["offset"] for one in connector.contexts()] == [1, 3, 5]
    assert connector.letters()[0].key == b"k"
    assert table.letters(connector.name) == []
    connector.run()
    assert len(connector.letters()) == 3


def test_letters_that_were_left_are_sent_once_and_not_again(broker: str, table: Table) -> None:
    connector = ExactlyOnce(broker, table.options()).with_dead_letters()
    connector.configure(1)
    connector.send(numbered(0, [-1]))
    connector.run()
    for seq in (1, 2, 3):  # 1 is in Kafka already, and was not forgotten
        table.leave_letter(connector, seq)
    connector.run()
    assert [one.value for one in connector.letters()[1:]] == [b"left 2", b"left 3"]
    assert table.letters(connector.name) == []
    connector.run()
    assert len(connector.letters()) == 3


def test_outcomes_of_replayed_records_are_told_once(broker: str, table: Table) -> None:
    connector = ExactlyOnce(broker, table.options()).with_dead_letters()
    connector.configure(1)
    for ordinal, value in enumerate(numbered(0, [0, -1])):
        connector.send([value], headers=((ID, b"r"), (ITEM, b"r/%d" % ordinal), (ATTEMPT, b"1")))
    connector.run()
    connector.run()
    told = [(line["item"], line["outcome"]) for line in connector.outcomes()]
    assert told == [("r/0", "delivered"), ("r/1", "dead_lettered")]


def test_an_error_that_stops_the_task_is_told_once_and_its_record_is_read_again(broker: str, table: Table) -> None:
    connector = ExactlyOnce(broker, table.options()).with_dead_letters(**{"errors.tolerance": "none"})
    connector.configure(1)
    connector.send(numbered(0, [0, -1, 2]))
    report = connector.run()
    assert (report.end, report.positions) == (LeaseEnd.FAILED, {f"{connector.topic}-0": 1})
    assert (table.rows(), len(connector.letters())) == ([(0, 0)], 1)
    connector.props["errors.tolerance"] = "all"
    connector.restarts = 1
    connector.write(restart_record(connector.name, 1, {}))
    connector.configure(2)
    assert connector.run().end is LeaseEnd.CAUGHT_UP
    assert (table.rows(), len(connector.letters())) == ([(0, 0), (0, 2)], 1)


def test_it_may_change_its_guarantee_and_change_it_again(broker: str, table: Table) -> None:
    connector = ExactlyOnce(broker, table.options("at_least_once"))
    connector.transactional = False
    connector.configure(1)
    expected: list[tuple[int, int]] = []
    for generation, guarantee in enumerate(["at_least_once", "exactly_once"] * 2, 2):
        connector.transactional = guarantee == "exactly_once"
        connector.props["delivery.guarantee"] = guarantee
        connector.configure(generation)
        number = generation * 10
        connector.send(numbered(0, [number, number + 1]))
        expected += [(0, number), (0, number + 1)]
        report = connector.run()
        assert report.end is LeaseEnd.CAUGHT_UP, report.trace
        assert table.rows() == expected
        assert report.metrics["records-delivered"] == len(expected)  # it remembers


def test_another_database_is_no_new_beginning(broker: str, table: Table, tmp_path: Path) -> None:
    connector = ExactlyOnce(broker, table.options())
    connector.send(numbered(0, [1]))
    connector.run()
    other = Table(f"sqlite:///{tmp_path}/other.sqlite3")
    connector.props |= other.options()
    connector.configure(2)
    report = connector.run()
    assert (report.end, other.rows()) == (LeaseEnd.FAILED, [])
    assert "check that the connector uses the same database" in str(report.trace)
    other.close()


def test_dead_letters_may_have_a_cluster_of_their_own(broker: str, table: Table) -> None:
    there = broker.replace("127.0.0.1", "localhost")
    connector = ExactlyOnce(broker, table.options()).with_dead_letters(
        **{"errors.deadletterqueue.producer.bootstrap.servers": there}
    )
    connector.configure(1)
    connector.send(numbered(0, [0, -1]), headers=((ID, b"r"), (ITEM, b"r/0"), (ATTEMPT, b"1")))
    report = connector.run()
    assert (report.end, balance(report.metrics)) == (LeaseEnd.CAUGHT_UP, (2, 1, 1, 0, 0)), report.trace
    assert (len(connector.letters()), len(connector.outcomes())) == (1, 2)
    connector.run()
    assert (len(connector.letters()), table.letters(connector.name)) == (1, [])


def test_a_database_that_is_away_parks_the_task_with_nothing_lost(broker: str, tmp_path: Path) -> None:
    table = Table(f"sqlite:///{tmp_path}/rows.sqlite3?timeout=0")
    connector = ExactlyOnce(broker, table.options())
    connector.configure(1)
    connector.send(numbered(0, range(3)))
    with table.engine.begin():  # holds the file
        report = connector.run()
    assert (report.end, "locked" in str(report.trace)) == (LeaseEnd.PARKED, True)
    assert connector.run().end is LeaseEnd.CAUGHT_UP
    assert table.rows() == [(0, 0), (0, 1), (0, 2)]
    table.close()
