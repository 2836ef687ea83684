"""Queries of a Kafka cluster: brokers, topics, end offsets, committed offsets and records."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, Message, TopicCollection
from confluent_kafka import TopicPartition as KafkaTopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, OffsetSpec  # type: ignore[attr-defined]  # not in its stubs' __all__
from django.conf import settings

from dlqadmin.broker.clusters import ClientOption, address, client_options, current, unknown
from dlqadmin.broker.messages import BrokerUnavailable, NotAuthorized, from_kafka
from engine.record.record import RawRecord

MOVED_WAIT_S = 0.1
T = TypeVar("T")
# A coordinator is moving, being created or loading: on a new cluster, after a restart, for a group's first
# offset.
_MOVED = {
    KafkaError.NOT_COORDINATOR,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
}


@dataclass(frozen=True, slots=True)
class ClusterView:
    """One metadata response: the number of brokers, the partitions of each topic, and Kafka's id of the cluster."""

    brokers: int
    topics: Mapping[str, int]
    id: str = ""


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """A consumer group's last commit in one partition.

    `is_of_consumer`: the commit has the leader epoch of a record, which consumers add to the position up to which they
    have read. `kafka-consumer-groups.sh`, and other tools that move offsets, commit without one. Some consumers do too,
    if they commit offsets of their own counting.
    """

    offset: int
    metadata: str = ""
    is_of_consumer: bool = False


def client_config(extra: Mapping[str, ClientOption] | None = None) -> dict[str, ClientOption]:
    """Return the base options of every client of the cluster.

    Raises BrokerUnavailable, also if no cluster has that name.
    """
    try:
        return {**client_options(current()), **(extra or {})}
    except KeyError:
        raise BrokerUnavailable(unknown(current())) from None


def create(name: str, count: int, config: Mapping[str, str]) -> None:
    """Create a topic with `count` partitions. An existing topic stays unchanged.

    Raises BrokerUnavailable.
    """
    with translated():
        topic = NewTopic(name, count, config=dict(config))
        futures = admin().create_topics([topic], request_timeout=settings.KAFKA_TIMEOUT_S)
        try:
            futures[name].result(settings.KAFKA_TIMEOUT_S + 1)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise


def cluster(timeout_s: float | None = None) -> ClusterView:
    """Return brokers and topics. Raises BrokerUnavailable."""
    with translated():
        metadata = admin().list_topics(timeout=timeout_s or settings.KAFKA_TIMEOUT_S)
    topics = {name: len(topic.partitions) for name, topic in metadata.topics.items() if topic.error is None}
    return ClusterView(len(metadata.brokers), topics, metadata.cluster_id or "")


def partitions(topic: str) -> int | None:
    """Return the number of partitions; None if the topic does not exist. Raises BrokerUnavailable."""
    return cluster().topics.get(topic)


def topic_ids(names: Sequence[str]) -> dict[str, str]:
    """Return the ids of topics, without missing ones.

    The id changes if a topic is deleted and created again.
    """
    if not names:
        return {}
    with translated():
        futures = admin().describe_topics(TopicCollection(list(names)), request_timeout=settings.KAFKA_TIMEOUT_S)
    found = {}
    for name, future in futures.items():
        with translated(), _ignore_missing():
            found[name] = str(future.result(settings.KAFKA_TIMEOUT_S + 1).topic_id)
    return found


def configs(names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Return every option of each topic as text, without missing topics. Raises BrokerUnavailable."""
    if not names:
        return {}
    resources = [ConfigResource(ConfigResource.Type.TOPIC, name) for name in names]
    with translated():
        futures = admin().describe_configs(resources, request_timeout=settings.KAFKA_TIMEOUT_S)
    found = {}
    for resource, future in futures.items():
        with translated(), _ignore_missing():
            options = future.result(settings.KAFKA_TIMEOUT_S + 1)
            found[resource.name] = {name: str(option.value) for name, option in options.items()}
    return found


def ends(wanted: Sequence[tuple[str, int]], *, committed: bool = True) -> dict[tuple[str, int], int]:
    """Return end offsets, from one call. Unknown partitions are left out.

    `committed` selects the ends that a read_committed reader sees.
    """
    return _offsets(wanted, OffsetSpec.latest(), committed=committed)


def begins(wanted: Sequence[tuple[str, int]]) -> dict[tuple[str, int], int]:
    """Return the first offset of each partition. Unknown partitions are left out."""
    return _offsets(wanted, OffsetSpec.earliest())


def offsets_at(wanted: Sequence[tuple[str, int]], times_ms: Sequence[int]) -> list[dict[tuple[str, int], int]]:
    """Return, for each time, the first offset of each partition whose record is that old or newer.

    Partitions without such a record, and unknown ones, are left out. Raises BrokerUnavailable.
    """
    with translated():
        asked = [_ask_offsets(wanted, OffsetSpec.for_timestamp(moment)) for moment in times_ms] if wanted else []
    found = [_answered_offsets(futures) for futures in asked]
    return [{item: offset for item, offset in offsets.items() if offset >= 0} for offsets in found]


def committed(group: str, wanted: Sequence[tuple[str, int]]) -> dict[tuple[str, int], int]:
    """Return the group's committed offsets, without partitions that have none.

    Raises BrokerUnavailable.
    """
    return {place: found.offset for place, found in commits(group, wanted).items()}


def commits(group: str, wanted: Sequence[tuple[str, int]]) -> dict[tuple[str, int], CommittedOffset]:
    """Return the group's last commit in each partition, without partitions that have none.

    Raises BrokerUnavailable.
    """
    if not wanted:
        return {}
    # Do not use list_consumer_group_offsets: librdkafka 2.16 crashes the process in it while the group's
    # coordinator is missing, as on a new cluster.
    reader = Consumer(client_config({"group.id": group, "enable.auto.commit": False}))
    try:
        with translated():
            answer = patiently(lambda: _committed(reader, wanted))
    finally:
        reader.close()
    return {
        (item.topic, item.partition): CommittedOffset(item.offset, item.metadata or "", item.leader_epoch is not None)
        for item in answer
        if item.offset >= 0
    }


def patiently(call: Callable[[], T], timeout_s: float | None = None, wait: Callable[[float], None] = time.sleep) -> T:
    """Return the result of `call`; retry until the time-out while a coordinator is unavailable."""
    until = time.monotonic() + (timeout_s or settings.KAFKA_TIMEOUT_S)
    while True:
        try:
            return call()
        except KafkaException as error:
            if error.args[0].code() not in _MOVED or time.monotonic() > until:
                raise
            wait(MOVED_WAIT_S)


def lag(group: str, topics: Sequence[str]) -> int:
    """Return the number of records between the group's committed offsets and the ends.

    A partition without a committed offset counts completely.
    """
    known = cluster().topics
    wanted = [(topic, partition) for topic in topics for partition in range(known.get(topic, 0))]
    last, done, first = ends(wanted), committed(group, wanted), begins(wanted)
    return sum(max(0, end - done.get(item, first.get(item, end))) for item, end in last.items())


def read_range(
    topic: str, partition: int, start: int, count: int, timeout_s: float | None = None, *, whole: bool = False
) -> Sequence[RawRecord]:
    """Return up to `count` committed records from offset `start` on, without compacted ones.

    Raises BrokerUnavailable; with `whole` also if the time-out comes before `count` records or the end are
    read.
    """
    found: list[RawRecord] = []
    for record in read_to_end(topic, partition, start, timeout_s or settings.KAFKA_TIMEOUT_S, whole=whole):
        found.append(record)
        if len(found) >= count:
            break
    return found


def read_to_end(
    topic: str, partition: int, start: int, timeout_s: float = 30.0, *, whole: bool = False
) -> Iterator[RawRecord]:
    """Yield the committed records from `start` to the partition's present end.

    Stops early when the time is over. A start below the first offset is moved there. Raises
    BrokerUnavailable; with `whole` also when the time is over.
    """
    deadline = time.monotonic() + timeout_s
    config = client_config(
        {
            "group.id": "dlqadmin-reader",  # required by the client; nothing is ever committed
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
            "fetch.queue.backoff.ms": 5,
            "fetch.wait.max.ms": 10,  # the client reports the end only when a fetch has come back empty
        }
    )
    consumer = Consumer(config)
    try:
        with translated():
            consumer.assign([KafkaTopicPartition(topic, partition, start)])
            while (left := deadline - time.monotonic()) > 0:
                for message in next_messages(consumer, min(left, 0.5)):
                    error = message.error()
                    if error is None:
                        yield from_kafka(message)
                    elif error.code() == KafkaError._PARTITION_EOF:
                        return
                    elif error.code() == KafkaError._ALL_BROKERS_DOWN or not error.retriable():
                        raise KafkaException(error)
        if whole:
            raise BrokerUnavailable(f"{topic}/{partition} could not be read to its end within {timeout_s:g} s")
    finally:
        consumer.close()


def next_messages(consumer: Consumer, timeout_s: float) -> Sequence[Message]:
    """Return the first message within the time-out and those that came with it.

    A `consume` of many waits out its time-out, even after the end of the partition.
    """
    first = consumer.consume(1, timeout_s)
    return [*first, *consumer.consume(499, 0)] if first else first


def _committed(reader: Consumer, wanted: Sequence[tuple[str, int]]) -> Sequence[KafkaTopicPartition]:
    answer = reader.committed([KafkaTopicPartition(*item) for item in wanted], timeout=settings.KAFKA_TIMEOUT_S)
    for item in answer:
        if item.error is not None:  # an error has no offset, and must not count as "nothing committed"
            raise KafkaException(item.error)
    return answer


_lock = threading.Lock()
_admins: dict[str, AdminClient] = {}


def admin() -> AdminClient:
    """Return the shared admin client of this process and cluster. It is thread-safe."""
    here = address()
    with _lock:
        if here not in _admins:
            _admins[here] = AdminClient(client_config())
        return _admins[here]


def _offsets(
    wanted: Sequence[tuple[str, int]], spec: OffsetSpec, *, committed: bool = True
) -> dict[tuple[str, int], int]:
    if not wanted:
        return {}
    with translated():
        futures = _ask_offsets(wanted, spec, committed=committed)
    return _answered_offsets(futures)


def _ask_offsets(
    wanted: Sequence[tuple[str, int]], spec: OffsetSpec, *, committed: bool = True
) -> Mapping[KafkaTopicPartition, Any]:
    request = {KafkaTopicPartition(*item): spec for item in wanted}
    level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    return admin().list_offsets(request, isolation_level=level, request_timeout=settings.KAFKA_TIMEOUT_S)


def _answered_offsets(futures: Mapping[KafkaTopicPartition, Any]) -> dict[tuple[str, int], int]:
    found = {}
    for item, future in futures.items():
        with translated(), _ignore_missing():
            found[(item.topic, item.partition)] = future.result(settings.KAFKA_TIMEOUT_S + 1).offset
    return found


@contextmanager
def translated() -> Iterator[None]:
    """Convert exceptions of the client to BrokerUnavailable.

    The shared admin client is dropped. A client that knew the broker before a restart keeps its leader
    epochs, and the broker then refuses it for ever (FENCED_LEADER_EPOCH).
    """
    try:
        yield
    except (KafkaException, TimeoutError) as error:
        with _lock:
            _admins.pop(address(), None)
        refused = isinstance(error, KafkaException) and error.args[0].code() == KafkaError.TOPIC_AUTHORIZATION_FAILED
        raise (NotAuthorized if refused else BrokerUnavailable)(str(error)) from error


@contextmanager
def _ignore_missing() -> Iterator[None]:
    try:
        yield
    except KafkaException as error:
        if error.args[0].code() not in (KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_PARTITION):
            raise
