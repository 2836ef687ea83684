"""Decide which topics are internal to Kafka, Connect, Schema Registry, Streams or the engine.

Two callers depend on it: pointers must not read such a topic, and a replay must not write to one.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec
import orjson
from django.conf import settings

from dlqadmin.broker import clusters, topics
from dlqadmin.broker.messages import BrokerUnavailable, NotAuthorized
from engine.record.record import RawRecord

Place = tuple[str, int]  # topic and partition

PARTITIONS_LOOKED_INTO = 5  # partitions with records; Connect's offsets have 25 partitions, and each is sufficient
RECORDS_LOOKED_INTO = 20  # of each partition
KEPT_S = 30.0  # seconds for which the result of a topic is cached


class InternalTopic(msgspec.Struct, frozen=True):
    """The reason why a topic is internal, as a clause.

    An allow-list that names the topic exactly lifts some reasons.
    """

    why: str
    is_liftable: bool = False


class PartitionQueries(Protocol):
    """Queries of a cluster. All raise BrokerUnavailable."""

    def begins(self, wanted: Sequence[Place]) -> Mapping[Place, int]: ...
    def ends(self, wanted: Sequence[Place]) -> Mapping[Place, int]: ...
    def read_range(self, topic: str, partition: int, start: int, count: int, *, whole: bool) -> Sequence[RawRecord]: ...


class TopicQueries(PartitionQueries, Protocol):
    """A cluster that also describes its topics."""

    def cluster(self) -> topics.ClusterView: ...
    def configs(self, names: Sequence[str]) -> Mapping[str, Mapping[str, str]]: ...


CONNECT = "contains Kafka Connect's"
NAMES = (
    (r"__.*", InternalTopic("is Kafka's own")),
    (r"connect-(configs|offsets|status)", InternalTopic(f"{CONNECT} configurations, offsets or states, by its name")),
    (r"mm2-.*|.+\.checkpoints\.internal", InternalTopic("is MirrorMaker's own")),
    (r"_schemas.*|_confluent.*", InternalTopic("contains Confluent's schemas or commands, by its name")),
    (r"_.*", InternalTopic("begins with an underscore, as internal topics do", is_liftable=True)),
    (r".*\.internal", InternalTopic("ends in .internal, as internal topics do", is_liftable=True)),
    (r"(.+\.)?heartbeats", InternalTopic("is named like MirrorMaker's heartbeats", is_liftable=True)),
    # The suffixes are from Kafka: StreamsResetter.matchesInternalTopicFormat.
    (
        (
            r".*-(changelog|repartition|subscription-registration-topic|subscription-response-topic)"
            r"|.+-KTABLE-FK-JOIN-SUBSCRIPTION-(REGISTRATION|RESPONSE)-\d+-topic"
        ),
        InternalTopic("is named like an internal topic of Kafka Streams", is_liftable=True),
    ),
)
_NAMES = tuple((re.compile(pattern), internal) for pattern, internal in NAMES)
_STORE_NAME = re.compile(r".+[-._](configs|offsets|status)")
# The pattern of a key in Connect's stores, and fields of which its value must contain one. Connect's own
# names are from KafkaConfigBackingStore and KafkaStatusBackingStore. The engine's config topic adds its own.
_KEYS = (
    (re.compile(r"connector-.+|task-.+-\d+"), {"properties"}, "configurations"),
    (re.compile(r"commit-.+|tasks-fencing-.+|tasks-count-.+"), {"tasks"}, "configurations"),
    (re.compile(r"target-state-.+"), {"state", "state.v2"}, "configurations"),
    (re.compile(r"restart-(connector-)?.+"), {"include-tasks", "only-failed", "restarts"}, "configurations"),
    (re.compile(r"logger-cluster-.+"), {"level"}, "configurations"),
    (re.compile(r"session-key"), {"key"}, "configurations"),
    (re.compile(r"status-(connector|task)-.+"), {"state"}, "states"),
    (re.compile(r"status-topic-.+:connector-.+"), {"topic"}, "states"),
)


def by_name(topic: str) -> InternalTopic | None:
    """Return why the topic is internal according to its name, or None."""
    own = (settings.CONFIG_TOPIC, settings.STATUS_TOPIC, settings.OFFSET_TOPIC, settings.OUTCOME_TOPIC)
    if topic in own or f"kafka:{topic}" == settings.AUDIT_SHIP_TO:  # nobody may add lines to the audit trail
        return InternalTopic("is the engine's own")
    return next((internal for pattern, internal in _NAMES if pattern.fullmatch(topic)), None)


def by_content(topic: str, records: Iterable[RawRecord]) -> InternalTopic | None:
    """Return why a compacted topic is internal according to some of its records, or None."""
    tombstones: list[str] = []
    count = 0
    for record in records:
        count += 1
        kind, is_proof = _store_of_record(record)
        if is_proof:
            return InternalTopic(kind)
        tombstones += [kind] if kind else []
    if count and len(tombstones) == count:  # the contents are deleted, and may be written again
        return InternalTopic(tombstones[0])
    if not count and _STORE_NAME.fullmatch(topic):
        return InternalTopic("is compacted, empty and named like a store of Connect", is_liftable=True)
    return None


def find(
    names: Iterable[str], there: Mapping[str, int], configs: Mapping[str, Mapping[str, str]], cluster: PartitionQueries
) -> dict[str, InternalTopic]:
    """Return the internal ones of these topics, by name and, if they are compacted, by content.

    `there` contains the partitions of the cluster's topics. Raises BrokerUnavailable.
    """
    found: dict[str, InternalTopic] = {}
    for name in names:
        internal = by_name(name)
        # A topic whose name is liftable may contain a store of Connect, which is not liftable.
        if (internal is None or internal.is_liftable) and "compact" in configs.get(name, {}).get("cleanup.policy", ""):
            internal = _check_records(name, there.get(name, 0), cluster) or internal
        if internal is not None:
            found[name] = internal
    return found


def find_now(
    names: Iterable[str], clock: Callable[[], float] = time.monotonic, kafka: TopicQueries = topics
) -> dict[str, InternalTopic]:
    """Return the internal topics on the cluster of `clusters.on`, at most 30 s old.

    A missing topic is judged by its name only. A topic that cannot be read while the cluster responds counts
    as internal. Raises BrokerUnavailable.
    """
    wanted = list(dict.fromkeys(names))
    found = {name: internal for name in wanted if (internal := by_name(name)) is not None}
    left = [name for name in wanted if name not in found or found[name].is_liftable]
    now, address = clock(), clusters.address()
    with _lock:
        kept = {name: _kept[address, name] for name in left if (address, name) in _kept}
    fresh = {name: internal for name, (at, internal) in kept.items() if now - at < KEPT_S}
    if asked := [name for name in left if name not in fresh]:
        there = kafka.cluster().topics
        looked = {name: _find_one(name, there, kafka) for name in asked if name in there}
        with _lock:
            _kept.update(
                {(address, name): (now, internal) for name, internal in looked.items() if internal != _NOT_LOOKED_INTO}
            )
        fresh |= looked
    return found | {name: internal for name, internal in fresh.items() if internal is not None}


_kept: dict[tuple[str, str], tuple[float, InternalTopic | None]] = {}
_lock = threading.Lock()
_UNREADABLE = InternalTopic("can't be checked: dlqadmin may not describe or read it", is_liftable=True)
_NOT_LOOKED_INTO = InternalTopic("can't be checked: Kafka does not return the records of each of its partitions")


def _find_one(name: str, there: Mapping[str, int], kafka: TopicQueries) -> InternalTopic | None:
    try:
        return find([name], there, kafka.configs([name]), kafka).get(name)
    except NotAuthorized:
        return _UNREADABLE
    except BrokerUnavailable:
        kafka.cluster()  # raises if the whole cluster is unavailable; one topic must not stop the others
        return _NOT_LOOKED_INTO


def _check_records(topic: str, partitions: int, cluster: PartitionQueries) -> InternalTopic | None:
    places = [(topic, number) for number in range(partitions)]
    try:
        begins, ends = cluster.begins(places), cluster.ends(places)
        if not begins.keys() >= set(places) <= ends.keys():
            return _NOT_LOOKED_INTO
        held = [place for place in places if begins[place] < ends[place]]
        records = [
            record
            for place in held[:PARTITIONS_LOOKED_INTO]
            for record in cluster.read_range(*place, begins[place], RECORDS_LOOKED_INTO, whole=True)
        ]
    except NotAuthorized:
        return _UNREADABLE
    return by_content(topic, records)


def _store_of_record(record: RawRecord) -> tuple[str, bool]:
    """Return the store that writes such records, and whether the value proves it.

    A tombstone is only a hint.
    """
    key = (record.key or b"").decode("utf-8", "replace")
    value = _fields(record.value)
    parsed = _parse_json(record.key) if key[:1] in ("[", "{") else None
    if isinstance(parsed, dict) and "keytype" in parsed:
        return "contains the schemas of a registry", True
    if isinstance(parsed, list) and parsed and isinstance(parsed[0], str) and len(parsed) <= 3:
        is_offset = len(parsed) > 1 and isinstance(parsed[1], dict)
        return (f"{CONNECT} offsets", value is not None) if is_offset else ("", False)
    for pattern, fields, kind in _KEYS:
        if pattern.fullmatch(key):
            is_proof = value is not None and not fields.isdisjoint(value)
            return f"{CONNECT} {kind}" if is_proof or record.value is None else "", is_proof
    return "", False


def _fields(value: bytes | None) -> Mapping[str, Any] | None:
    """Return the fields of a JSON object, with or without Connect's envelope.

    The envelope has the fields `schema` and `payload`.
    """
    found = _parse_json(value)
    if isinstance(found, dict) and found.keys() == {"schema", "payload"}:
        found = found["payload"]
    return found if isinstance(found, dict) else None


def _parse_json(data: bytes | None) -> Any:
    try:
        return orjson.loads(data or b"")
    except orjson.JSONDecodeError:
        return None
