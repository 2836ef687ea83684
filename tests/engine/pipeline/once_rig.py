"""A stream that delivers exactly once, over a broker in memory: what a lease opens, lease after lease."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from engine.config.exception_handlers import HandlerRole
from engine.exactly_once.buffered import BufferedProducer
from engine.exactly_once.transaction import Transaction
from engine.pipeline.chain import sink_steps
from engine.pipeline.claim import claim_positions
from engine.pipeline.commit import TransactionalCommit, TransactionalStore, flush_letters
from engine.pipeline.outcome import Interrupted
from engine.pipeline.stream_task import StreamTask
from engine.policy.retry import RetryPolicy
from engine.policy.tolerance import TolerancePolicy
from engine.record.record import TopicPartition
from engine.record.stage import Stage
from engine.record.trace import DISCREET
from engine.steps.processors import ProcessorContext
from engine.worker_messages import ConnectorKind, TaskConfig
from tests.engine.pipeline.rig import Apply, Bytes, Json, guard_for, letter_reporter, replay_reporter
from tests.engine.pipeline.stream_rig import StreamRun, Work, handlers_of, sinks_of, stages_of, wired
from tests.support.fake_kafka import FakeKafka

GROUP = "connect-c"


class OnceRig(StreamRun):
    """One lease of task 0 of connector `c`, which reads topic `t`; a sink writes to the topic `to-<name>`.

    `admit` raises GenerationFenced where the lease is none any more.
    """

    def __init__(
        self,
        kafka: FakeKafka,
        processors: Mapping[str, Work],
        tree: Mapping[str, Sequence[str]],
        *,
        answers: Mapping[HandlerRole, Any] | None = None,
        retry: RetryPolicy | None = None,
        init: Callable[[ProcessorContext], None] = lambda _: None,
        admit: Callable[[], None] = lambda: None,
        transform: Callable[[Any], Any] = lambda value: value,
    ) -> None:
        self.clock = clock = kafka.clock
        self.stages = stages_of(processors, sinks_of(processors, tree))
        self.consumer = kafka.consumer(GROUP)
        partitions = tuple(kafka.partitions_of("t"))

        def check_all() -> None:
            admit()
            store.check()

        self.transaction = Transaction(lambda: kafka.transactional("g-c-0"), check_all, clock)
        self.transaction.open()
        admit()
        config = TaskConfig("c", 0, 1, {}, partitions, kind=ConnectorKind.STREAM)
        store = TransactionalStore(self.consumer, self.transaction, GROUP)
        positions, self.state = claim_positions(config, self.stages, self.consumer, store)
        retry = retry or RetryPolicy()
        self.letters = letter_reporter(BufferedProducer(self.transaction), self.state, clock, retry=retry)
        self.guard = guard_for(
            self.stages, self.state, clock, retry=retry, tolerance=TolerancePolicy(0, 0), dead_letters=self.letters,
            patience_ms=lambda _: 2**62, handlers=handlers_of(self.stages, answers or {}), content_policy=DISCREET,
        )  # fmt: skip
        self.replayed = replay_reporter(lambda: BufferedProducer(self.transaction), clock)
        self.task = StreamTask(
            **wired(self.stages, processors, tree, clock, init),
            steps=sink_steps(Bytes(), Json(), None, [Apply(transform)]),
            guard=self.guard,
            consumer=self.consumer,
            producer=self.transaction,
            transaction=self.transaction,
            replayed=self.replayed,
            commit=TransactionalCommit(
                self.transaction, lambda: flush_letters(self.letters, self.state), self._flush_outcomes, GROUP
            ),
            state=self.state,
            committed=positions,
            clock=clock,
        )
        self.consumer.assign(positions)

    def close(self) -> None:
        self.transaction.close()

    def _flush_outcomes(self) -> Interrupted | None:
        return None if self.replayed.flush() else Interrupted(None)


def fill(kafka: FakeKafka, *values: bytes, partition: int = 0, headers: Any = ()) -> None:
    """Records of topic `t`."""
    producer = kafka.producer()
    for value in values:
        producer.produce("t", b"k", value, headers, 1_000, partition)
    producer.flush()


def written(kafka: FakeKafka, sink: str) -> list[str]:
    """What a read_committed reader sees of a sink's topic."""
    return [(one.value or b"").decode() for one in kafka.read(f"to-{sink}")]


def letters(kafka: FakeKafka, stages: Sequence[Stage]) -> list[tuple[str, int, int]]:
    """The dead letters a read_committed reader sees: the node of the error, the record's partition and offset.

    Those of the consumer are left out: they concern no record, and no node."""
    found = []
    for one in kafka.read("dlq"):
        body = orjson.loads(one.value or b"null")
        if body["stages"][body["index"]]["type"] == "KAFKA_CONSUME":
            continue
        original = body.get("original_record") or {}
        stage = stages[body["index"]]
        found.append((stage.name or str(stage.type), original.get("partition", -1), original.get("offset", -1)))
    return found


def committed(kafka: FakeKafka, partition: int = 0) -> int:
    return kafka.offsets(GROUP).get(TopicPartition("t", partition), 0)
