"""Dead letters of a task: their topic, their producer, and the limit on waiting for them."""

from __future__ import annotations

from collections.abc import Mapping

from engine.config.errors_policy import DLQ_PRODUCER
from engine.config.options import prefixed
from engine.config.worker import WorkerConfig
from engine.errors import ClusterAway, RetriableError
from engine.exactly_once.buffered import BufferedProducer
from engine.kafka.admin import KafkaAdmin
from engine.kafka.client_options import QUICK, admin_settings, producer_settings, unacknowledged_settings
from engine.kafka.producer import KafkaProducer
from engine.pipeline.task_state import TaskState
from engine.ports import Producer
from engine.reporting.deadletter import DeadLetterReporter
from engine.tasks.clients import JITTER, TaskOpening, base, connection, inherited
from engine.tasks.plan import ConnectorPlan

DEFAULT_MAX_MESSAGE_BYTES = 1_000_000
LOOK_TIMEOUT_S = 5.0  # for the cluster of the topic; the lease's other tasks wait meanwhile
GOING_ON_MS = 120_000  # time for retries of letters if no option sets the producer's time-out
DELIVERY_TIMEOUTS = ("delivery.timeout.ms", "message.timeout.ms")


def open_dead_letters(
    opening: TaskOpening, state: TaskState, transaction: Producer | None = None
) -> DeadLetterReporter | None:
    """Open the reporter and create its topic if needed; None if dead letters are disabled.

    Its size limit is the topic's. With a transaction, it writes in that, unless the letters have their own cluster or
    credentials.
    """
    plan, worker, errors = opening.plan, opening.worker, opening.plan.config.errors
    if not errors.dlq_enable:
        return None
    topic_bytes = _topic_bytes(opening, letter_admin_settings(plan, worker))
    settings, is_bounded = letter_settings(plan, worker, topic_bytes)
    producer: Producer
    # A transaction belongs to one cluster and one principal. Letters for another are at least once.
    if transaction is None or errors.dlq_elsewhere or connection(errors.dlq_producer):
        producer = KafkaProducer(settings)
    else:
        producer = BufferedProducer(transaction)
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
    """Return settings of the admin client of the dead letter topic's cluster."""
    config = plan.config
    # The admin client connects like the producer.
    beside = (connection(config.producer), connection(config.errors.dlq_producer))
    below = inherited((base(worker), worker.admin, connection(worker.producer)), *beside, config.admin)
    with prefixed(DLQ_PRODUCER, config.errors.dlq_producer):
        return admin_settings(*below, *beside, config.admin)


def letter_settings(plan: ConnectorPlan, worker: WorkerConfig, topic_bytes: int) -> tuple[dict[str, str], bool]:
    """Return the producer's settings, and whether default time-outs were added to them.

    Defaults are added if no option sets a time-out, because a flush may last as long as a delivery and delays the
    lease's other tasks. Records may be as large as the topic takes.
    """
    config = plan.config
    largest = {"message.max.bytes": str(topic_bytes)}
    own_layers = (config.producer, config.errors.dlq_producer)
    layers = (largest, *inherited((base(worker), worker.producer), *own_layers), *own_layers)
    make = unacknowledged_settings if plan.dead_letters == "best_effort" else producer_settings
    with prefixed(DLQ_PRODUCER, config.errors.dlq_producer):
        settings = make(*layers)
    if any(name in settings for name in DELIVERY_TIMEOUTS):
        return settings, False
    quick = {name: value for name, value in QUICK.items() if name.endswith("timeout.ms")}
    return {**quick, **settings}, True


def _topic_bytes(opening: TaskOpening, settings: Mapping[str, str]) -> int:
    """Create the topic if needed and return its largest record size. Notes an unavailable cluster for other tasks."""
    errors, cluster = opening.plan.config.errors, settings["bootstrap.servers"]
    reason = f"dead letter topic {errors.dlq_topic}: its cluster at {cluster} does not respond"
    if cluster in opening.away:
        raise ClusterAway(reason)
    admin = KafkaAdmin(settings, LOOK_TIMEOUT_S)
    try:
        admin.create_topic(errors.dlq_topic, errors.dlq_partitions, errors.dlq_replication_factor)
    except RetriableError as error:
        opening.away.add(cluster)
        raise ClusterAway(f"{reason}: {error}") from error
    return admin.max_message_bytes(errors.dlq_topic) or DEFAULT_MAX_MESSAGE_BYTES
