"""A database that letters wait in, a Kafka, and processes that die at a statement."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from engine.errors import GenerationFenced
from engine.exactly_once.transaction import Transaction
from engine.pipeline.database_commit import DatabaseCommit, Outbox, Relay
from engine.pipeline.database_positions import DatabaseStore, OutboxRecord, PositionRow, parse_last_letter
from engine.pipeline.task_state import TaskState
from engine.ports import Committed, Producer, Row
from engine.record.record import TopicPartition
from engine.worker_messages import TaskConfig
from tests.fakes import Clock, Consumer

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
        self.rows: dict[TopicPartition, tuple[int, PositionRow]] = {}  # generation and row
        self.table: list[int] = []
        self.outbox: dict[tuple[TopicPartition, int], OutboxRecord] = {}
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

    def claim(self) -> Mapping[TopicPartition, PositionRow]:
        self.world.step()
        self.world.rows = {at: (generation + 1, row) for at, (generation, row) in self.world.rows.items()}
        self.generations = {at: generation for at, (generation, _) in self.world.rows.items()}
        self.world.step()
        return {at: row for at, (_, row) in self.world.rows.items()}

    def adopt(self, rows: Mapping[TopicPartition, PositionRow]) -> None:
        self.world.step()
        for at, row in rows.items():
            self.generations.setdefault(at, 1)
            self.world.rows[at] = (self.generations[at], row)
        self.world.step()

    def save(
        self,
        rows: Mapping[TopicPartition, PositionRow],
        carrier: TopicPartition,
        letters: Sequence[OutboxRecord],
        sent: int,
    ) -> None:
        self.world.step()
        if any(self.world.rows[at][0] != self.generations[at] for at in rows):
            raise GenerationFenced("moved")
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

    def letters(self, carrier: TopicPartition, after: int, limit: int) -> Sequence[OutboxRecord]:
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


class Transactional(Producer):
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
            raise GenerationFenced("somebody else has the id")
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
    assert parse_last_letter(world.group[P0].metadata) == len(world.topic)
