"""A source's task, made from its plan."""

from __future__ import annotations

from collections.abc import Callable

from engine.assembly.clients import (
    WRITING,
    Opening,
    base,
    build_guard,
    open_producer,
)
from engine.assembly.letters import open_dead_letters
from engine.config.topic import TOPIC_CONFIG
from engine.config.worker import WorkerConfig
from engine.errors import EngineError, FatalError
from engine.kafka.admin import KafkaAdmin
from engine.kafka.clock import WorkerClock
from engine.kafka.consumer import KafkaConsumer
from engine.kafka.new_topics import TopicMaker
from engine.kafka.offsets import OffsetsTopic, TaskOffsets
from engine.kafka.producer import KafkaProducer
from engine.kafka.settings import admin_settings, consumer_settings, producer_settings
from engine.pipeline.chain import Steps
from engine.pipeline.commit import flush_letters
from engine.pipeline.guard import Guard
from engine.pipeline.lease import OpenTask
from engine.pipeline.producing import RecordWriter
from engine.pipeline.source_commit import DurableThenOffsets
from engine.pipeline.source_steps import source_steps
from engine.pipeline.source_task import POLL, SourceTask
from engine.pipeline.task_state import restore
from engine.ports import Source
from engine.record.trace import describe
from engine.steps.registry import build_converter, build_transform

# As patient with the brokers as a sink's commit is.
PATIENT = {"linger.ms": "0", "delivery.timeout.ms": "15000", "request.timeout.ms": "10000"}


def open_source(opening: Opening) -> OpenTask:
    """Claim the task's offsets and start its source where they end."""
    plan, config = opening.plan, opening.task
    offsets = TaskOffsets(_offsets_topic(opening.worker), config.connector, config.task)
    state = restore(
        [offsets.memory] if offsets.memory else [],
        task=config.task,
        generation=config.generation,
        restarts=config.restarts,
        stages=plan.stages,
    )
    letters = open_dead_letters(opening, state)
    guard = build_guard(opening, state, letters)
    task = SourceTask(
        source=_start(opening, guard, offsets),
        steps=_steps(opening),
        writer=RecordWriter(open_producer(opening), guard, len(plan.stages) - 1),
        guard=guard,
        commit=DurableThenOffsets(lambda: flush_letters(letters, state), offsets),
        state=state,
        clock=opening.clock,
        commit_interval_ms=opening.worker.flush_interval_ms,
    )
    return OpenTask(config, task, plan.tolerance, opening.closing.close)


def _start(opening: Opening, guard: Guard, offsets: TaskOffsets) -> Source:
    """The source, started. It may be somebody else's: whatever it raises stops the task, never the worker."""
    made: list[Source] = []

    def start() -> None:
        made.append(opening.plan.known.factory())
        made[0].start(opening.plan.config.properties, offsets.position)

    def stop() -> None:
        for source in made:
            source.stop()

    opening.closing.callback(_attempt, guard, stop)
    error = _attempt(guard, start)
    if error is None:
        return made[0]
    if isinstance(error, EngineError):
        raise error
    raise FatalError(f"the source could not start: {describe(error).text}") from error


def _attempt(guard: Guard, call: Callable[[], None]) -> Exception | None:
    raised = guard.run(((POLL, lambda _: call()),), (None,), [])
    return None if raised is None else raised.error


def _steps(opening: Opening) -> Steps:
    config, worker = opening.plan.config, opening.worker
    steps = source_steps(
        [build_transform(step, config.predicates) for step in config.transforms],
        build_converter(config.key_converter, is_key=True),
        build_converter(config.value_converter, is_key=False),
        build_converter(config.header_converter, is_key=False),
    )
    if not config.new_topics:
        return steps
    maker = TopicMaker(lambda: KafkaAdmin(admin_settings(base(worker), worker.admin, config.admin)), config.new_topics)
    return (*steps, (len(opening.plan.stages) - 1, maker.ensure))  # a part of producing


_topics: dict[tuple[str, str], OffsetsTopic] = {}


def _offsets_topic(worker: WorkerConfig) -> OffsetsTopic:
    """This process's reader of the offsets topic, at its end; it is kept, because it only ever goes forward."""
    key = (worker.bootstrap_servers, worker.offset_topic)
    topic = _topics.pop(key, None)
    if topic is not None and topic.is_broken:
        topic.close()
        topic = None
    topic = topic or _open_offsets_topic(worker)
    try:
        topic.read_to_end()
    except BaseException:
        topic.close()
        raise
    _topics[key] = topic
    return topic


def _open_offsets_topic(worker: WorkerConfig) -> OffsetsTopic:
    admin = KafkaAdmin(admin_settings(base(worker), worker.admin))
    admin.create_topic(worker.offset_topic, worker.offset_partitions, worker.offset_replication_factor, TOPIC_CONFIG)
    group = f"connect-{worker.group_id}-offsets"
    return OffsetsTopic(
        KafkaConsumer(consumer_settings(group, base(worker), worker.consumer, {"fetch.min.bytes": "1"})),
        KafkaProducer(producer_settings(WRITING, base(worker), worker.producer, PATIENT)),
        admin,
        worker.offset_topic,
        WorkerClock(),
    )
