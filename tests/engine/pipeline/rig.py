"""A sink task over fakes, with one line per thing that a test may vary."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import orjson

from engine import ports
from engine.config.exception_handlers import HandlerRole
from engine.errors import RecordError, RetriableError
from engine.pipeline.chain import sink_steps
from engine.pipeline.commit import DurableThenCommit, flush_letters
from engine.pipeline.guard import Guard
from engine.pipeline.key_lanes import KeyLanes
from engine.pipeline.outcome import Interrupted
from engine.pipeline.sink_task import SinkTask
from engine.pipeline.task_state import TaskState, restore
from engine.policy.handler_calls import named_handler
from engine.policy.retry import RetryPolicy
from engine.policy.tolerance import TolerancePolicy
from engine.ports import Committed
from engine.record.record import RawRecord, Record, TopicPartition
from engine.record.schema import Schema
from engine.record.stage import Stage, StageType
from engine.record.trace import ContentPolicy
from engine.reporting.deadletter import DeadLetterReporter
from engine.reporting.metrics import Metric
from engine.reporting.replay_outcomes import ReplayReporter
from tests.fakes import Clock, Consumer, Producer, Reporter, Sink, raw

STAGES = (
    Stage(StageType.KEY_CONVERTER, "Bytes"),
    Stage(StageType.VALUE_CONVERTER, "Json"),
    Stage(StageType.TRANSFORMATION, "Test"),
    Stage(StageType.TASK_PUT, "Sink"),
    Stage(StageType.KAFKA_CONSUME, "KafkaConsumer"),
)


class Bytes:
    """Bytes as they are."""

    def to_connect(self, topic: str, data: bytes | None, headers: Any) -> tuple[Schema | None, Any]:
        return None, data


class Json:
    """JSON, read by orjson."""

    def to_connect(self, topic: str, data: bytes | None, headers: Any) -> tuple[Schema | None, Any]:
        return None, None if data is None else orjson.loads(data)


class Apply:
    """A transform made of a function on values."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function

    def apply(self, record: Record) -> Record | None:
        value = self.function(record.value)
        return None if value is None else msgspec.structs.replace(record, value=value)


def guard_for(stages: Sequence[Stage], state: TaskState, clock: ports.Clock, **options: Any) -> Guard:
    """Return a guard of connector `c`. Without options it retries nothing, tolerates all errors and tells all content.

    An option that is None has its default."""
    chosen: dict[str, Any] = {
        "retry": RetryPolicy(), "tolerance": TolerancePolicy(-1, -1), "retry_on": "all", "reporters": [],
        "dead_letters": None, "jitter": lambda: 1.0, "patience_ms": lambda _: 1_000_000,
        "content_policy": ContentPolicy(content=True, foreign=True),
    }  # fmt: skip
    chosen |= {name: value for name, value in options.items() if value is not None}
    return Guard(connector="c", stages=stages, state=state, clock=clock, **chosen)


def replay_reporter(open_producer: Callable[[], Any], clock: ports.Clock) -> ReplayReporter:
    """Return the reporter of the outcomes of task 0 of connector `c`."""
    return ReplayReporter(
        open_producer=open_producer, topic="outcomes", connector="c", task=0, clock=clock, jitter=lambda: 1.0
    )


def letter_reporter(
    producer: Any, state: TaskState, clock: ports.Clock | None = None, **options: Any
) -> DeadLetterReporter:
    """Return the reporter of a task's dead letters. Without options it retries nothing and waits for ever."""
    chosen: dict[str, Any] = {
        "topic": "dlq", "include_configs": False, "include_messages": False, "context_headers": False,
        "max_bytes": 1_000_000, "retry": RetryPolicy(), "jitter": lambda: 1.0, "patience_ms": lambda _: 2**62,
        "failures": state.unwritten.failures, "first_ms": state.unwritten.first_ms,
    }  # fmt: skip
    return DeadLetterReporter(producer=producer, metrics=state.metrics, clock=clock or Clock(), **(chosen | options))


class Rig:
    """A task of connector `c`, task 0, on topic `t`."""

    def __init__(
        self,
        records: Sequence[RawRecord],
        *,
        transform: Callable[[Any], Any] = lambda value: value,
        sink: Sink | None = None,
        retry: RetryPolicy | None = None,
        tolerance: TolerancePolicy | None = None,
        retry_on: str = "all",
        clock: Clock | None = None,
        patience_ms: int = 1_000_000,
        dead_letters: bool = True,
        group: dict[TopicPartition, Committed] | None = None,
        restarts: int = 0,
        handler: Any = None,
        consumer: Consumer | None = None,
        letters: Callable[[TaskState], DeadLetterReporter] | None = None,
        outcome_producer: Producer | None = None,
        key: Any = None,
        value: Any = None,
        transforms: Sequence[Any] | None = None,
        lanes: int = 1,
    ) -> None:
        self.clock = clock or Clock()
        self.sink = sink or Sink()
        self.reporter = Reporter()
        self.consumer = consumer or Consumer(records, group)
        partitions = sorted({TopicPartition(one.topic, one.partition) for one in records})
        committed = {name: one for name, one in self.consumer.committed(partitions).items() if one is not None}
        self.state: TaskState = restore(
            [one.metadata for one in committed.values()], task=0, generation=1, restarts=restarts, stages=STAGES
        )
        self.letters = None if letters is None else letters(self.state)
        guard = guard_for(
            STAGES, self.state, self.clock, retry=retry, tolerance=tolerance, retry_on=retry_on,
            reporters=[] if dead_letters or letters else [self.reporter],
            dead_letters=self.letters or (self.reporter if dead_letters else None), patience_ms=lambda _: patience_ms,
            handlers=handler
            and dict.fromkeys(range(len(STAGES) - 1), named_handler("test", HandlerRole.PROCESSING, handler)),
        )  # fmt: skip
        self.producer = outcome_producer or Producer()  # of the outcome topic
        self.opened = 0  # how often it was
        self.replayed = replay_reporter(self._open_producer, self.clock)
        self.commit = DurableThenCommit(self.sink.flush, self._flush_letters, self._flush_outcomes, self.consumer)
        self.task = SinkTask(
            steps=sink_steps(key or Bytes(), value or Json(), None, transforms or [Apply(transform)]),
            sink=self.sink,
            guard=guard,
            consumer=self.consumer,
            replayed=self.replayed,
            commit=self.commit,
            state=self.state,
            committed={name: one.offset for name, one in committed.items()},
            clock=self.clock,
            lanes=KeyLanes(self.sink.put, lanes) if lanes > 1 else None,
        )
        self.consumer.assign({name: committed[name].offset if name in committed else 0 for name in partitions})

    def run(self) -> Any:
        """Step until the task ends or there is nothing more, then save."""
        while True:
            end = self.task.step(0)
            if end is not None:
                return end
            if self.task.last_count == 0:
                return self.task.save()

    def outcomes(self) -> list[tuple[int, str]]:
        """Offset and outcome of each report that is durable."""
        lines = [orjson.loads(record[2] or b"null") for record in self.producer.records]
        return [(line["offset"], line["outcome"]) for line in lines]

    def _open_producer(self) -> Producer:
        self.opened += 1
        return self.producer

    def _flush_letters(self) -> Interrupted | None:
        return flush_letters(self.letters, self.state)

    def _flush_outcomes(self) -> Interrupted | None:
        return None if self.replayed.flush() else Interrupted(None)

    def committed(self, partition: int = 0) -> int:
        """The committed offset."""
        return self.consumer.group[TopicPartition("t", partition)].offset

    def count(self, name: str) -> int:
        """A metric by name."""
        return self.state.metrics[Metric(name)]


def rows(*values: bytes) -> list[Any]:
    """Records of these values, from offset 0."""
    return [raw(offset, value) for offset, value in enumerate(values)]


def refusing(*bad: Any) -> Any:
    """A sink's trouble: it names the records with these values."""

    def trouble(records: Sequence[Record]) -> None:
        errors = [RecordError(i, ValueError(f"no {one.value}")) for i, one in enumerate(records) if one.value in bad]
        if errors:
            raise ExceptionGroup("rejected", errors)

    return trouble


def failing_at(*bad: Any, text: str = "{} is bad") -> Any:
    """A transform that raises ValueError for these values."""

    def transform(value: Any) -> Any:
        if value in bad:
            raise ValueError(text.format(value))
        return value

    return transform


def flaky(failures: int) -> Any:
    """A sink's or a transform's trouble: it fails so often for the world's sake."""
    left = [failures]

    def trouble(_: Any) -> Any:
        if left[0]:
            left[0] -= 1
            raise RetriableError("busy")
        return _

    return trouble
