"""A sink's task, made from its plan."""

from __future__ import annotations

from engine.assembly.clients import (
    Opening,
    build_guard,
    flush_outcomes,
    open_consumer,
    open_replay_reporter,
)
from engine.assembly.letters import open_dead_letters
from engine.pipeline.chain import Steps, sink_steps
from engine.pipeline.claim import claim_positions
from engine.pipeline.commit import DurableThenCommit, GroupStore, flush_letters
from engine.pipeline.lease import OpenTask
from engine.pipeline.sink_task import SinkTask
from engine.record.stage import StageType
from engine.steps.registry import build_converter, build_transform


def open_sink(opening: Opening) -> OpenTask:
    """Claim the task's partitions and open its sink."""
    plan = opening.plan
    consumer = open_consumer(opening)
    positions, state = claim_positions(opening.task, plan.stages, consumer, GroupStore(consumer))
    letters = open_dead_letters(opening, state)
    replayed = open_replay_reporter(opening)
    sink = plan.known.factory()
    sink.start(plan.config.properties)
    opening.closing.callback(sink.stop)
    task = SinkTask(
        steps=reading_steps(opening),
        sink=sink,
        guard=build_guard(opening, state, letters),
        consumer=consumer,
        replayed=replayed,
        commit=DurableThenCommit(
            sink.flush, lambda: flush_letters(letters, state), lambda: flush_outcomes(replayed), consumer
        ),
        state=state,
        committed=positions,
        clock=opening.clock,
        commit_interval_ms=opening.worker.flush_interval_ms,
    )
    consumer.assign(positions)
    return OpenTask(opening.task, task, plan.tolerance, opening.closing.close)


def reading_steps(opening: Opening) -> Steps:
    """Converters that read, and transforms, as a sink's or a stream's task begins with them."""
    config = opening.plan.config
    has_headers = any(stage.type is StageType.HEADER_CONVERTER and not stage.name for stage in opening.plan.stages)
    return sink_steps(
        build_converter(config.key_converter, is_key=True),
        build_converter(config.value_converter, is_key=False),
        build_converter(config.header_converter, is_key=False) if has_headers else None,
        [build_transform(step, config.predicates) for step in config.transforms],
    )
