"""A source's task, made from its plan."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from engine.assembly.clients import Opening, base, build_guard, open_producer, open_transaction
from engine.assembly.letters import open_dead_letters
from engine.assembly.sink import build_transforms
from engine.assembly.source_offsets import open_offsets
from engine.config.connector import ConnectorConfig
from engine.config.exactly_once_source import Boundary as BoundaryName
from engine.errors import EngineError, FatalError
from engine.exactly_once.buffered import Buffered
from engine.exactly_once.transaction import Transaction
from engine.kafka.admin import KafkaAdmin
from engine.kafka.new_topics import TopicMaker
from engine.kafka.offsets import OffsetsTopic, TaskOffsets
from engine.kafka.settings import admin_settings
from engine.leases import Delivery
from engine.pipeline.chain import Steps, Transform
from engine.pipeline.commit import flush_letters
from engine.pipeline.guard import Guard
from engine.pipeline.open_task import OpenTask
from engine.pipeline.producing import RecordWriter
from engine.pipeline.source_boundary import Boundary, ConnectorBoundary, IntervalBoundary, PollBoundary
from engine.pipeline.source_commit import DurableThenOffsets, SourceCommit, TransactionalOffsets
from engine.pipeline.source_steps import source_steps
from engine.pipeline.source_task import POLL, SourceTask
from engine.pipeline.source_transactions import TransactionContext
from engine.pipeline.task_state import TaskState, restore
from engine.ports import Producer, Source
from engine.record.record import Record
from engine.record.trace import describe
from engine.reporting.deadletter import DeadLetterReporter
from engine.steps.registry import build_converter

log = logging.getLogger(__name__)


def open_source(opening: Opening) -> OpenTask:
    """Claim the task's offsets and start its source where they end.

    In the order of KIP-618, source task startup: the lease has looked at the config topic; the task's transactional id
    is taken over; the config topic is read to its end again; only then the offsets, to theirs; and then it starts.
    """
    plan, config = opening.plan, opening.task
    exactly_once = plan.delivery is Delivery.EXACTLY_ONCE
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


def _has_own_boundary(opening: Opening) -> bool:
    own = opening.plan.config.exactly_once.boundary is BoundaryName.CONNECTOR
    return own and opening.plan.delivery is Delivery.EXACTLY_ONCE


def _boundary(opening: Opening, transactions: TransactionContext | None) -> Boundary:
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
        if letters is not None and isinstance(letters.producer, Buffered):  # others are on their way already
            letters.producer.clear()
            letters.keep_last(keep)

    return TransactionalOffsets(transaction, lambda: flush_letters(letters, state), drop_letters, offsets)


def _start(opening: Opening, guard: Guard, offsets: TaskOffsets, transactions: TransactionContext | None) -> Source:
    """The source, started. It may be somebody else's: whatever it raises stops the task, never the worker."""
    made: list[Source] = []

    def start() -> None:
        made.append(opening.plan.known.factory())
        if transactions is not None:
            made[0].transactions = transactions  # type: ignore[attr-defined] # of a source that says that it uses it
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


def writing_steps(config: ConnectorConfig, transforms: Sequence[Transform]) -> Steps:
    """Transforms, and converters that write, as a record of a source goes through them. Raises ConfigError."""
    return source_steps(
        transforms,
        build_converter(config.key_converter, is_key=True),
        build_converter(config.value_converter, is_key=False),
        build_converter(config.header_converter, is_key=False),
    )


def _steps(opening: Opening, offsets: OffsetsTopic) -> Steps:
    config, worker = opening.plan.config, opening.worker
    steps = writing_steps(config, build_transforms(config))
    producing = len(opening.plan.stages) - 1
    if opening.plan.delivery is Delivery.EXACTLY_ONCE:
        steps = (*steps, (producing, _refusing(offsets.topic)))
    if config.new_topics:
        settings = admin_settings(base(worker), worker.admin, config.admin)
        steps = (*steps, (producing, TopicMaker(lambda: KafkaAdmin(settings), config.new_topics).ensure))
    return steps


def _refusing(offsets_topic: str) -> Callable[[Record], Record]:
    """A step that lets no record into the task's own offsets topic: it could never be read to its end while the task's
    transaction is open.
    """

    def refuse(record: Record) -> Record:
        if record.topic == offsets_topic:
            raise FatalError(f"the source writes to {offsets_topic}, where its own offsets are kept")
        return record

    return refuse
