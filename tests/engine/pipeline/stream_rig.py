"""A stream's task over fakes: processors made of functions, one value per record."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from engine import ports
from engine.config.connector import parse_connector
from engine.config.exception_handlers import HandlerRole
from engine.pipeline.chain import sink_steps
from engine.pipeline.commit import DurableThenCommit
from engine.pipeline.source_steps import source_steps
from engine.pipeline.stream_task import StreamTask
from engine.pipeline.task_state import restore
from engine.pipeline.topology import ProcessorNode, SinkNode, Topology
from engine.policy.handler_calls import NamedHandler, named_handler
from engine.policy.handlers import Response, SerializationExceptionOrigin
from engine.policy.retry import RetryPolicy
from engine.policy.tolerance import TolerancePolicy
from engine.ports import Committed
from engine.record.record import RawRecord, Record, TopicPartition
from engine.record.stage import Stage, StageType
from engine.reporting.metrics import Metric
from engine.steps.converters.bytes import ByteArrayConverter
from engine.steps.handlers import stage_handlers
from engine.steps.processors import ProcessingState, ProcessorContext
from engine.steps.schedules import PunctuationType, Schedules
from engine.worker_messages import ConnectorKind
from tests.engine.pipeline.rig import Apply, Bytes, Json, failing_at, guard_for, replay_reporter
from tests.fakes import Clock, Consumer, Producer, Reporter

Work = Callable[[ProcessorContext, Record], None]
NODE = {"input": ["a"], "a": ["out"]}


def passing(function: Callable[[Any], Any] = lambda value: value) -> Work:
    """A processor that forwards what the function makes of a value."""

    def process(context: ProcessorContext, record: Record) -> None:
        context.forward(replace(record, value=function(record.value)))

    return process


def raising_at(*bad: Any) -> Any:
    return passing(failing_at(*bad, text="no {}"))


def scheduling(kind: PunctuationType, interval_ms: int, call: Any) -> Any:
    return lambda context: context.schedule(interval_ms, kind, lambda time: call(context, time))


def forwarding(context: ProcessorContext, time: int) -> None:
    context.forward(Record("", None, time, None, f"at {time}"))


class DyingIn(Clock):
    """The worker dies in the wait that is this long."""

    def __init__(self, ms: int) -> None:
        super().__init__()
        self.ms = ms

    def wait(self, ms: int) -> bool:
        if ms == self.ms:
            raise SystemExit
        return super().wait(ms)


class Asked:
    """A handler that keeps what it is asked and answers as told."""

    def __init__(self, answer: Any = Response.CONTINUE) -> None:
        self.answer = answer
        self.seen: list[tuple[Any, Any, Exception]] = []

    def handle(self, context: Any, record: Any, exception: Exception) -> Any:
        self.seen.append((context, record, exception))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer

    def handle_serialization_exception(self, context: Any, record: Any, exception: Exception, origin: Any) -> Any:
        self.seen.append((context, (record, origin), exception))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Broken:
    """A converter that can't write what is `bad`."""

    def from_connect(self, topic: str, schema: Any, value: Any, headers: Any = ()) -> bytes | None:
        if value == "bad":
            raise ValueError(f"no bytes for {topic}")
        return None if value is None else str(value).encode()


class StreamRun:
    """A stream's task and its consumer."""

    task: StreamTask
    consumer: Any

    def run(self) -> Any:
        """Step until the task ends or there is nothing more, then save."""
        while True:
            before = self.consumer.positions()
            end = self.task.step(0)
            if end is not None:
                return end
            if self.consumer.positions() == before:
                return self.task.save()


class StreamRig(StreamRun):
    """Task 0 of connector `c` on topic `t`.

    `tree` is names with their children, `input` with the roots; a name that is no processor is a sink, which writes
    to the topic `to-<name>`. `answers` are handlers by role; without any, a stream's defaults; with `tolerance` none.
    """

    def __init__(
        self,
        records: Sequence[RawRecord],
        processors: Mapping[str, Work],
        tree: Mapping[str, Sequence[str]],
        *,
        answers: Mapping[HandlerRole, Any] | None = None,
        tolerance: TolerancePolicy | None = None,
        transform: Callable[[Any], Any] = lambda value: value,
        init: Callable[[ProcessorContext], object] = lambda _: None,
        retry: RetryPolicy | None = None,
        producer: Any = None,
        clock: Clock | None = None,
        dead_letters: bool = True,
        group: dict[TopicPartition, Committed] | None = None,
        restarts: int = 0,
        key_is_json: bool = False,
    ) -> None:
        self.answers = answers or {}
        self.clock = clock or Clock()
        self.producer: Any = producer or Producer()
        self.outcomes = Producer()
        self.reporter = Reporter()
        self.consumer = Consumer(records, group)
        self.stages = stages_of(processors, sinks_of(processors, tree))
        partitions = sorted({TopicPartition(one.topic, one.partition) for one in records})
        committed = {name: one for name, one in self.consumer.committed(partitions).items() if one is not None}
        self.state = restore(
            [one.metadata for one in committed.values()], task=0, generation=1, restarts=restarts, stages=self.stages
        )
        self.guard = guard_for(
            self.stages, self.state, self.clock, retry=retry, tolerance=tolerance or TolerancePolicy(0, 0),
            reporters=[] if dead_letters else [self.reporter], dead_letters=self.reporter if dead_letters else None,
            patience_ms=lambda _: 2**62, handlers=None if tolerance else handlers_of(self.stages, answers or {}),
        )  # fmt: skip
        self.replayed = replay_reporter(lambda: self.outcomes, self.clock)
        wiring = wired(self.stages, processors, tree, self.clock, init)
        self.contexts = wiring["contexts"]
        self.task = StreamTask(
            **wiring,
            steps=sink_steps(Json() if key_is_json else Bytes(), Json(), None, [Apply(transform)]),
            guard=self.guard,
            consumer=self.consumer,
            producer=self.producer,
            replayed=self.replayed,
            commit=DurableThenCommit(lambda: None, lambda: None, self._flush_outcomes, self.consumer),
            state=self.state,
            committed={name: one.offset for name, one in committed.items()},
            clock=self.clock,
        )
        self.consumer.assign({name: committed[name].offset if name in committed else 0 for name in partitions})

    def written(self, sink: str | None = None) -> list[str]:
        """Values in the order they were written, of one sink or of all."""
        return [
            (value or b"").decode()
            for topic, _, value, *_ in self.producer.records
            if sink is None or topic == f"to-{sink}"
        ]

    def committed(self, partition: int = 0) -> int:
        found = self.consumer.group.get(TopicPartition("t", partition))
        return 0 if found is None else found.offset

    def count(self, name: str) -> int:
        return self.state.metrics[Metric(name)]

    def dropped(self) -> dict[str, int]:
        """Records that handlers let go, by node."""
        counts = self.state.stage_dropped
        return {stage.label: count for stage, count in zip(self.stages, counts, strict=True) if count}

    def _flush_outcomes(self) -> None:
        self.replayed.flush()


def stages_of(processors: Mapping[str, Any], sinks: Sequence[str]) -> tuple[Stage, ...]:
    """The stages of such a topology."""
    ends = (StageType.KEY_CONVERTER, StageType.VALUE_CONVERTER, StageType.HEADER_CONVERTER, StageType.KAFKA_PRODUCE)
    return (
        Stage(StageType.KEY_CONVERTER, "Bytes"),
        Stage(StageType.VALUE_CONVERTER, "Json"),
        Stage(StageType.TRANSFORMATION, "Test"),
        *(Stage(StageType.PROCESSOR, "P", name=name) for name in processors),
        *(Stage(kind, "Out", name=name) for name in sinks for kind in ends),
        Stage(StageType.KAFKA_CONSUME, "KafkaConsumer"),
    )


def sinks_of(processors: Mapping[str, Any], tree: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the names in the tree that are no processors."""
    return list(dict.fromkeys(name for names in tree.values() for name in names if name not in processors))


def wired(
    stages: Sequence[Stage],
    processors: Mapping[str, Work],
    tree: Mapping[str, Sequence[str]],
    clock: ports.Clock,
    init: Callable[[ProcessorContext], object],
) -> dict[str, Any]:
    """Return the topology and what its nodes share, as a stream's task takes them."""
    moment, schedules = ProcessingState(), Schedules()
    index_of = {stage.name: index for index, stage in reversed(list(enumerate(stages))) if stage.name}
    contexts = {
        name: (index_of[name], ProcessorContext(name, "c-0", tree.get(name, ()), moment, schedules, clock))
        for name in processors
    }
    nodes: dict[str, ProcessorNode | SinkNode] = {
        name: ProcessorNode(((index, _step(context, processors[name])),)) for name, (index, context) in contexts.items()
    }
    for name in sinks_of(processors, tree):
        steps = source_steps([], Broken(), Broken(), ByteArrayConverter(), index_of[name])
        nodes[name] = SinkNode(steps, f"to-{name}", steps[-1][0] + 1)
    for _, context in contexts.values():
        init(context)
    topology = Topology(nodes, tuple(tree["input"]))
    return {"topology": topology, "contexts": contexts, "moment": moment, "schedules": schedules}


def handlers_of(stages: Sequence[Stage], answers: Mapping[HandlerRole, Any]) -> dict[int, NamedHandler]:
    """Return a stream's default handlers by stage, with these in their place where a role has one."""
    config = parse_connector({"name": "c", "connector.class": "stream", "topics": "t"})
    found = stage_handlers(config, ConnectorKind.STREAM, stages)
    for index, named in tuple(found.items()):
        if named.role in answers:
            found[index] = named_handler("test", named.role, answers[named.role], _origin(stages[index]))
    return found


def _origin(stage: Stage) -> SerializationExceptionOrigin | None:
    if not stage.name or stage.type in (StageType.KAFKA_PRODUCE, StageType.PROCESSOR):
        return None
    is_key = stage.type is StageType.KEY_CONVERTER
    return SerializationExceptionOrigin.KEY if is_key else SerializationExceptionOrigin.VALUE


def _step(context: ProcessorContext, work: Work) -> Callable[[Record], Any]:
    return lambda record: context.run(lambda given: work(context, given), record)
