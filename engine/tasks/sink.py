"""Build a sink task from its plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, cast

from engine.config.connector import ConnectorConfig
from engine.pipeline.chain import RecordTransform, Steps, sink_steps
from engine.pipeline.claim import claim_positions
from engine.pipeline.commit import Commit, DurableThenCommit, GroupStore, flush_letters
from engine.pipeline.key_lanes import KeyLanes
from engine.pipeline.opened_task import OpenTask
from engine.pipeline.sink_task import CAREFUL_RECORDS, CHUNK_RECORDS, SinkTask
from engine.pipeline.task_state import TaskState
from engine.ports import Consumer, Sink
from engine.record.record import TopicPartition
from engine.record.stage import StageType
from engine.reporting.deadletter import DeadLetterReporter
from engine.reporting.replay_outcomes import ReplayReporter
from engine.steps.registry import build_converter, build_transform
from engine.steps.unread_support import UnreadSupport, takes_unread
from engine.tasks.clients import TaskOpening, build_guard, flush_outcomes, open_consumer, open_replay_reporter
from engine.tasks.dead_letters import open_dead_letters


def open_sink(opening: TaskOpening) -> OpenTask:
    """Claim the task's partitions and open its sink."""
    return claim_sink(opening)()


def claim_sink(opening: TaskOpening) -> Callable[[], OpenTask]:
    """Claim the task's partitions, on any thread; return a function that opens the sink."""
    consumer = open_consumer(opening)
    positions, state = claim_positions(opening.task, opening.plan.guarded_stages, consumer, GroupStore(consumer))
    letters = open_dead_letters(opening, state)
    replayed = open_replay_reporter(opening)
    return partial(_open_claimed, opening, ClaimedSink(consumer, positions, state, letters, replayed))


class ClaimedSink(NamedTuple):
    """The parts of a claimed sink task."""

    consumer: Consumer
    positions: Mapping[TopicPartition, int]
    state: TaskState
    letters: DeadLetterReporter | None
    replayed: ReplayReporter


def start_sink(opening: TaskOpening) -> Any:
    """Start the connector's sink; it stops with the task."""
    sink = opening.plan.known.make(opening.worker)
    sink.start(opening.plan.config.properties)
    opening.closing.callback(sink.stop)
    return sink


def sink_task(
    opening: TaskOpening,
    claimed: ClaimedSink,
    sink: Sink,
    commit: Commit,
    steps: Steps | None = None,
    *,
    commits_in_background: bool = False,
    commit_interval_ms: int | None = None,
    lanes: KeyLanes | None = None,
) -> OpenTask:
    """Return the task at its first record.

    `steps` replaces the default steps, and `commit_interval_ms` the worker's interval.
    """
    task = SinkTask(
        steps=steps or reading_steps(opening, sink),
        sink=sink,
        guard=build_guard(opening, claimed.state, claimed.letters),
        consumer=claimed.consumer,
        replayed=claimed.replayed,
        commit=commit,
        state=claimed.state,
        committed=claimed.positions,
        clock=opening.clock,
        commit_interval_ms=commit_interval_ms or opening.worker.flush_interval_ms,
        chunk_records=CAREFUL_RECORDS if opening.careful else CHUNK_RECORDS,
        commits_in_background=commits_in_background,
        lanes=lanes,
    )
    # Last, so that nothing is fetched for a sink that can't be opened.
    claimed.consumer.assign(claimed.positions)
    return OpenTask(opening.task, task, opening.plan.tolerance, opening.closing.close, opening.careful)


def reading_steps(
    opening: TaskOpening, sink: object = None, transforms: Sequence[RecordTransform] | None = None
) -> Steps:
    """Return the input steps of a sink's or a stream's task: converters and transforms.

    `transforms` are ready instances to use. If they, the value converter and the `sink` all accept unread values,
    values stay unread.
    """
    config = opening.plan.config
    has_headers = any(stage.type is StageType.HEADER_CONVERTER and not stage.name for stage in opening.plan.stages)
    value = build_converter(config.value_converter, is_key=False)
    if transforms is None:
        transforms = build_transforms(config)
    # One class that reads parsed values is enough to need them: a plugin may look at any field.
    if all(map(takes_unread, (value, *transforms, sink))):
        cast("UnreadSupport", value).use_unread()
        cast("UnreadSupport", sink).use_unread()
    return sink_steps(
        build_converter(config.key_converter, is_key=True),
        value,
        build_converter(config.header_converter, is_key=False) if has_headers else None,
        transforms,
    )


def build_transforms(config: ConnectorConfig) -> list[RecordTransform]:
    """Build the connector's transforms, with their predicates. Raises ConfigError."""
    return [build_transform(step, config.predicates) for step in config.transforms]


def _open_claimed(opening: TaskOpening, claimed: ClaimedSink) -> OpenTask:
    sink = start_sink(opening)
    commit = DurableThenCommit(
        sink.flush,
        lambda: flush_letters(claimed.letters, claimed.state),
        lambda: flush_outcomes(claimed.replayed),
        claimed.consumer,
    )
    return sink_task(
        opening,
        claimed,
        sink,
        commit,
        commits_in_background=_can_flush_on_any_thread(sink),
        lanes=_open_lanes(opening, sink),
    )


def _open_lanes(opening: TaskOpening, sink: Sink) -> KeyLanes | None:
    """Return the lanes that the connector asks for. They end before the sink is stopped."""
    count = opening.plan.config.put_concurrency
    if count == 1:
        return None
    lanes = KeyLanes(sink.put, count)
    opening.closing.callback(lanes.close)
    return lanes


def _can_flush_on_any_thread(sink: object) -> bool:
    """Return whether the sink may flush on another thread than it puts.

    A derived class must declare this itself, as with unread values.
    """
    return "flushes_anywhere" in vars(type(sink)) and bool(getattr(sink, "flushes_anywhere", False))
