"""A stream that delivers exactly once, over a broker in memory: what a lease opens, lease after lease."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson

from engine.config.connector import parse_connector
from engine.config.handlers import Role
from engine.exactly_once.buffered import Buffered
from engine.exactly_once.transaction import Transaction
from engine.leases import Kind, TaskConfig
from engine.pipeline.chain import sink_steps
from engine.pipeline.claim import claim_positions
from engine.pipeline.commit import TransactionalCommit, TransactionalStore, flush_letters
from engine.pipeline.guard import Guard
from engine.pipeline.outcome import Interrupted
from engine.pipeline.source_steps import source_steps
from engine.pipeline.stream_task import StreamTask
from engine.pipeline.topology import End, Node, Topology
from engine.policy.handler_calls import named
from engine.policy.retry import RetryPolicy
from engine.policy.tolerance import TolerancePolicy
from engine.record.record import TopicPartition
from engine.record.stage import Stage
from engine.reporting.deadletter import DeadLetterReporter
from engine.reporting.replay_outcomes import ReplayReporter
from engine.steps.converters.bytes import ByteArrayConverter
from engine.steps.handlers import stage_handlers
from engine.steps.processors import Moment, ProcessorContext
from engine.steps.schedules import Schedules
from tests.engine.pipeline.rig import Apply, Bytes, Json
from tests.engine.pipeline.stream_rig import Broken, Work, _origin, _step, stages_of
from tests.fakes import Clock
from tests.support.fake_kafka import FakeKafka

GROUP = "connect-c"
MOST_BYTES = 1_000_000


class OnceRig:
    """One lease of task 0 of connector `c`, which reads topic `t`; a sink writes to the topic `to-<name>`.

    `admit` raises Fenced where the lease is none any more.
    """

    def __init__(
        self,
        kafka: FakeKafka,
        processors: Mapping[str, Work],
        tree: Mapping[str, Sequence[str]],
        *,
        clock: Clock,
        answers: Mapping[Role, Any] | None = None,
        retry: RetryPolicy | None = None,
        init: Callable[[ProcessorContext], None] = lambda _: None,
        admit: Callable[[], None] = lambda: None,
        transform: Callable[[Any], Any] = lambda value: value,
    ) -> None:
        sinks = list(dict.fromkeys(name for names in tree.values() for name in names if name not in processors))
        self.clock = clock
        self.stages = stages_of(processors, sinks)
        self.consumer = kafka.consumer(GROUP)
        partitions = tuple(kafka.partitions_of("t"))

        def check_all() -> None:
            admit()
            store.check()

        self.transaction = Transaction(lambda: kafka.transactional("g-c-0"), check_all, clock)
        self.transaction.open()
        admit()
        config = TaskConfig("c", 0, 1, {}, partitions, kind=Kind.STREAM)
        store = TransactionalStore(self.consumer, self.transaction, GROUP)
        positions, self.state = claim_positions(config, self.stages, self.consumer, store)
        retry = retry or RetryPolicy()
        self.letters = DeadLetterReporter(
            producer=Buffered(self.transaction), topic="dlq", include_configs=False, include_messages=False,
            context_headers=False, max_bytes=MOST_BYTES, metrics=self.state.metrics, retry=retry, clock=clock,
            jitter=lambda: 1.0, patience_ms=lambda _: 2**62, failures=self.state.unwritten.failures,
            first_ms=self.state.unwritten.first_ms,
        )  # fmt: skip
        self.guard = Guard(
            connector="c", stages=self.stages, state=self.state, retry=retry, tolerance=TolerancePolicy(0, 0),
            retry_on="all", reporters=[], dead_letters=self.letters, clock=clock, jitter=lambda: 1.0,
            patience_ms=lambda _: 2**62, handlers=self._handlers(answers or {}),
        )  # fmt: skip
        moment, schedules = Moment(), Schedules()
        index_of = {stage.name: index for index, stage in reversed(list(enumerate(self.stages))) if stage.name}
        contexts = {
            name: (index_of[name], ProcessorContext(name, "c-0", tree.get(name, ()), moment, schedules, clock))
            for name in processors
        }
        nodes: dict[str, Node | End] = {
            name: Node(((index, _step(context, processors[name])),)) for name, (index, context) in contexts.items()
        }
        for name in sinks:
            steps = source_steps([], Broken(), Broken(), ByteArrayConverter(), index_of[name])
            nodes[name] = End(steps, f"to-{name}", steps[-1][0] + 1)
        for _, context in contexts.values():
            init(context)
        self.replayed = ReplayReporter(
            open_producer=lambda: Buffered(self.transaction), topic="outcomes", connector="c", task=0, clock=clock,
            jitter=lambda: 1.0,
        )  # fmt: skip
        self.task = StreamTask(
            steps=sink_steps(Bytes(), Json(), None, [Apply(transform)]),
            topology=Topology(nodes, tuple(tree["input"])),
            contexts=contexts,
            moment=moment,
            schedules=schedules,
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

    def run(self) -> Any:
        """Step until the task ends or there is nothing more, then save."""
        while True:
            before = self.consumer.positions()
            end = self.task.step(0)
            if end is not None:
                return end
            if self.consumer.positions() == before:
                return self.task.save()

    def close(self) -> None:
        self.transaction.close()

    def _flush_outcomes(self) -> Interrupted | None:
        return None if self.replayed.flush() else Interrupted(None)

    def _handlers(self, answers: Mapping[Role, Any]) -> Any:
        config = parse_connector({"name": "c", "connector.class": "stream", "topics": "t"})
        found = stage_handlers(config, Kind.STREAM, self.stages)
        for index, stage in enumerate(self.stages):
            role = found[index].role
            if role in answers:
                found[index] = named("test", role, answers[role], _origin(stage))
        return found


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
    """The dead letters a read_committed reader sees: the node of the error, the record's partition and offset."""
    found = []
    for one in kafka.read("dlq"):
        body = orjson.loads(one.value or b"null")
        original = body.get("original_record") or {}
        stage = stages[body["index"]]
        found.append((stage.name or str(stage.type), original.get("partition", -1), original.get("offset", -1)))
    return found


def committed(kafka: FakeKafka, partition: int = 0) -> int:
    return kafka.offsets(GROUP).get(TopicPartition("t", partition), 0)
