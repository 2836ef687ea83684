"""A source task over fakes, with one line per thing that a test may vary."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from engine.pipeline.outcome import Interrupted
from engine.pipeline.produce_stage import RecordWriter
from engine.pipeline.source_commit import DurableThenOffsets
from engine.pipeline.source_steps import source_steps
from engine.pipeline.source_task import SourceTask
from engine.pipeline.task_state import TaskState, restore
from engine.policy.handler_calls import NamedHandler
from engine.policy.retry import RetryPolicy
from engine.policy.tolerance import TolerancePolicy
from engine.record.record import Headers, TopicPartition
from engine.record.schema import Schema
from engine.record.stage import Stage, StageType
from engine.reporting.metrics import Metric
from tests.engine.pipeline.rig import Apply, guard_for
from tests.fakes import BatchingProducer, Clock, OffsetStore, Reporter, Source

STAGES = (
    Stage(StageType.TASK_POLL, "Source"),
    Stage(StageType.TRANSFORMATION, "Test"),
    Stage(StageType.KEY_CONVERTER, "Text"),
    Stage(StageType.VALUE_CONVERTER, "Text"),
    Stage(StageType.HEADER_CONVERTER, "Text"),
    Stage(StageType.KAFKA_PRODUCE, "KafkaProducer"),
)


class Text:
    """Any value as text; `None` stays."""

    def from_connect(self, topic: str, schema: Schema | None, value: Any, headers: Headers = ()) -> bytes | None:
        return None if value is None else str(value).encode()


class SourceRig:
    """A task of connector `c`, task 0; its stores outlive it, as `store` and `producer` are handed on."""

    def __init__(
        self,
        source: Source,
        *,
        transform: Callable[[Any], Any] = lambda value: value,
        producer: BatchingProducer | None = None,
        store: OffsetStore | None = None,
        reporter: Reporter | None = None,
        retry: RetryPolicy | None = None,
        tolerance: TolerancePolicy | None = None,
        clock: Clock | None = None,
        patience_ms: int = 1_000_000,
        restarts: int = 0,
        dead_letters: bool = True,
        reported: bool = True,
        flush_dead_letters: Callable[[], Interrupted | None] = lambda: None,
        handlers: Mapping[int, NamedHandler] | None = None,
    ) -> None:
        self.clock = clock or Clock()
        self.source = source
        self.store = store or OffsetStore()
        self.reporter = reporter or Reporter()
        self.producer = producer or BatchingProducer(1000, lambda _: False)
        self.state: TaskState = restore(
            [self.store.memory] if self.store.memory else [], task=0, generation=1, restarts=restarts, stages=STAGES
        )
        guard = guard_for(
            STAGES, self.state, self.clock, retry=retry, tolerance=tolerance, patience_ms=lambda _: patience_ms,
            handlers=handlers, reporters=[self.reporter] if reported and not dead_letters else [],
            dead_letters=self.reporter if reported and dead_letters else None,
        )  # fmt: skip
        source.start({}, self.store.position)
        self.task = SourceTask(
            source=source,
            steps=source_steps([Apply(transform)], Text(), Text(), Text()),
            writer=RecordWriter(self.producer, guard, len(STAGES) - 1),
            guard=guard,
            commit=DurableThenOffsets(flush_dead_letters, self.store),
            state=self.state,
            clock=self.clock,
        )

    def run(self) -> Any:
        """Step until the task ends or its source is empty, then save."""
        while True:
            end = self.task.step(0)
            if end is not None:
                return end
            if self.task.is_idle():
                return self.task.save()

    def written(self) -> list[int]:
        """The numbers that are in Kafka."""
        return [int(value or b"-1") for value in self.producer.log.get(TopicPartition("t", 0), [])]

    def reported(self) -> list[int]:
        """The numbers that were dead-lettered."""
        return [origin.value for _, origin in self.reporter.reports]

    def position(self) -> int:
        """The committed offset."""
        found = self.store.position({"file": "f"})
        return 0 if found is None else int(found["next"])

    def count(self, name: str) -> int:
        """A metric by name."""
        return self.state.metrics[Metric(name)]
