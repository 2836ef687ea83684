"""Letters that wait in a database: whatever statement is the last one of a process, each is in Kafka once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import AbortableError, GenerationFenced, OffsetsMissing, ProduceFailed, RetriableError
from engine.exactly_once.buffered import BufferedRecord
from engine.exactly_once.transaction import Transaction
from engine.pipeline.database_commit import DatabaseCommit, Relay
from engine.pipeline.database_positions import (
    DatabaseStore,
    OutboxRecord,
    PositionRow,
    group_metadata,
    parse_last_letter,
)
from engine.pipeline.outcome import Interrupted
from engine.ports import Committed
from engine.record.record import TopicPartition
from engine.worker_messages import TaskConfig
from tests.engine.pipeline.database_rig import (
    P0,
    P1,
    Database,
    Process,
    Transactional,
    World,
    assert_exactly_once,
    live,
    memory,
)
from tests.fakes import Clock, Consumer, Producer


@pytest.mark.parametrize("interval_ms", [0, 1_000_000])
def test_any_statement_may_be_the_last(interval_ms: int) -> None:
    whole = World()
    live(whole, interval_ms)
    assert_exactly_once(whole)
    for last in range(1, whole.steps + 1):
        world = World([last])
        live(world, interval_ms)
        assert_exactly_once(world)


@given(st.lists(st.integers(1, 120), max_size=8, unique=True), st.sampled_from([0, 1_000_000]))
def test_any_statements_may_be_the_last_of_any_number_of_processes(crashes: list[int], interval_ms: int) -> None:
    world = World(crashes)
    live(world, interval_ms)
    assert_exactly_once(world)


def test_a_zombie_writes_nothing_any_more() -> None:
    world = World()
    zombie = Process(world)
    live(world)
    zombie.database.put([0])
    with pytest.raises(GenerationFenced):
        zombie.commit.commit({P0: 1, P1: 0}, memory)
    zombie.commit.finish()
    assert_exactly_once(world)


def test_a_chunk_without_letters_asks_nothing_of_kafka_before_the_interval_is_over() -> None:
    process = Process(World(), interval_ms=1000)
    before = dict(process.world.group)
    process.database.put([1])
    process.commit.commit({P0: 1, P1: 0}, memory)
    assert (process.world.group, process.database.saved) == (before, [(0, 0)])
    process.clock.wait(1000)
    process.database.put([2])
    process.commit.commit({P0: 2, P1: 0}, memory)
    assert process.world.group[P0].offset == 2


def test_letters_are_forgotten_with_the_rows_that_come_next() -> None:
    process = Process(World(), interval_ms=1_000_000)
    for number in range(3):
        process.outbox.produce("dlq", None, b"%d" % number)
        process.commit.commit({P0: number + 1, P1: 0}, memory)
    assert process.database.saved == [(1, 0), (1, 1), (1, 2)]
    process.commit.commit({P0: 4, P1: 0}, memory)
    process.commit.commit({P0: 5, P1: 0}, memory)
    assert process.database.saved[3:] == [(0, 3), (0, 0)]


def test_rows_are_committed_with_their_chunk() -> None:
    process = Process(World())
    assert not process.commit.is_full
    process.database.put([0])
    assert process.commit.is_full


def test_letters_that_the_brokers_do_not_take_wait_and_the_group_shows_it() -> None:
    troubles: list[Exception] = [AbortableError("away")] * 8

    def trouble() -> None:
        if troubles:
            raise troubles.pop()

    world = World()
    process = Process(world, trouble=trouble)
    process.outbox.produce("dlq", None, b"0")
    with pytest.raises((RetriableError, ProduceFailed)):
        process.commit.commit({P0: 1, P1: 0}, memory)
    process.commit.finish()
    assert (world.rows[P0][1].next, world.group[P0].offset, len(world.outbox)) == (1, 0, 1)
    troubles.clear()
    Process(world).commit.finish()
    assert (world.topic, world.group[P0].offset, world.outbox) == ([b"0"], 1, {})


def test_letters_of_another_cluster_go_there_first() -> None:
    world, elsewhere = World(), Producer()
    transaction = Transaction(lambda: Transactional(world), lambda: None, Clock())
    transaction.open()
    relay = Relay(transaction, "connect-c", elsewhere, "dlq")
    letters = [OutboxRecord(1, written("dlq", b"a")), OutboxRecord(2, written("outcomes", b"b"))]
    relay.send({P0: Committed(5, "{}")}, letters)
    assert ([one[2] for one in elsewhere.records], world.topic) == ([b"a"], [b"b"])


def written(topic: str, value: bytes) -> BufferedRecord:
    return BufferedRecord(topic, None, value, (), None, None)


def test_an_interrupted_flush_leaves_nothing() -> None:
    process = Process(World())
    commit = DatabaseCommit(
        process.store,
        process.outbox,
        Relay(process.transaction, "g"),
        lambda: Interrupted(5),
        lambda: None,
        process.clock,
        0,
    )
    process.database.put([0])
    assert commit.commit({P0: 1, P1: 0}, memory) == Interrupted(5)
    assert (process.database.is_open, process.world.table) == (False, [])


def claimed(rows: Mapping[TopicPartition, PositionRow], group: Mapping[TopicPartition, Committed]) -> tuple[World, Any]:
    world = World()
    world.rows = {at: (1, row) for at, row in rows.items()}
    store = DatabaseStore(TaskConfig("c", 0, 2, {}, (P0,)), Database(world), Consumer([], dict(group)))
    return world, store.committed([P0])[P0]


def test_a_sink_that_was_at_least_once_goes_on_where_its_group_is() -> None:
    group = Committed(40, memory(1))
    world, found = claimed({}, {P0: group})
    assert found == group
    assert world.rows[P0] == (1, PositionRow(40, memory(1)))


def test_an_offset_that_somebody_set_by_hand_is_where_it_begins() -> None:
    assert claimed({}, {P0: Committed(40, "by hand")})[1] == Committed(40, "by hand")


def test_the_table_is_right_where_the_group_is_behind_or_was_set_by_hand() -> None:
    row = PositionRow(50, memory(1), 3)
    for group in (Committed(40, group_metadata(memory(1), 3)), Committed(40, ""), Committed(40, memory(1))):
        assert claimed({P0: row}, {P0: group})[1] == Committed(50, memory(1))


def test_a_sink_that_was_at_least_once_in_between_goes_on_where_its_group_is() -> None:
    world, found = claimed({P0: PositionRow(50, memory(1), 3)}, {P0: Committed(90, memory(2))})
    assert found == Committed(90, memory(2))
    assert world.rows[P0][1] == PositionRow(90, memory(2), 3)


def test_a_row_that_was_there_and_is_gone_is_no_new_beginning() -> None:
    with pytest.raises(OffsetsMissing, match="check that the connector uses the same database"):
        claimed({}, {P0: Committed(40, group_metadata(memory(1), 0))})


def test_a_table_that_was_set_back_does_not_number_its_letters_anew() -> None:
    world = World()
    world.rows = {P0: (1, PositionRow(5, memory(), 1)), P1: (1, PositionRow(0, memory()))}
    world.group = {P0: Committed(9, group_metadata(memory(), 7)), P1: Committed(0, group_metadata(memory(), 0))}
    process = Process(world)
    process.outbox.produce("dlq", None, b"x")
    process.commit.commit({P0: 6, P1: 0}, memory)
    assert (world.topic, parse_last_letter(world.group[P0].metadata)) == ([b"x"], 8)


def test_the_mark_rides_with_the_memory() -> None:
    text = group_metadata(memory(), 12)
    assert (
        parse_last_letter(text),
        parse_last_letter(memory()),
        parse_last_letter("free text"),
        parse_last_letter("[1]"),
    ) == (12, None, None, None)
    assert parse_last_letter(group_metadata("free text", 3)) == 3
