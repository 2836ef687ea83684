"""The topic of a source's offsets: location, creation and migration (KIP-618, per-connector topics)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from engine.config.client_names import offsets_group
from engine.config.connector import ConnectorConfig
from engine.config.exactly_once_source import ISOLATION
from engine.config.topic import OFFSETS_TOPIC_CONFIG
from engine.config.worker import WorkerConfig
from engine.errors import RequestConflict, RetriableError
from engine.kafka.admin import KafkaAdmin
from engine.kafka.client_options import admin_settings, consumer_settings, producer_settings, transactional_settings
from engine.kafka.clock import WorkerClock
from engine.kafka.consumer import TopicReader
from engine.kafka.offsets import OffsetsTopic
from engine.kafka.offsets_copier import OffsetsTopicLocation
from engine.kafka.offsets_migration import check_current, migrate, migration_id
from engine.kafka.producer import KafkaProducer
from engine.kafka.transactional import KafkaTransactional
from engine.standalone.file_topic import FileTopicReader, FileTopicWriter
from engine.tasks.clients import WRITING, TaskOpening, base, connection, inherited, producing
from engine.worker_messages import Delivery

# As patient with the brokers as a sink's commit.
PATIENT = {"linger.ms": "0", "delivery.timeout.ms": "15000", "request.timeout.ms": "10000"}
COMMITTED = {ISOLATION: "read_committed"}


def offsets_location(config: ConnectorConfig, worker: WorkerConfig, delivery: Delivery) -> OffsetsTopicLocation:
    """Return the topic and clients of the connector's offsets.

    A connector that writes offsets in its own transactions writes them to the cluster of its records. Readers connect
    as the producer does, unless their own overrides differ.
    """
    exactly_once = delivery is Delivery.EXACTLY_ONCE
    topic = config.exactly_once.offsets_topic or worker.offset_topic
    cluster = config.producer.get("bootstrap.servers", worker.bootstrap_servers)
    is_away = cluster != worker.bootstrap_servers
    is_own = topic != worker.offset_topic or (exactly_once and is_away)
    beside = config.producer if is_own or exactly_once else {}
    readers = [connection(one) for one in ((beside, config.consumer) if is_own or exactly_once else ())]
    admins = [connection(one) for one in ((beside, config.admin) if is_own or exactly_once else ())]
    consumer = consumer_settings(
        offsets_group(worker.group_id),
        *inherited((base(worker), worker.consumer), *readers),
        *readers,
        {"fetch.min.bytes": "1"},
        COMMITTED if exactly_once else {ISOLATION: config.consumer.get(ISOLATION, "read_committed")} if is_own else {},
    )
    return OffsetsTopicLocation(
        connector=config.name,
        topic=topic,
        consumer=_rows(consumer),
        admin=_rows(admin_settings(*inherited((base(worker), worker.admin), *admins), *admins)),
        producer=_rows(producer_settings(WRITING, *producing(worker, beside), PATIENT)),
        is_own=is_own,
    )


def shared_location(worker: WorkerConfig) -> OffsetsTopicLocation:
    """Return the worker's own offsets topic, with the worker's credentials."""
    consumer = consumer_settings(
        offsets_group(worker.group_id), base(worker), worker.consumer, {"fetch.min.bytes": "1"}, COMMITTED
    )
    return OffsetsTopicLocation(
        connector="",
        topic=worker.offset_topic,
        consumer=_rows(consumer),
        admin=_rows(admin_settings(base(worker), worker.admin)),
        producer=_rows(producer_settings(WRITING, base(worker), worker.producer, PATIENT)),
        is_own=False,
    )


def open_offsets(opening: TaskOpening) -> OffsetsTopic:
    """Return the reader of the task's offsets, at the topic's end. Raises RetriableError.

    Task 0 creates and fills a connector's own topic; the other tasks wait for it. Raises FatalError if the connector
    has used the worker's topic since.
    """
    if opening.worker.run_directory is not None:
        topic = open_offsets_file(opening.worker, writes=True)
        opening.closing.callback(topic.close)
        topic.read_to_end()
        return topic
    place = offsets_location(opening.plan.config, opening.worker, opening.plan.delivery)
    # Exactly-once tasks write offsets in their own transactions.
    writes = opening.plan.delivery is Delivery.AT_LEAST_ONCE
    # With the worker's own credentials, one reader serves all tasks of the process.
    if not place.is_own and place.consumer == shared_location(opening.worker).consumer:
        return _kept(place, opening.worker, writes=writes)
    if opening.task.task == 0:
        _create(place, opening.worker)
    topic = open_topic(place, writes=writes)
    opening.closing.callback(topic.close)
    topic.read_to_end()
    if place.is_own and not topic.is_migrated(place.connector):
        if opening.task.task != 0:
            raise RetriableError(
                f"the offsets of connector {place.connector} are not in topic {place.topic} yet; waiting for task 0"
            )
        _migrate(opening, topic)
    elif place.is_own:
        _check_current(opening, place, topic)
    return topic


def open_topic(place: OffsetsTopicLocation, *, writes: bool) -> OffsetsTopic:
    """Return a reader at the topic's beginning; `writes` adds a producer without transactions."""
    producer = KafkaProducer(dict(place.producer)) if writes else None
    consumer = TopicReader(dict(place.consumer))
    return OffsetsTopic(consumer, producer, KafkaAdmin(dict(place.admin)), place.topic, WorkerClock())


def open_offsets_file(worker: WorkerConfig, *, writes: bool) -> OffsetsTopic:
    """Return a reader of a standalone worker's offsets file, at its beginning."""
    path = Path(worker.offsets_file or "")
    reader = FileTopicReader(path)
    return OffsetsTopic(
        reader, FileTopicWriter(path, is_durable=True) if writes else None, reader, str(path), WorkerClock()
    )


def read_checked(place: OffsetsTopicLocation, topic: OffsetsTopic, worker: WorkerConfig) -> None:
    """Read a connector's offsets topic to its end.

    Raises RequestConflict if it is the connector's own and the offsets are not migrated yet: any offset written before
    the migration would prevent it.
    """
    is_made = not place.is_own or bool(topic.admin.partitions(place.topic))
    if is_made:
        topic.read_to_end()
    if place.is_own and not (is_made and topic.is_migrated(place.connector)):
        raise RequestConflict(
            f"the offsets of connector {place.connector} are not copied from topic {worker.offset_topic} to topic "
            f"{place.topic} yet; start the connector once, then try again"
        )


_topics: dict[tuple[OffsetsTopicLocation, bool], OffsetsTopic] = {}


def _kept(place: OffsetsTopicLocation, worker: WorkerConfig, *, writes: bool) -> OffsetsTopic:
    """Return this process's reader of the worker's topic, at its end.

    It is kept between leases, because it only moves forward.
    """
    key = (shared_location(worker), writes)
    # Removed while it is in use, so that a reader that fails is not used again.
    topic = _topics.pop(key, None)
    if topic is not None and topic.is_broken:
        topic.close()
        topic = None
    if topic is None:
        _create(place, worker)
        topic = open_topic(place, writes=writes)
    try:
        topic.read_to_end()
    except BaseException:  # also when the worker is told to end: its consumer must not stay open
        topic.close()
        raise
    _topics[key] = topic
    return topic


def _create(place: OffsetsTopicLocation, worker: WorkerConfig) -> None:
    admin = KafkaAdmin(dict(place.admin))
    admin.create_topic(place.topic, worker.offset_partitions, worker.offset_replication_factor, OFFSETS_TOPIC_CONFIG)


_checked: dict[OffsetsTopicLocation, int] = {}  # generation by own topic


def _check_current(opening: TaskOpening, place: OffsetsTopicLocation, own: OffsetsTopic) -> None:
    """Check once per generation: a connector changes its topic only by a new configuration."""
    if _checked.get(place) != opening.task.generation:
        check_current(place.connector, own, _kept(shared_location(opening.worker), opening.worker, writes=False))
        _checked[place] = opening.task.generation


def _migrate(opening: TaskOpening, own: OffsetsTopic) -> None:
    worker, config = opening.worker, opening.plan.config
    name = migration_id(worker.group_id, config.name)
    settings = transactional_settings(name, WRITING, *producing(worker, config.producer))
    _create(shared_location(worker), worker)
    shared = open_topic(shared_location(worker), writes=False)
    try:
        migrate(config.name, own, shared, lambda: KafkaTransactional(settings), opening.clock)
    finally:
        shared.close()


def _rows(settings: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(settings.items()))
