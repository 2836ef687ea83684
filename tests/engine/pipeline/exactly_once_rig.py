"""A source's task that delivers exactly once, over a broker in memory; each part as it is opened by a lease."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from engine.errors import EngineError, GenerationFenced
from engine.exactly_once.buffered import BufferedProducer
from engine.exactly_once.transaction import Transaction
from engine.kafka.offsets import OffsetsTopic, TaskOffsets
from engine.pipeline.commit import flush_letters
from engine.pipeline.produce_stage import RecordWriter
from engine.pipeline.source_boundary import BoundaryRule, ConnectorBoundary, PollBoundary
from engine.pipeline.source_commit import TransactionalOffsets
from engine.pipeline.source_steps import source_steps
from engine.pipeline.source_task import SourceTask
from engine.pipeline.source_transactions import TransactionContext
from engine.pipeline.task_state import TaskState, restore
from engine.policy.retry import RetryPolicy
from engine.policy.tolerance import TolerancePolicy
from engine.ports import Row, SourcePosition
from engine.record.record import RawRecord, Record, TopicPartition
from engine.record.trace import DISCREET
from engine.reporting.metrics import Metric
from tests.engine.pipeline.rig import Apply, guard_for, letter_reporter
from tests.engine.pipeline.source_rig import STAGES, Text
from tests.fakes import Clock, Source, source_record
from tests.support.fake_kafka import FakeAdmin, FakeConsumer, FakeKafka, FakeTransactional

OFFSETS, LETTERS, OUT = "offsets", "dlq", "t"


class Admin(FakeAdmin):
    """Knows of what is not committed, too."""

    def written_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        kafka = self._kafka
        return kafka.request(
            "list_offsets", lambda: {one: kafka.end_offset(one, committed=False) for one in partitions}
        )


class Waiting(FakeConsumer):
    """Waits for records as long as it is told to."""

    def poll(self, max_records: int, timeout_s: float) -> list[RawRecord]:
        found = super().poll(max_records, timeout_s)
        if not found and isinstance(clock := self._kafka.clock, Clock):
            clock.time_ms += int(timeout_s * 1000)
        return found


class Counting(FakeTransactional):
    """Counts its calls by name in a table of the world's."""

    def __init__(self, kafka: FakeKafka, transactional_id: str, calls: dict[str, int], limit: int) -> None:
        super().__init__(kafka, transactional_id)
        self._calls = calls
        self._limit = limit  # the largest record that it lets into the topic of records

    def produce_all(self, rows: Sequence[Row]) -> None:
        for row in rows:
            self._max_request_bytes = self._limit if row[0] == OUT else 1_000_000
            super().produce_all((row,))

    def begin(self) -> None:
        self._calls["begin"] = self._calls.get("begin", 0) + 1
        super().begin()

    def commit(self) -> None:
        self._calls["commit"] = self._calls.get("commit", 0) + 1
        super().commit()

    def abort(self) -> None:
        self._calls["abort"] = self._calls.get("abort", 0) + 1
        super().abort()

    def close(self) -> None:
        self._calls["close"] = self._calls.get("close", 0) + 1
        super().close()


class World:
    """What outlives a lease: the broker, the clock, whose turn it is."""

    def __init__(self, kafka: FakeKafka | None = None, clock: Clock | None = None) -> None:
        self.clock = clock or Clock()
        self.kafka = kafka or FakeKafka(self.clock)
        for topic in (OFFSETS, LETTERS, OUT):
            self.kafka.create(topic, 1)
        self.calls: dict[str, int] = {}
        self.owner = 0  # the lease that the config topic says may work
        self.largest = 1_000_000_000  # what a client takes, in bytes

    def emitted(self) -> list[int]:
        """The numbers that a read_committed reader sees."""
        return [int(record.value or b"-1") for record in self.kafka.read(OUT)]

    def letters(self) -> int:
        """How many dead letters it sees."""
        return len(self.kafka.read(LETTERS))

    def offsets(self, connector: str = "c", task: int = 0) -> TaskOffsets:
        """What is committed, as a new reader sees it."""
        self.kafka.settle()
        return TaskOffsets(self.topic(), connector, task)

    def position(self) -> int:
        found = self.offsets().position({"file": "f"})
        return 0 if found is None else int(found["next"])

    def topic(self, name: str = OFFSETS) -> OffsetsTopic:
        """A reader of the offsets topic at its end."""
        topic = OffsetsTopic(Waiting(self.kafka, "test", committed=True), None, Admin(self.kafka), name, self.clock)
        topic.read_to_end()
        return topic


class Lease:
    """One lease of task 0: opened in the order of KIP-618, source task startup."""

    def __init__(
        self,
        world: World,
        source: Any,
        *,
        boundary: Callable[[TransactionContext], BoundaryRule] = lambda _: PollBoundary(),
        transform: Callable[[Any], Any] = lambda value: value,
        tolerance: TolerancePolicy | None = None,
        retry: RetryPolicy | None = None,
        restarts: int = 0,
        patience_ms: int = 1_000_000,
        number: int | None = None,
    ) -> None:
        self.world = world
        self.number = world.owner if number is None else number
        self.source = source
        stores: list[TaskOffsets] = []

        def check() -> None:
            self.admit()
            for store in stores:
                store.check()

        self.transaction = Transaction(
            lambda: Counting(world.kafka, "g-c-0", world.calls, world.largest), check, world.clock
        )
        self.transaction.open()
        self.admit()
        self.offsets = TaskOffsets(world.topic(), "c", 0)
        stores.append(self.offsets)
        self.state: TaskState = restore(
            [self.offsets.memory] if self.offsets.memory else [], task=0, generation=1, restarts=restarts, stages=STAGES
        )
        self.letters = letter_reporter(
            BufferedProducer(self.transaction), self.state, world.clock, retry=retry or RetryPolicy(), topic=LETTERS,
            include_messages=True, patience_ms=lambda _: patience_ms,
        )  # fmt: skip
        guard = guard_for(
            STAGES, self.state, world.clock, retry=retry, tolerance=tolerance, retry_on="retriable",
            dead_letters=self.letters, patience_ms=lambda _: patience_ms, content_policy=DISCREET,
        )  # fmt: skip
        self.transactions = TransactionContext()
        source.transactions = self.transactions
        source.start({}, self.offsets.position)
        self.task = SourceTask(
            source=source,
            steps=source_steps([Apply(transform)], Text(), Text(), Text()),
            writer=RecordWriter(self.transaction, guard, len(STAGES) - 1),
            guard=guard,
            commit=TransactionalOffsets(
                self.transaction, lambda: flush_letters(self.letters, self.state), self.drop_letters, self.offsets
            ),
            state=self.state,
            clock=world.clock,
            boundary=boundary(self.transactions),
        )

    def admit(self) -> None:
        """Does the config topic still say that this lease may work?"""
        self.world.kafka.request("fetch", lambda: None)
        if self.number != self.world.owner:
            raise GenerationFenced("somebody else's now")

    def drop_letters(self, keep: int) -> None:
        producer = self.letters.producer
        assert isinstance(producer, BufferedProducer)
        producer.clear()
        self.letters.keep_last(keep)

    def run(self) -> Any:
        """Step until the task ends or its source is empty, then save and close."""
        while True:
            end = self.task.step(0)
            if end is None and self.task.is_idle():
                end = self.task.save()
                self.close()
                return end
            if end is not None:
                self.close()
                return end

    def close(self) -> None:
        self.source.stop()
        self.transaction.close()

    def count(self, name: str) -> int:
        """A metric by name."""
        return self.state.metrics[Metric(name)]


class Scripted:
    """A source that answers one script line a poll: records by number, and what it asks of its transactions.

    A line is called with the source and answers the numbers to emit; behind the script it has nothing.
    """

    idle_ms = 500
    transactions: TransactionContext

    def __init__(self, *script: Callable[[Scripted], Sequence[int]]) -> None:
        self.script = list(script)
        self.confirmed: list[int] = []
        self.commits = 0
        self.records: dict[int, Record] = {}

    def start(self, config: Mapping[str, str], position: Callable[[SourcePosition], SourcePosition | None]) -> None:
        found = position({"file": "f"})
        self.begin = 0 if found is None else int(found["next"])

    def poll(self) -> list[Record]:
        if not self.script:
            return []
        return [self.record(number) for number in self.script.pop(0)(self)]

    def record(self, number: int) -> Record:
        """The record of a number, always the same object."""
        return self.records.setdefault(number, source_record(number))

    def commit_record(self, record: Record) -> None:
        self.confirmed.append(record.value)

    def commit(self) -> None:
        self.commits += 1

    def stop(self) -> None:
        """Nothing to close."""


def own(transactions: TransactionContext) -> BoundaryRule:
    """The boundary that the source says itself."""
    return ConnectorBoundary(transactions)


def emit(*numbers: int) -> Callable[[Scripted], Sequence[int]]:
    """A line that only emits."""
    return lambda _: numbers


def attempt(call: Callable[[], Any]) -> Any:
    """What comes of it; an error of ours as a value."""
    try:
        return call()
    except EngineError as error:
        return error


__all__ = ["Lease", "Scripted", "Source", "World", "attempt", "emit", "own"]
