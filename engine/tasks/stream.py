"""Build a stream task from its plan: processors, their contexts and the stream's sinks."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from engine.config.stream import INPUT, SinkConfig, StreamConfig
from engine.errors import FatalError
from engine.exactly_once.transaction import Transaction
from engine.pipeline.claim import claim_positions
from engine.pipeline.commit import (
    Commit,
    DurableThenCommit,
    GroupStore,
    TransactionalCommit,
    TransactionalStore,
    flush_letters,
)
from engine.pipeline.guard import Guard
from engine.pipeline.opened_task import OpenTask
from engine.pipeline.outcome import Interrupted
from engine.pipeline.source_steps import source_steps
from engine.pipeline.stream_task import StreamTask
from engine.pipeline.task_state import TaskState
from engine.pipeline.topology import ProcessorNode, SinkNode, Topology
from engine.ports import Consumer
from engine.record.stage import Stage, StageType
from engine.reporting.deadletter import DeadLetterReporter
from engine.reporting.replay_outcomes import ReplayReporter
from engine.steps.processors import ProcessingState, ProcessorContext, build_processor
from engine.steps.registry import build_converter
from engine.steps.schedules import Schedules
from engine.tasks.clients import (
    TaskOpening,
    build_guard,
    flush_outcomes,
    open_consumer,
    open_group,
    open_producer,
    open_replay_reporter,
)
from engine.tasks.dead_letters import open_dead_letters
from engine.tasks.sink import reading_steps
from engine.worker_messages import Delivery

log = logging.getLogger(__name__)


def open_stream(opening: TaskOpening) -> OpenTask:
    """Claim the task's partitions and start its processors."""
    plan, stream = opening.plan, opening.plan.stream
    assert stream is not None
    consumer = open_consumer(opening)
    store: GroupStore | TransactionalStore = GroupStore(consumer)
    transaction: Transaction | None = None
    if plan.delivery is Delivery.EXACTLY_ONCE:
        transaction, store = open_group(opening, consumer)
    positions, state = claim_positions(opening.task, plan.guarded_stages, consumer, store)
    letters = open_dead_letters(opening, state, transaction)
    replayed = open_replay_reporter(opening, transaction)
    guard = build_guard(opening, state, letters)
    moment, schedules = ProcessingState(), Schedules()
    contexts = {
        index: ProcessorContext(name, opening.task.task_id, stream.children[name], moment, schedules, opening.clock)
        for name, index in _indexes(plan.stages, StageType.PROCESSOR).items()
    }
    task = StreamTask(
        steps=reading_steps(opening),
        topology=_topology(stream, plan.stages, _start(opening, guard, stream, contexts), contexts),
        contexts={context.node: (index, context) for index, context in contexts.items()},
        moment=moment,
        schedules=schedules,
        guard=guard,
        consumer=consumer,
        producer=transaction or open_producer(opening),
        transaction=transaction,
        replayed=replayed,
        commit=_commit(opening, consumer, transaction, letters, replayed, state),
        state=state,
        committed=positions,
        clock=opening.clock,
        commit_interval_ms=opening.worker.flush_interval_ms,
        tell_trouble=opening.tell_trouble,
    )
    consumer.assign(positions)
    return OpenTask(opening.task, task, plan.tolerance, opening.closing.close)


def _commit(
    opening: TaskOpening,
    consumer: Consumer,
    transaction: Transaction | None,
    letters: DeadLetterReporter | None,
    replayed: ReplayReporter,
    state: TaskState,
) -> Commit:
    def flush_own_letters() -> Interrupted | None:
        return flush_letters(letters, state)

    def flush_own_outcomes() -> Interrupted | None:
        return flush_outcomes(replayed)

    if transaction is None:  # records are durable already, because their writer waits for each of them
        return DurableThenCommit(lambda: None, flush_own_letters, flush_own_outcomes, consumer)
    return TransactionalCommit(transaction, flush_own_letters, flush_own_outcomes, _group(opening))


def _group(opening: TaskOpening) -> str:
    return f"connect-{opening.task.connector}"


def _start(
    opening: TaskOpening, guard: Guard, stream: StreamConfig, contexts: Mapping[int, ProcessorContext]
) -> dict[int, Any]:
    """Build and initialise the processors by stage, parents first; they close in reverse order.

    Their code may be third-party: an exception stops the task, not the worker.
    """
    steps = {step.name: step for step in stream.processors}
    made: dict[int, Any] = {}
    for index, context in contexts.items():
        made[index] = processor = build_processor(steps[context.node])
        init = getattr(processor, "init", None)
        error = None if init is None else _attempt(guard, index, init, context)
        if error is not None:
            text = f"processor {context.node} could not be initialised: {guard.content_policy.sentence(error)}"
            raise FatalError(text) from error
        close = getattr(processor, "close", None)
        if close is not None:
            opening.closing.callback(_close, guard, index, context.node, close)
    return made


def _close(guard: Guard, index: int, node: str, close: Callable[[], object]) -> None:
    error = _attempt(guard, index, lambda _: close(), None)
    if error is not None:
        log.warning(
            "%s: processor %s could not be closed: %s", guard.connector, node, guard.content_policy.sentence(error)
        )


def _attempt(guard: Guard, index: int, call: Callable[[Any], object], given: object) -> Exception | None:
    raised = guard.run(((index, lambda one: (call(one),)),), (given,), [])
    return None if raised is None else raised.error


def _topology(
    stream: StreamConfig,
    stages: tuple[Stage, ...],
    processors: Mapping[int, Any],
    contexts: Mapping[int, ProcessorContext],
) -> Topology:
    nodes: dict[str, ProcessorNode | SinkNode] = {
        context.node: ProcessorNode(((index, _processing(context, processors[index])),))
        for index, context in contexts.items()
    }
    key_indexes = _indexes(stages, StageType.KEY_CONVERTER)
    for sink in stream.sinks:
        nodes[sink.name] = _end(stream, sink, key_indexes[sink.name])
    return Topology(nodes, stream.children[INPUT])


def _processing(context: ProcessorContext, processor: Any) -> Callable[[Any], Any]:
    run, process = context.run, processor.process
    return lambda record: run(process, record)


def _end(stream: StreamConfig, sink: SinkConfig, first: int) -> SinkNode:
    steps = source_steps(
        [],
        build_converter(stream.key_converter, is_key=True),
        build_converter(stream.value_converter, is_key=False),
        build_converter(stream.header_converter, is_key=False),
        first,
    )
    return SinkNode(steps, sink.topic, steps[-1][0] + 1)


def _indexes(stages: tuple[Stage, ...], kind: StageType) -> dict[str, int]:
    """Return the stage indexes of a type by node name."""
    return {stage.name: index for index, stage in enumerate(stages) if stage.type is kind and stage.name}
