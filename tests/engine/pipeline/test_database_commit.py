"""Letters that wait in a database: whatever statement is the last one of a process, each is in Kafka once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import AbortableError, Fenced, OffsetsMissing, ProduceFailed, RetriableError
from engine.exactly_once.buffered import Written
from engine.exactly_once.transaction import Transaction
from engine.leases import TaskConfig
from engine.pipeline.database_commit import DatabaseCommit, Outbox, Relay
from engine.pipeline.database_positions import DatabaseStore, Kept, Letter, mark_of, marked
from engine.pipeline.outcome import Interrupted
from engine.pipeline.task_state import TaskState
from engine.ports import Committed, Row
from engine.record.record import TopicPartition
from tests.fakes import Clock, Consumer, Producer

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
COUNT = 12  # records of partition 0, each of which becomes a row; every third also a letter
CHUNK = 4


class Crash(BaseException):
    """The process is gone."""


class World:
    """What outlives a process: a database, a topic, and a group's offsets. `crashes` are steps after which it ends."""

    def __init__(self, crashes: Sequence[int] = ()) -> None:
        self.crashes = set(crashes)
        self.steps = 0
        self.rows: dict[TopicPartition, tuple[int, Kept]] = {}  # generation and row
        self.table: list[int] = []
        self.outbox: dict[tuple[TopicPartition, int], Letter] = {}
        self.topic: list[bytes | None] = []
        self.group: dict[TopicPartition, Committed] = {}
        self.epoch = 0

    def step(self) -> None:
        self.steps += 1
        if self.steps in self.crashes:
            raise Crash


class Database:
    """A DatabaseOffsets in memory. `put` is what a sink does in its transaction."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.generations: dict[TopicPartition, int] = {}
        self.put_rows: list[int] = []
        self.saved: list[tuple[int, int]] = []  # letters written and letters forgotten, of each save

    @property
    def is_open(self) -> bool:
        return bool(self.put_rows)

    def put(self, numbers: Sequence[int]) -> None:
        self.world.step()
        self.put_rows = list(numbers)

    def claim(self) -> Mapping[TopicPartition, Kept]:
        self.world.step()
        self.world.rows = {at: (generation + 1, row) for at, (generation, row) in self.world.rows.items()}
        self.generations = {at: generation for at, (generation, _) in self.world.rows.items()}
        self.world.step()
        return {at: row for at, (_, row) in self.world.rows.items()}

    def adopt(self, rows: Mapping[TopicPartition, Kept]) -> None:
        self.world.step()
        for at, row in rows.items():
            self.generations.setdefault(at, 1)
            self.world.rows[at] = (self.generations[at], row)
        self.world.step()

    def save(
        self, rows: Mapping[TopicPartition, Kept], carrier: TopicPartition, letters: Sequence[Letter], sent: int
    ) -> None:
        self.world.step()
        if any(self.world.rows[at][0] != self.generations[at] for at in rows):
            raise Fenced("moved")
        self.world.rows |= {at: (self.generations[at], row) for at, row in rows.items()}
        self.world.table += self.put_rows
        self.put_rows = []
        assert not {(carrier, one.seq) for one in letters} & self.world.outbox.keys()
        self.world.outbox |= {(carrier, one.seq): one for one in letters}
        self._forget(carrier, sent)
        self.saved.append((len(letters), sent))
        self.world.step()

    def carriers(self) -> Sequence[TopicPartition]:
        return sorted({at for at, _ in self.world.outbox})

    def letters(self, carrier: TopicPartition, after: int, limit: int) -> Sequence[Letter]:
        found = sorted(seq for at, seq in self.world.outbox if at == carrier and seq > after)
        return [self.world.outbox[carrier, seq] for seq in found[:limit]]

    def forget(self, carrier: TopicPartition, sent: int) -> None:
        self.world.step()
        self._forget(carrier, sent)
        self.world.step()

    def rollback(self) -> None:
        self.put_rows = []

    def _forget(self, carrier: TopicPartition, sent: int) -> None:
        self.world.outbox = {
            (at, seq): one for (at, seq), one in self.world.outbox.items() if at != carrier or seq > sent
        }


class Transactional:
    """A TransactionalProducer over the world: what is written is there when it is committed."""

    def __init__(self, world: World, trouble: Callable[[], None] = lambda: None) -> None:
        self.world = world
        self.trouble = trouble
        self.epoch = 0
        self.written: list[bytes | None] = []
        self.offsets: dict[TopicPartition, Committed] = {}

    def init(self) -> None:
        self.world.epoch += 1
        self.epoch = self.world.epoch
        self.world.step()

    def begin(self) -> None:
        self.written, self.offsets = [], {}

    def produce_all(self, rows: Sequence[Row]) -> None:
        self.written += [row[2] for row in rows]

    def flush(self) -> None:
        self.world.step()
        if self.written:
            self.trouble()

    def send_offsets(self, offsets: Mapping[TopicPartition, Committed], group: str) -> None:
        self.world.step()
        self.offsets = dict(offsets)

    def commit(self) -> None:
        self.world.step()
        if self.epoch != self.world.epoch:
            raise Fenced("somebody else has the id")
        self.world.topic += self.written
        self.world.group |= self.offsets
        self.world.step()

    def abort(self) -> None:
        self.written, self.offsets = [], {}

    def close(self) -> None:
        """Nothing to let go of."""


class Process:
    """A task's life over a world, up to its end or a crash."""

    def __init__(self, world: World, interval_ms: int = 0, trouble: Callable[[], None] = lambda: None) -> None:
        self.world = world
        self.database = Database(world)
        self.transaction = Transaction(lambda: Transactional(world, trouble), lambda: None, Clock())
        self.transaction.open()
        self.task = TaskConfig("c", 0, 2, {}, (P0, P1))
        self.store = DatabaseStore(self.task, self.database, Consumer([], world.group))
        found = self.store.committed([P0, P1])
        new = {at: Committed(0, memory()) for at, one in found.items() if one is None}
        if new:
            self.store.remember(new)
        self.outbox = Outbox()
        self.clock = Clock()
        self.commit = DatabaseCommit(
            self.store,
            self.outbox,
            Relay(self.transaction, "connect-c"),
            lambda: None,
            lambda: None,
            self.clock,
            interval_ms,
        )
        self.commit.begin()

    def run(self) -> None:
        at = self.store.rows[P0].next
        while at < COUNT:
            numbers = range(at, min(at + CHUNK, COUNT))
            self.database.put(numbers)
            for number in numbers:
                if number % 3 == 0:
                    self.outbox.produce("dlq", None, b"%d" % number)
            at = numbers.stop
            assert self.commit.commit({P0: at, P1: 0}, memory) is None
        self.commit.finish()


def memory(generation: int = 2) -> str:
    return TaskState(0, generation, 0, ()).to_metadata()


def live(world: World, interval_ms: int = 0) -> None:
    """Processes, one after the other, until one comes to the end."""
    while True:
        try:
            Process(world, interval_ms).run()
        except Crash:
            continue
        return


def assert_exactly_once(world: World) -> None:
    assert world.table == list(range(COUNT))
    assert world.topic == [b"%d" % number for number in range(0, COUNT, 3)]
    assert world.outbox == {}
    assert {at: one.offset for at, one in world.group.items()} == {P0: COUNT, P1: 0}
    assert mark_of(world.group[P0].metadata) == len(world.topic)


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
    with pytest.raises(Fenced):
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
    letters = [Letter(1, written("dlq", b"a")), Letter(2, written("outcomes", b"b"))]
    relay.send({P0: Committed(5, "{}")}, letters)
    assert ([one[2] for one in elsewhere.records], world.topic) == ([b"a"], [b"b"])


def written(topic: str, value: bytes) -> Written:
    return Written(topic, None, value, (), None, None)


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


# Which of them is right: the table, or the group.


def claimed(rows: Mapping[TopicPartition, Kept], group: Mapping[TopicPartition, Committed]) -> tuple[World, Any]:
    world = World()
    world.rows = {at: (1, row) for at, row in rows.items()}
    store = DatabaseStore(TaskConfig("c", 0, 2, {}, (P0,)), Database(world), Consumer([], dict(group)))
    return world, store.committed([P0])[P0]


def test_a_sink_that_was_at_least_once_goes_on_where_its_group_is() -> None:
    group = Committed(40, memory(1))
    world, found = claimed({}, {P0: group})
    assert found == group
    assert world.rows[P0] == (1, Kept(40, memory(1)))


def test_an_offset_that_somebody_set_by_hand_is_where_it_begins() -> None:
    assert claimed({}, {P0: Committed(40, "by hand")})[1] == Committed(40, "by hand")


def test_the_table_is_right_where_the_group_is_behind_or_was_set_by_hand() -> None:
    row = Kept(50, memory(1), 3)
    for group in (Committed(40, marked(memory(1), 3)), Committed(40, ""), Committed(40, memory(1))):
        assert claimed({P0: row}, {P0: group})[1] == Committed(50, memory(1))


def test_a_sink_that_was_at_least_once_in_between_goes_on_where_its_group_is() -> None:
    world, found = claimed({P0: Kept(50, memory(1), 3)}, {P0: Committed(90, memory(2))})
    assert found == Committed(90, memory(2))
    assert world.rows[P0][1] == Kept(90, memory(2), 3)


def test_a_row_that_was_there_and_is_gone_is_no_new_beginning() -> None:
    with pytest.raises(OffsetsMissing, match="is it another database"):
        claimed({}, {P0: Committed(40, marked(memory(1), 0))})


def test_a_table_that_was_set_back_does_not_number_its_letters_anew() -> None:
    world = World()
    world.rows = {P0: (1, Kept(5, memory(), 1)), P1: (1, Kept(0, memory()))}
    world.group = {P0: Committed(9, marked(memory(), 7)), P1: Committed(0, marked(memory(), 0))}
    process = Process(world)
    process.outbox.produce("dlq", None, b"x")
    process.commit.commit({P0: 6, P1: 0}, memory)
    assert (world.topic, mark_of(world.group[P0].metadata)) == ([b"x"], 8)


def test_the_mark_rides_with_the_memory() -> None:
    text = marked(memory(), 12)
    assert (mark_of(text), mark_of(memory()), mark_of("free text"), mark_of("[1]")) == (12, None, None, None)
    assert mark_of(marked("free text", 3)) == 3
