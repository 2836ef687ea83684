"""What every kind of task needs beside its own work: Kafka clients, the guard, and those who are told of errors."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field

from engine.assembly.plan import ConnectorPlan
from engine.config.worker import WorkerConfig
from engine.exactly_once.buffered import Buffered
from engine.exactly_once.transaction import Transaction
from engine.kafka.admin import KafkaAdmin
from engine.kafka.clock import WorkerClock
from engine.kafka.consumer import KafkaConsumer
from engine.kafka.producer import KafkaProducer
from engine.kafka.settings import (
    QUICK,
    admin_settings,
    consumer_settings,
    producer_settings,
    transactional_id,
    transactional_settings,
)
from engine.kafka.transactional import KafkaTransactional
from engine.leases import Delivery, TaskConfig
from engine.pipeline.commit import TransactionalStore
from engine.pipeline.guard import Guard, Reporter
from engine.pipeline.outcome import Interrupted
from engine.pipeline.task_state import TaskState
from engine.policy.retry import RetryPolicy
from engine.ports import Consumer, Producer
from engine.reporting.deadletter import DeadLetterReporter
from engine.reporting.log import LogReporter
from engine.reporting.replayed import OUTCOME_TOPIC_CONFIG, ReplayReporter
from engine.steps.handlers import stage_handlers

WRITING = {
    "partitioner": "murmur2_random",  # equal keys meet in one partition, whoever wrote them, Java or not
    "topic.metadata.propagation.max.ms": "5000",  # a missing topic holds up the lease's other tasks no longer
}
# Fifty consumers that are each told ten times a second that nothing came are work; what comes is sent at once anyway.
POOLED = {"fetch.wait.max.ms": "500"}
COMMITTED_ONLY = {"isolation.level": "read_committed"}  # what may still be aborted is not to be processed
JITTER = random.Random().random  # noqa: S311, spreads retries; no secret


@dataclass(frozen=True, slots=True)
class Opening:
    """A task about to be opened. `closing` closes whatever was opened for it; `patience_ms(now)` is the guard's.

    `admit` raises Fenced where the task is not this lease's any more. `careful`: a transaction was aborted, so that
    whatever the brokers reject is to be found, step by step. `pooled`: it shares its lease with other tasks.
    `away` holds other clusters that did not answer to a task of the same lease: who is opened after it does not wait
    for them again.
    """

    task: TaskConfig
    plan: ConnectorPlan
    worker: WorkerConfig
    clock: WorkerClock
    patience_ms: Callable[[int], int]
    admit: Callable[[], None] = lambda: None
    careful: bool = False
    pooled: bool = False
    away: set[str] = field(default_factory=set)
    closing: ExitStack = field(default_factory=ExitStack)

    @property
    def retry(self) -> RetryPolicy:
        errors = self.plan.config.errors
        return RetryPolicy(errors.retry_limit, errors.retry_delay_max_ms, errors.retry_timeout_ms)


def open_consumer(opening: Opening) -> KafkaConsumer:
    """The consumer of the connector's group."""
    config, worker = opening.plan.config, opening.worker
    fixed = COMMITTED_ONLY if opening.plan.delivery is Delivery.EXACTLY_ONCE else {}
    layers = (POOLED if opening.pooled else {}, base(worker), worker.consumer, config.consumer, fixed)
    settings = consumer_settings(f"connect-{config.name}", *layers)
    consumer = KafkaConsumer(settings)
    opening.closing.callback(consumer.close)
    return consumer


def open_producer(opening: Opening) -> KafkaProducer:
    """The producer of what a source or a stream writes."""
    worker = opening.worker
    layers = (WRITING, base(worker), worker.producer, opening.plan.config.producer)
    producer = KafkaProducer(producer_settings(*layers))
    opening.closing.callback(producer.close)
    return producer


def open_transaction(opening: Opening, check: Callable[[], None], *, keeps: bool = True) -> Transaction:
    """The transactions of the task, its id taken over, and the config topic read to its end after that (KIP-618).

    `check` raises Fenced when the task's positions are not those that it committed last.
    """
    worker, config = opening.worker, opening.plan.config
    name = transactional_id(worker.group_id, opening.task.connector, opening.task.task)
    settings = transactional_settings(name, WRITING, base(worker), worker.producer, config.producer)

    def check_all() -> None:
        opening.admit()
        check()

    transaction = Transaction(lambda: KafkaTransactional(settings), check_all, opening.clock, keeps=keeps)
    opening.closing.callback(transaction.close)
    transaction.open()
    opening.admit()
    return transaction


def open_group(opening: Opening, consumer: Consumer, *, keeps: bool = True) -> tuple[Transaction, TransactionalStore]:
    """The transactions of a task, and the offsets of its group, which are written in them."""

    def check() -> None:
        store.check()

    transaction = open_transaction(opening, check, keeps=keeps)
    store = TransactionalStore(consumer, transaction, f"connect-{opening.task.connector}")
    return transaction, store


def build_guard(
    opening: Opening,
    state: TaskState,
    letters: DeadLetterReporter | None,
) -> Guard:
    """The guard, with the log reporter if it is wanted, and the handlers that decide in place of the tolerance."""
    config, errors = opening.plan.config, opening.plan.config.errors
    reporters: list[Reporter] = []
    if errors.log_enable:
        log = LogReporter(include_configs=errors.log_include_configs, include_messages=errors.log_include_messages)
        reporters.append(log)
    return Guard(
        connector=config.name,
        stages=opening.plan.stages,
        state=state,
        retry=opening.retry,
        tolerance=opening.plan.tolerance,
        retry_on=errors.retry_on,
        reporters=reporters,
        dead_letters=letters,
        clock=opening.clock,
        jitter=JITTER,
        patience_ms=opening.patience_ms,
        handlers=stage_handlers(config, opening.plan.known.kind, opening.plan.stages),
    )


def open_replay_reporter(opening: Opening, transaction: Producer | None = None) -> ReplayReporter:
    """The reporter of replayed records; its producer and topic are made when the first one waits.

    With a transaction it writes in that.
    """
    worker = opening.worker

    def open_its_producer() -> Producer:
        admin = KafkaAdmin(admin_settings(base(worker), worker.admin))
        admin.create_topic(
            worker.outcome_topic, worker.outcome_partitions, worker.outcome_replication_factor, OUTCOME_TOPIC_CONFIG
        )
        if transaction is not None:
            return Buffered(transaction)
        return KafkaProducer(producer_settings(base(worker), worker.producer, QUICK))

    replayed = ReplayReporter(
        open_producer=open_its_producer,
        topic=worker.outcome_topic,
        connector=opening.task.connector,
        task=opening.task.task,
        clock=opening.clock,
        jitter=JITTER,
    )
    opening.closing.callback(replayed.close)
    return replayed


def flush_outcomes(replayed: ReplayReporter) -> Interrupted | None:
    """Make its reports durable; Interrupted when a stop request came in between."""
    return None if replayed.flush() else Interrupted(None)


def base(worker: WorkerConfig) -> dict[str, str]:
    """Where the brokers are, and how to speak to them."""
    return {"bootstrap.servers": worker.bootstrap_servers, **worker.client}
