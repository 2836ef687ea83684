"""A KafkaSink over the in-memory Kafka: whatever is refused, by whom and when, each record has one place."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.connectors.kafka.sink import KafkaSink
from engine.errors import Aborted, RecordError
from engine.exactly_once.buffered import BufferedProducer
from engine.exactly_once.transaction import Transaction
from engine.pipeline.chain import sink_steps
from engine.pipeline.claim import claim_positions
from engine.pipeline.commit import TransactionalCommit, TransactionalStore, flush_letters
from engine.pipeline.outcome import Failed
from engine.pipeline.sink_task import SinkTask
from engine.policy.tolerance import TolerancePolicy
from engine.record.record import RawRecord, Record, TopicPartition
from engine.record.stage import Stage, StageType
from engine.record.trace import DISCREET
from engine.worker_messages import TaskConfig
from tests.engine.pipeline.rig import Bytes, guard_for, letter_reporter, replay_reporter
from tests.fakes import Clock, Producer
from tests.support.examples import examples
from tests.support.fake_kafka import FakeKafka, Fault
from tests.support.fake_producers import FakeTransactional

STAGES = (
    Stage(StageType.KEY_CONVERTER, "Bytes"),
    Stage(StageType.VALUE_CONVERTER, "Bytes"),
    Stage(StageType.TASK_PUT, "KafkaSink"),
    Stage(StageType.KAFKA_CONSUME, "KafkaConsumer"),
)
GROUP = "connect-c"
CLIENT_BYTES, BROKER_BYTES = 20_000, 15_000
SIZES = {"good": 1, "large": BROKER_BYTES + 100, "huge": CLIENT_BYTES + 100}  # good, refused by broker, by client


class World:
    """Records of topic `in`, in a Kafka that takes those of topic `out` that are not too large."""

    def __init__(self, kinds: Sequence[str]) -> None:
        self.kafka = FakeKafka()
        self.kafka.create("in")
        self.kafka.create("out", max_message_bytes=BROKER_BYTES)
        self.kafka.create("dlq")
        producer = self.kafka.producer()
        for number, kind in enumerate(kinds):
            producer.produce("in", None, (b"%d" % number).ljust(SIZES[kind]))
        producer.flush()
        self.restarts = 0

    def run(self, limit: int, *, careful: bool = False) -> Failed | None:
        """A lease of the task, and what ended it; where a transaction was aborted it begins again, in small steps."""
        consumer, clock = self.kafka.consumer(GROUP), Clock()
        transaction = Transaction(
            lambda: FakeTransactional(self.kafka, "id", CLIENT_BYTES), lambda: None, clock, keeps=careful
        )
        transaction.open()
        config = TaskConfig("c", 0, 1, {}, (TopicPartition("in", 0),), self.restarts)
        positions, state = claim_positions(config, STAGES, consumer, TransactionalStore(consumer, transaction, GROUP))
        letters = letter_reporter(BufferedProducer(transaction), state, clock, max_bytes=10_000)
        tolerance = TolerancePolicy(limit, -1)
        guard = guard_for(STAGES, state, clock, tolerance=tolerance, dead_letters=letters, content_policy=DISCREET)
        task = SinkTask(
            steps=sink_steps(Bytes(), Bytes(), None, []),
            sink=KafkaSink(transaction, "out", lambda _: None, keeps_partition=False, flushes=careful),
            guard=guard,
            consumer=consumer,
            replayed=replay_reporter(Producer, clock),
            commit=TransactionalCommit(transaction, lambda: flush_letters(letters, state), lambda: None, GROUP),
            state=state,
            committed=positions,
            clock=clock,
        )
        consumer.assign(positions)
        try:
            while (end := task.step(0)) is None and not task.is_idle():
                clock.wait(100)
            end = end or task.save()
        except Aborted:
            transaction.close()
            return self.run(limit, careful=True)
        transaction.close()
        assert end is None or isinstance(end, Failed)
        return end

    def written(self) -> list[int]:
        return [int(record.value or b"") for record in self.kafka.read("out")]

    def dead(self) -> list[int]:
        contexts = [orjson.loads(record.value or b"null") for record in self.kafka.read("dlq")]
        return [context["record"]["offset"] for context in contexts]


@examples(40, 150)
def test_each_record_is_written_once_in_order_or_dead_lettered_once(count: int) -> None:
    @settings(max_examples=count)
    @given(st.lists(st.sampled_from(["good", "good", "good", "large", "huge"]), max_size=24), st.integers(-1, 4))
    def check(kinds: list[str], limit: int) -> None:
        world = World(kinds)
        good = [number for number, kind in enumerate(kinds) if kind == "good"]
        bad = [number for number, kind in enumerate(kinds) if kind != "good"]
        while world.run(limit) is not None:
            stopped = world.kafka.offsets(GROUP)[TopicPartition("in", 0)]
            assert world.written() == [number for number in good if number < stopped]
            assert world.dead() == [number for number in bad if number <= stopped]
            world.restarts += 1
            limit = -1  # an operator who tolerates everything
        assert (world.written(), world.dead()) == (good, bad)
        assert world.kafka.offsets(GROUP) == {TopicPartition("in", 0): len(kinds)}

    check()


def record(number: int, value: bytes = b"v") -> Record:
    raw = RawRecord("in", 0, number, 5, "CREATE_TIME", b"k", value)
    return Record("in", 0, 5, b"k", value, headers=(("h", None, None),), raw=raw)


def test_records_of_forbidden_topics_are_named_and_none_is_written() -> None:
    producer, why = Producer(), {"in": "not in"}
    sink = KafkaSink(producer, "", why.get, keeps_partition=False, flushes=False)
    with pytest.raises(ExceptionGroup) as raised:
        sink.put([record(0), record(1)])
    errors = [error for error in raised.value.exceptions if isinstance(error, RecordError)]
    assert [(error.index, str(error.cause)) for error in errors] == [(0, "not in"), (1, "not in")]
    assert producer.records == []


def test_a_record_keeps_what_it_has() -> None:
    producer = Producer()
    sink = KafkaSink(producer, "out", lambda _: None, keeps_partition=False, flushes=False)
    sink.put([record(0)])
    sink.flush()
    assert producer.records == [("out", b"k", b"v", (("h", None),), 5)]


def test_what_was_written_by_a_put_that_failed_is_not_written_again_outside_of_a_transaction() -> None:
    producer = Producer()
    producer.fail_next = [{1}]
    sink = KafkaSink(producer, "out", lambda _: None, keeps_partition=False, flushes=True)
    batch = [record(0, b"0"), record(1, b"1"), record(2, b"2")]
    with pytest.raises(Exception, match="no room"):
        sink.put(batch)
    sink.put(batch)
    assert [one[2] for one in producer.records] == [b"0", b"2", b"1"]


@pytest.mark.parametrize("kinds", [["good"] * 8, ["good", "large", "good", "huge", "good"]])
@pytest.mark.parametrize("first", range(6))
def test_while_no_broker_answers_a_transaction_condemns_no_record(kinds: list[str], first: int) -> None:
    world, produces = World(kinds), itertools.count()

    def faults(call: str) -> Fault | None:
        return Fault.BEFORE if call == "produce" and first <= next(produces) < first + 5 else None

    world.kafka.faults = faults
    world.run(-1)
    assert world.written() == [number for number, kind in enumerate(kinds) if kind == "good"]
    assert world.dead() == [number for number, kind in enumerate(kinds) if kind != "good"]


@pytest.mark.parametrize("fails", ["begin", "flush"])
def test_a_transactional_put_that_fails_for_the_worlds_sake_is_aborted(fails: str) -> None:
    kafka, clock = FakeKafka(), Clock()
    kafka.create("out")
    transaction = Transaction(lambda: FakeTransactional(kafka, "id"), lambda: None, clock)
    sink = KafkaSink(transaction, "out", lambda _: None, keeps_partition=False, flushes=True)
    if fails == "flush":
        transaction.open()
    kafka.faults = lambda call: Fault.BEFORE if call in {"init", "produce"} else None
    with pytest.raises(Aborted):
        sink.put([record(0), record(1)])
