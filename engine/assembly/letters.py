"""The dead letters of a task of any kind: their topic, their producer, and how much waiting for them costs a lease."""

from __future__ import annotations

from collections.abc import Mapping

from engine.assembly.clients import JITTER, Opening, base
from engine.assembly.plan import ConnectorPlan
from engine.config.worker import WorkerConfig
from engine.errors import ClusterAway, RetriableError
from engine.exactly_once.buffered import Buffered
from engine.kafka.admin import KafkaAdmin
from engine.kafka.producer import KafkaProducer
from engine.kafka.settings import QUICK, admin_settings, producer_settings, unacknowledged_settings
from engine.pipeline.task_state import TaskState
from engine.ports import Producer
from engine.reporting.deadletter import DeadLetterReporter

DEFAULT_MAX_MESSAGE_BYTES = 1_000_000
LOOK_TIMEOUT_S = 5.0  # for the topic's cluster: the lease's other tasks wait meanwhile
GOING_ON_MS = 120_000  # how long letters are tried again where nobody says how long their producer is to try
DELIVERY_TIMEOUTS = ("delivery.timeout.ms", "message.timeout.ms")


def open_dead_letters(
    opening: Opening, state: TaskState, transaction: Producer | None = None
) -> DeadLetterReporter | None:
    """The reporter, its topic made if need be, its size limit that of the topic; None where it is off.

    With a transaction it writes in that, unless the letters have a cluster, or credentials, of their own.
    """
    plan, worker, errors = opening.plan, opening.worker, opening.plan.config.errors
    if not errors.dlq_enable:
        return None
    topic_bytes = _topic_bytes(opening, letter_admin_settings(plan, worker))
    settings, is_bounded = letter_settings(plan, worker, topic_bytes)
    producer: Producer
    if transaction is None or errors.dlq_elsewhere or _connection(errors.dlq_producer):
        producer = KafkaProducer(settings)
    else:
        producer = Buffered(transaction)
        beside = plan.config.producer.get("message.max.bytes") or worker.producer.get("message.max.bytes")
        settings["message.max.bytes"] = beside or str(DEFAULT_MAX_MESSAGE_BYTES)
    letters = DeadLetterReporter(
        producer=producer,
        topic=errors.dlq_topic,
        include_configs=errors.dlq_include_configs,
        include_messages=errors.dlq_include_messages,
        context_headers=errors.dlq_context_headers,
        max_bytes=min(topic_bytes, int(settings["message.max.bytes"])),
        metrics=state.metrics,
        retry=opening.retry,
        clock=opening.clock,
        jitter=JITTER,
        patience_ms=opening.patience_ms,
        least_ms=GOING_ON_MS if is_bounded else 0,
        failures=state.unwritten.failures,
        first_ms=state.unwritten.first_ms,
    )
    opening.closing.callback(letters.producer.close)
    return letters


def letter_admin_settings(plan: ConnectorPlan, worker: WorkerConfig) -> dict[str, str]:
    """The admin client of the dead letter topic, where its producer writes."""
    config = plan.config
    beside = (worker.producer, config.producer, config.errors.dlq_producer)  # it connects as the producer does
    return admin_settings(base(worker), worker.admin, *map(_connection, beside), config.admin)


def letter_settings(plan: ConnectorPlan, worker: WorkerConfig, topic_bytes: int) -> tuple[dict[str, str], bool]:
    """The producer's settings, for records as large as the topic takes; and were its time-outs bounded, because nobody
    had set them?

    A flush lasts as long as a delivery may take, and holds up the lease's other tasks.
    """
    config = plan.config
    largest = {"message.max.bytes": str(topic_bytes)}
    layers = (largest, base(worker), worker.producer, config.producer, config.errors.dlq_producer)
    make = unacknowledged_settings if plan.dead_letters == "best_effort" else producer_settings
    settings = make(*layers)
    if any(name in settings for name in DELIVERY_TIMEOUTS):
        return settings, False
    quick = {name: value for name, value in QUICK.items() if name.endswith("timeout.ms")}
    return {**quick, **settings}, True


def _topic_bytes(opening: Opening, settings: Mapping[str, str]) -> int:
    """How large a record of the topic may be; it is made if need be. Who finds its cluster away tells the others."""
    errors, cluster = opening.plan.config.errors, settings["bootstrap.servers"]
    reason = f"the cluster of the dead letter topic {errors.dlq_topic} does not answer at {cluster}"
    if cluster in opening.away:
        raise ClusterAway(reason)
    admin = KafkaAdmin(settings, LOOK_TIMEOUT_S)
    try:
        admin.create_topic(errors.dlq_topic, errors.dlq_partitions, errors.dlq_replication_factor)
    except RetriableError as error:
        opening.away.add(cluster)
        raise ClusterAway(f"{reason}: {error}") from error
    return admin.max_message_bytes(errors.dlq_topic) or DEFAULT_MAX_MESSAGE_BYTES


def _connection(options: Mapping[str, str]) -> dict[str, str]:
    """Those of a client's options that say where the brokers are, and how to speak to them."""
    names = ("bootstrap.servers", "security.protocol")
    return {name: value for name, value in options.items() if name in names or name.startswith(("sasl.", "ssl."))}
