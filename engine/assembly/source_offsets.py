"""Where a source's offsets lie, who may read them there, and how they got there (KIP-618, per-connector topics)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from engine.assembly.clients import WRITING, Opening, base
from engine.assembly.plan import validate
from engine.config.connector import ConnectorConfig
from engine.config.exactly_once_source import ISOLATION, OFFSETS_TOPIC
from engine.config.topic import TOPIC_CONFIG
from engine.config.worker import WorkerConfig
from engine.errors import ConfigError, Conflict, RetriableError
from engine.kafka.admin import KafkaAdmin
from engine.kafka.clock import WorkerClock
from engine.kafka.consumer import KafkaConsumer
from engine.kafka.offsets import OffsetsTopic
from engine.kafka.offsets_copier import OffsetsCopier, OffsetsPlace
from engine.kafka.offsets_migration import migrate, migration_id
from engine.kafka.producer import KafkaProducer
from engine.kafka.settings import admin_settings, consumer_settings, producer_settings, transactional_settings
from engine.kafka.transactional import KafkaTransactional
from engine.leases import Delivery

# As patient with the brokers as a sink's commit is.
PATIENT = {"linger.ms": "0", "delivery.timeout.ms": "15000", "request.timeout.ms": "10000"}
CONNECTION = ("bootstrap.servers", "security.protocol", "sasl.", "ssl.")
COMMITTED = {ISOLATION: "read_committed"}


def offsets_place(config: ConnectorConfig, worker: WorkerConfig, delivery: Delivery) -> OffsetsPlace:
    """Where the connector's offsets lie: who writes them in its own transactions writes them where its records go.

    Readers connect as the producer does, unless their own overrides say otherwise.
    """
    exactly_once = delivery is Delivery.EXACTLY_ONCE
    topic = config.exactly_once.offsets_topic or worker.offset_topic
    cluster = config.producer.get("bootstrap.servers", worker.bootstrap_servers)
    is_away = cluster != worker.bootstrap_servers
    is_own = topic != worker.offset_topic or (exactly_once and is_away)
    beside = config.producer if is_own or exactly_once else {}
    readers = (beside, config.consumer) if is_own or exactly_once else ()
    admins = (beside, config.admin) if is_own or exactly_once else ()
    consumer = consumer_settings(
        f"connect-{worker.group_id}-offsets",
        base(worker),
        worker.consumer,
        *map(connection, readers),
        {"fetch.min.bytes": "1"},
        COMMITTED if exactly_once else {ISOLATION: config.consumer.get(ISOLATION, "read_committed")} if is_own else {},
    )
    return OffsetsPlace(
        connector=config.name,
        topic=topic,
        consumer=_rows(consumer),
        admin=_rows(admin_settings(base(worker), worker.admin, *map(connection, admins))),
        producer=_rows(producer_settings(WRITING, base(worker), worker.producer, beside, PATIENT)),
        is_own=is_own,
    )


def shared_place(worker: WorkerConfig) -> OffsetsPlace:
    """The worker's own topic, with the worker's own credentials."""
    consumer = consumer_settings(
        f"connect-{worker.group_id}-offsets", base(worker), worker.consumer, {"fetch.min.bytes": "1"}, COMMITTED
    )
    return OffsetsPlace(
        connector="",
        topic=worker.offset_topic,
        consumer=_rows(consumer),
        admin=_rows(admin_settings(base(worker), worker.admin)),
        producer=_rows(producer_settings(WRITING, base(worker), worker.producer, PATIENT)),
        is_own=False,
    )


def open_offsets(opening: Opening) -> OffsetsTopic:
    """The reader of the task's offsets, at its end. A topic of the connector's own is made, and filled, by task 0; the
    others wait for that. Raises RetriableError.
    """
    place = offsets_place(opening.plan.config, opening.worker, opening.plan.delivery)
    writes = opening.plan.delivery is Delivery.AT_LEAST_ONCE
    if not place.is_own and place.consumer == shared_place(opening.worker).consumer:
        return _kept(place, opening.worker, writes=writes)
    if opening.task.task == 0:
        _create(place, opening.worker)
    topic = open_topic(place, writes=writes)
    opening.closing.callback(topic.close)
    topic.read_to_end()
    if place.is_own and not topic.is_migrated(place.connector):
        if opening.task.task != 0:
            raise RetriableError(f"the offsets of {place.connector} are not in {place.topic} yet: task 0 brings them")
        _migrate(opening, topic)
    return topic


def open_topic(place: OffsetsPlace, *, writes: bool) -> OffsetsTopic:
    """A reader at the topic's beginning, with a producer without transactions if it is to write."""
    producer = KafkaProducer(dict(place.producer)) if writes else None
    consumer = KafkaConsumer(dict(place.consumer))
    return OffsetsTopic(consumer, producer, KafkaAdmin(dict(place.admin)), place.topic, WorkerClock())


def read_brought(place: OffsetsPlace, topic: OffsetsTopic, worker: WorkerConfig) -> None:
    """Read the topic of a connector's offsets to its end. Raises Conflict where it is the connector's own and they are
    not there yet: whatever is written before they are brought keeps them out.
    """
    is_made = not place.is_own or bool(topic.admin.partitions(place.topic))
    if is_made:
        topic.read_to_end()
    if place.is_own and not (is_made and topic.is_migrated(place.connector)):
        raise Conflict(
            f"start connector {place.connector} once first: its offsets are still to be brought from "
            f"{worker.offset_topic} to {place.topic}"
        )


def offsets_copier(worker: WorkerConfig, connectors: Callable[[], Mapping[str, Mapping[str, str]]]) -> OffsetsCopier:
    """The driver's copier; `connectors()` are the properties of all connectors by name, from any thread."""
    known: dict[str, tuple[Mapping[str, str], OffsetsPlace | None]] = {}

    def place(name: str, properties: Mapping[str, str]) -> OffsetsPlace | None:
        if name not in known or known[name][0] != properties:
            known[name] = (properties, own_place(properties, worker))
        return known[name][1]

    def own_topics() -> set[OffsetsPlace]:
        places = (place(name, properties) for name, properties in dict(connectors()).items())
        return {one for one in places if one is not None}

    def open_own(own: OffsetsPlace) -> OffsetsTopic:
        return open_topic(own, writes=False)

    return OffsetsCopier(own_topics, open_own, lambda: open_topic(shared_place(worker), writes=True))


def own_place(properties: Mapping[str, str], worker: WorkerConfig) -> OffsetsPlace | None:
    """Where a connector keeps its offsets, if that is not the worker's topic; None also for what can't be run."""
    if not properties.get(OFFSETS_TOPIC.name) and "producer.override.bootstrap.servers" not in properties:
        return None
    try:
        plan = validate(properties, worker)
    except ConfigError:
        return None
    place = offsets_place(plan.config, worker, plan.delivery)
    return place if place.is_own else None


def connection(options: Mapping[str, str]) -> dict[str, str]:
    """Those of a client's options that say where the brokers are, and how to speak to them."""
    return {name: value for name, value in options.items() if name.startswith(CONNECTION)}


_topics: dict[tuple[OffsetsPlace, bool], OffsetsTopic] = {}


def _kept(place: OffsetsPlace, worker: WorkerConfig, *, writes: bool) -> OffsetsTopic:
    """This process's reader of the worker's topic, at its end; it is kept, because it only ever goes forward."""
    key = (shared_place(worker), writes)
    topic = _topics.pop(key, None)
    if topic is not None and topic.is_broken:
        topic.close()
        topic = None
    if topic is None:
        _create(place, worker)
        topic = open_topic(place, writes=writes)
    try:
        topic.read_to_end()
    except BaseException:
        topic.close()
        raise
    _topics[key] = topic
    return topic


def _create(place: OffsetsPlace, worker: WorkerConfig) -> None:
    admin = KafkaAdmin(dict(place.admin))
    admin.create_topic(place.topic, worker.offset_partitions, worker.offset_replication_factor, TOPIC_CONFIG)


def _migrate(opening: Opening, own: OffsetsTopic) -> None:
    worker, config = opening.worker, opening.plan.config
    name = migration_id(worker.group_id, config.name)
    settings = transactional_settings(name, WRITING, base(worker), worker.producer, config.producer)
    _create(shared_place(worker), worker)
    shared = open_topic(shared_place(worker), writes=False)
    try:
        migrate(config.name, own, shared, lambda: KafkaTransactional(settings), opening.clock)
    finally:
        shared.close()


def _rows(settings: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(settings.items()))
