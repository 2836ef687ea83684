"""Build a source task from its plan."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from engine.config.connector import ConnectorConfig
from engine.config.exactly_once_source import TransactionBoundary as BoundaryName
from engine.errors import EngineError, FatalError
from engine.exactly_once.buffered import BufferedProducer
from engine.exactly_once.transaction import Transaction
from engine.kafka.admin import KafkaAdmin
from engine.kafka.offsets import OffsetsTopic, TaskOffsets
from engine.kafka.topic_creation import TopicMaker
from engine.pipeline.chain import RecordTransform, Steps
from engine.pipeline.commit import flush_letters
from engine.pipeline.guard import Guard
from engine.pipeline.opened_task import OpenTask
from engine.pipeline.produce_stage import RecordWriter
from engine.pipeline.source_boundary import BoundaryRule, ConnectorBoundary, IntervalBoundary, PollBoundary
from engine.pipeline.source_commit import DurableThenOffsets, SourceCommit, TransactionalOffsets
from engine.pipeline.source_steps import source_steps
from engine.pipeline.source_task import POLL, SourceTask
from engine.pipeline.source_transactions import TransactionContext
from engine.pipeline.task_state import TaskState, restore
from engine.ports import Producer, Source
from engine.record.record import Record
from engine.reporting.deadletter import DeadLetterReporter
from engine.steps.registry import build_converter
from engine.tasks.clients import TaskOpening, build_guard, creating, open_producer, open_transaction
from engine.tasks.dead_letters import open_dead_letters
from engine.tasks.sink import build_transforms
from engine.tasks.source_offsets_topic import open_offsets
from engine.worker_messages import Delivery

log = logging.getLogger(__name__)


def open_source(opening: TaskOpening) -> OpenTask:
    """Claim the task's offsets and start its source there.

    The order is that of KIP-618, source task startup:

    1. The lease has checked the config topic.
    2. The task's transactional id is taken over.
    3. The config topic is read to its end again.
    4. The offsets topic is read to its end.
    5. The source starts.
    """
    plan, config = opening.plan, opening.task
    exactly_once = plan.delivery is Delivery.EXACTLY_ONCE
    # Filled below: the transaction needs `check` before the offsets can be read.
    stores: list[TaskOffsets] = []

    def check() -> None:
        for store in stores:
            store.check()

    transaction = open_transaction(opening, check) if exactly_once else None
    topic = open_offsets(opening)
    offsets = TaskOffsets(topic, config.connector, config.task)
    stores.append(offsets)
    state = restore(
        [offsets.memory] if offsets.memory else [],
        task=config.task,
        generation=config.generation,
        restarts=config.restarts,
        stages=plan.stages,
    )
    letters = open_dead_letters(opening, state, transaction)
    guard = build_guard(opening, state, letters)
    transactions = TransactionContext() if _has_own_boundary(opening) else None
    source = _start(opening, guard, offsets, transactions)
    producer: Producer = open_producer(opening) if transaction is None else transaction
    task = SourceTask(
        source=source,
        steps=_steps(opening, topic),
        writer=RecordWriter(producer, guard, len(plan.stages) - 1),
        guard=guard,
        commit=_commit(transaction, letters, state, offsets),
        state=state,
        clock=opening.clock,
        commit_interval_ms=opening.worker.flush_interval_ms,
        boundary=_boundary(opening, transactions) if exactly_once else None,
    )
    return OpenTask(config, task, plan.tolerance, opening.closing.close)


def _has_own_boundary(opening: TaskOpening) -> bool:
    is_set_by_connector = opening.plan.config.exactly_once.boundary is BoundaryName.CONNECTOR
    return is_set_by_connector and opening.plan.delivery is Delivery.EXACTLY_ONCE


def _boundary(opening: TaskOpening, transactions: TransactionContext | None) -> BoundaryRule:
    wishes = opening.plan.config.exactly_once
    if transactions is not None:
        return ConnectorBoundary(transactions)
    if wishes.boundary is BoundaryName.INTERVAL:
        interval_ms = wishes.interval_ms or opening.worker.flush_interval_ms
        return IntervalBoundary(interval_ms, opening.clock.now_ms())
    return PollBoundary()


def _commit(
    transaction: Transaction | None, letters: DeadLetterReporter | None, state: TaskState, offsets: TaskOffsets
) -> SourceCommit:
    if transaction is None:
        return DurableThenOffsets(lambda: flush_letters(letters, state), offsets)

    def drop_letters(keep: int) -> None:
        # Other producers have sent the letters already.
        if letters is not None and isinstance(letters.producer, BufferedProducer):
            letters.producer.clear()
            letters.keep_last(keep)

    return TransactionalOffsets(transaction, lambda: flush_letters(letters, state), drop_letters, offsets)


def _start(opening: TaskOpening, guard: Guard, offsets: TaskOffsets, transactions: TransactionContext | None) -> Source:
    """Start the source. Its code may be third-party: an exception stops the task, not the worker."""
    made: list[Source] = []

    def start() -> None:
        made.append(opening.plan.known.make(opening.worker))
        if transactions is not None:
            made[0].transactions = transactions  # type: ignore[attr-defined]  # only for a source that declares it
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
    # Not retriable: nothing says that the same configuration would start at the next try.
    raise FatalError(f"the source could not start: {guard.content_policy.trace(error)}") from error


def _attempt(guard: Guard, call: Callable[[], None]) -> Exception | None:
    raised = guard.run(((POLL, lambda _: call()),), (None,), [])
    return None if raised is None else raised.error


def writing_steps(config: ConnectorConfig, transforms: Sequence[RecordTransform]) -> Steps:
    """Return the steps of a source's record: transforms and output converters. Raises ConfigError."""
    return source_steps(
        transforms,
        build_converter(config.key_converter, is_key=True),
        build_converter(config.value_converter, is_key=False),
        build_converter(config.header_converter, is_key=False),
    )


def _steps(opening: TaskOpening, offsets: OffsetsTopic) -> Steps:
    config = opening.plan.config
    steps = writing_steps(config, build_transforms(config))
    producing = len(opening.plan.stages) - 1
    if opening.plan.delivery is Delivery.EXACTLY_ONCE:
        steps = (*steps, (producing, _refuse_records_for(offsets.topic)))
    if config.new_topics:
        settings = creating(opening.plan, opening.worker)
        steps = (*steps, (producing, TopicMaker(lambda: KafkaAdmin(settings), config.new_topics).ensure))
    return steps


def _refuse_records_for(offsets_topic: str) -> Callable[[Record], Record]:
    """Return a step that rejects records for the task's own offsets topic.

    With such a record, the topic could not be read to its end while the task's transaction is open.
    """

    def refuse(record: Record) -> Record:
        if record.topic == offsets_topic:
            raise FatalError(f"the source must not write records to {offsets_topic}, the topic of its own offsets")
        return record

    return refuse
