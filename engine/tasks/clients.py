"""Clients and helpers for every kind of task: Kafka clients, the guard and reporters."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from engine.config.options import prefixed
from engine.config.permissions import CONNECTING, IDENTITY
from engine.config.providers import ResolvedProperties
from engine.config.worker import WorkerConfig
from engine.exactly_once.buffered import BufferedProducer
from engine.exactly_once.transaction import Transaction
from engine.kafka.admin import KafkaAdmin
from engine.kafka.client_options import (
    QUICK,
    admin_settings,
    consumer_settings,
    producer_settings,
    transactional_id,
    transactional_settings,
)
from engine.kafka.clock import WorkerClock
from engine.kafka.consumer import KafkaConsumer
from engine.kafka.producer import KafkaProducer
from engine.kafka.transactional import KafkaTransactional
from engine.pipeline.commit import TransactionalStore
from engine.pipeline.guard import Guard, Reporter
from engine.pipeline.outcome import Interrupted
from engine.pipeline.task_state import TaskState
from engine.policy.retry import RetryPolicy
from engine.ports import Consumer, Producer
from engine.reporting.deadletter import DeadLetterReporter
from engine.reporting.log import LogReporter
from engine.reporting.replay_outcomes import OUTCOME_TOPIC_CONFIG, ReplayReporter
from engine.steps.handlers import stage_handlers
from engine.tasks.plan import ConnectorPlan
from engine.worker_messages import Delivery, TaskConfig

WRITING = {
    "partitioner": "murmur2_random",  # the same partition for equal keys, as Java producers choose
    "topic.metadata.propagation.max.ms": "5000",  # a missing topic delays the lease's other tasks only this long
}
# Empty fetch responses ten times a second for fifty consumers cost much; records are sent at once in any case.
POOLED = {"fetch.wait.max.ms": "500"}
COMMITTED_ONLY = {"isolation.level": "read_committed"}  # a record that may still be aborted must not be processed
JITTER = random.Random().random  # noqa: S311, spreads retries; not a secret


@dataclass(frozen=True, slots=True)
class TaskOpening:
    """A task to be opened.

    - `patience_ms(now)` is the guard's.
    - `admit` raises GenerationFenced if the lease no longer owns the task.
    - `careful`: a transaction was aborted, so small steps must find the record that the brokers reject.
    - `pooled`: the task shares its lease with other tasks.
    - `away` holds clusters that did not answer another task of the lease, so that later tasks do not wait again.
    - `found` holds values from config providers, which no error may show.
    - `tell_trouble` reports why the task repeats an operation within its lease; None: it has succeeded.
    - `closing` closes everything that was opened for the task.
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
    found: ResolvedProperties = field(default_factory=ResolvedProperties)
    tell_trouble: Callable[[str | None], None] = lambda _reason: None
    closing: ExitStack = field(default_factory=ExitStack)

    @property
    def retry(self) -> RetryPolicy:
        errors = self.plan.config.errors
        return RetryPolicy(errors.retry_limit, errors.retry_delay_max_ms, errors.retry_timeout_ms)


def open_consumer(opening: TaskOpening) -> KafkaConsumer:
    """Open the consumer of the connector's group."""
    with prefixed("consumer.override.", opening.plan.config.consumer):
        settings = reading(opening.plan, opening.worker, POOLED if opening.pooled else {})
    consumer = KafkaConsumer(settings)
    opening.closing.callback(consumer.close)
    return consumer


def reading(plan: ConnectorPlan, worker: WorkerConfig, *lowest: Mapping[str, str]) -> dict[str, str]:
    """Return the settings of the consumer of the connector's group."""
    fixed = COMMITTED_ONLY if plan.delivery is Delivery.EXACTLY_ONCE else {}
    own = plan.config.consumer
    layers = (*lowest, *inherited((base(worker), worker.consumer), own), own, fixed)
    return consumer_settings(f"connect-{plan.config.name}", *layers)


def creating(plan: ConnectorPlan, worker: WorkerConfig) -> dict[str, str]:
    """Return the settings of the admin client that creates a source's topics."""
    own = plan.config.admin
    return admin_settings(*inherited((base(worker), worker.admin), own), own)


def open_producer(opening: TaskOpening) -> KafkaProducer:
    """Open the producer of a source's or a stream's records."""
    own = opening.plan.config.producer
    with prefixed("producer.override.", own):
        settings = producer_settings(WRITING, *producing(opening.worker, own))
    producer = KafkaProducer(settings)
    opening.closing.callback(producer.close)
    return producer


def open_transaction(opening: TaskOpening, check: Callable[[], None], *, keeps: bool = True) -> Transaction:
    """Open the task's transactions: take over the id, then read the config topic to its end (KIP-618).

    `check` raises GenerationFenced if the task's positions differ from its last commit.
    """
    worker, config = opening.worker, opening.plan.config
    name = transactional_id(worker.group_id, opening.task.connector, opening.task.task)
    with prefixed("producer.override.", config.producer):
        settings = transactional_settings(name, WRITING, *producing(worker, config.producer))

    def check_all() -> None:
        opening.admit()
        check()

    transaction = Transaction(lambda: KafkaTransactional(settings), check_all, opening.clock, keeps=keeps)
    opening.closing.callback(transaction.close)
    # First take the id over, then read the config topic. So the holder of the id has seen all that was written before
    # (KIP-618, source task startup).
    transaction.open()
    opening.admit()
    return transaction


def open_group(
    opening: TaskOpening, consumer: Consumer, *, keeps: bool = True
) -> tuple[Transaction, TransactionalStore]:
    """Open the task's transactions and the offsets of its group, which are written in them."""

    def check() -> None:
        store.check()

    transaction = open_transaction(opening, check, keeps=keeps)
    store = TransactionalStore(consumer, transaction, f"connect-{opening.task.connector}")
    return transaction, store


def build_guard(
    opening: TaskOpening,
    state: TaskState,
    letters: DeadLetterReporter | None,
) -> Guard:
    """Build the guard, with the log reporter if enabled, and the stages' handlers."""
    config, errors = opening.plan.config, opening.plan.config.errors
    reporters: list[Reporter] = []
    if errors.log_enable:
        log = LogReporter(include_configs=errors.log_include_configs, include_messages=errors.log_include_messages)
        reporters.append(log)
    return Guard(
        connector=config.name,
        stages=opening.plan.guarded_stages,
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
        content_policy=errors.content_policy,
        hide=opening.found.hide if opening.found.values else None,
    )


def open_replay_reporter(opening: TaskOpening, transaction: Producer | None = None) -> ReplayReporter:
    """Open the reporter of replayed records. Its producer and topic are created for the first report.

    With a transaction, it writes in that.
    """
    worker = opening.worker

    def open_its_producer() -> Producer:
        admin = KafkaAdmin(admin_settings(base(worker), worker.admin))
        admin.create_topic(
            worker.outcome_topic, worker.outcome_partitions, worker.outcome_replication_factor, OUTCOME_TOPIC_CONFIG
        )
        if transaction is not None:
            return BufferedProducer(transaction)
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
    """Make the reports durable; return Interrupted if a stop request came meanwhile."""
    return None if replayed.flush() else Interrupted(None)


def base(worker: WorkerConfig) -> dict[str, str]:
    """Return the options of the connection to the worker's brokers."""
    return {"bootstrap.servers": worker.bootstrap_servers, **worker.client}


def producing(worker: WorkerConfig, own: Mapping[str, str]) -> tuple[Mapping[str, str], ...]:
    """Return the layers of a producer whose connector's options are `own`."""
    return (*inherited((base(worker), worker.producer), own), own)


def inherited(workers: Sequence[Mapping[str, str]], *own: Mapping[str, str]) -> list[Mapping[str, str]]:
    """Return the worker's layers for a client.

    If the connector's own layers change the connection, the worker's credentials are removed. Otherwise the connector
    could send them to its own brokers or token endpoint, or over a connection that it has made readable.
    """
    if not any(map(connection, own)):
        return list(workers)
    return [{name: value for name, value in one.items() if not name.startswith(IDENTITY)} for one in workers]


def connection(options: Mapping[str, str]) -> dict[str, str]:
    """Return the client options that define the connection to the brokers."""
    return {name: value for name, value in options.items() if name.startswith(CONNECTING)}
