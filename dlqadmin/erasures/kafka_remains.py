"""The remains of erased records in Kafka: dead letters, their origins, and the records that replays sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple, Protocol

from django.conf import settings

from dlqadmin.broker import retention, topics
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.broker.retention import TopicRetention
from dlqadmin.deadletters.models import ErasedRecord
from dlqadmin.deadletters.records import expiry
from dlqadmin.deadletters.records.expiry import RetentionFacts, TimedCoordinates
from dlqadmin.erasures.documents import ErasedTopicDocument, RemainingRecordDocument, RemainsDocument
from dlqadmin.erasures.models import Erasure
from dlqadmin.replays.batches import parts
from dlqadmin.replays.models import ReplayItem
from dlqadmin.rest.times import iso, iso_or_none

MAX_LISTED = 10_000  # records; the counts are of all
TOMBSTONE = (
    "The topic is compacted: Kafka keeps the newest record of a key for ever. To have it deleted, write a tombstone, "
    "a record with this key and a null value."
)

Role = Literal["dead_letter", "origin", "replayed"]


class BrokerQueries(Protocol):
    """The broker queries of a receipt. Each raises BrokerUnavailable."""

    def retentions(self, names: Sequence[str]) -> Mapping[str, TopicRetention]: ...

    def first_offsets(self, partitions: Sequence[tuple[str, int]]) -> Mapping[tuple[str, int], int]: ...

    def ends(self, partitions: Sequence[tuple[str, int]]) -> Mapping[tuple[str, int], int]: ...


class KafkaBroker:
    """The queries of the own cluster."""

    def retentions(self, names: Sequence[str]) -> Mapping[str, TopicRetention]:
        return retention.retentions(names)

    def first_offsets(self, partitions: Sequence[tuple[str, int]]) -> Mapping[tuple[str, int], int]:
        return retention.first_offsets(partitions)

    def ends(self, partitions: Sequence[tuple[str, int]]) -> Mapping[tuple[str, int], int]:
        return topics.ends(partitions, committed=False)


class StoredCopy(NamedTuple):
    """One copy of an erased record in Kafka. `cluster` is "" for the own cluster."""

    dead_letter: int
    role: Role
    cluster: str
    place: TimedCoordinates


def remains(erasure: Erasure, now: datetime, broker: BrokerQueries) -> RemainsDocument:
    """Return what Kafka may still have of the erased records now. Asks the broker in three calls."""
    copies = sorted(set(_copies(erasure)), key=lambda one: (one.role, one.place[:3], one.dead_letter))
    own = [one.place for one in copies if not one.cluster]
    facts = expiry.fetch_facts(own, broker) if own else RetentionFacts({}, {})
    ends, trouble = _ends(own, facts, broker)
    kept = [row for one in copies if (row := _remaining(one, facts, ends, now)) is not None]
    elsewhere = sum(1 for one in copies if one.cluster)
    if elsewhere:
        trouble = f"{trouble} {elsewhere} copies are on other clusters, which were not asked.".strip()
    names = sorted({row.topic for row in kept if not row.cluster})
    return RemainsDocument(
        as_of=iso(now),
        trouble=trouble,
        count=len(kept),
        records=kept[:MAX_LISTED],
        topics=[_topic(name, facts.topics[name]) for name in names if facts is not None and name in facts.topics],
    )


def _copies(erasure: Erasure) -> Iterator[StoredCopy]:
    rows = ErasedRecord.objects.filter(erasure=erasure.pk).order_by("pk")
    letters = []
    for row in rows.iterator(chunk_size=2000):
        letters.append(row.dead_letter)
        cluster = "" if row.cluster == settings.CLUSTER else row.cluster
        own = TimedCoordinates(row.topic, row.partition, row.offset, row.failed_at)
        yield StoredCopy(row.dead_letter, "dead_letter", cluster, own)
        if row.origin_topic and row.origin_partition is not None and row.origin_offset is not None:
            origin = TimedCoordinates(row.origin_topic, row.origin_partition, row.origin_offset, row.origin_timestamp)
            yield StoredCopy(row.dead_letter, "origin", cluster, origin)
    yield from _sent(letters)


def _sent(letters: Sequence[int]) -> Iterator[StoredCopy]:
    columns = ("dead_letter_id", "target_topic", "sent_partition", "sent_offset", "sent_at", "replay__target_cluster")
    more = ("replay__keep_timestamps", "dead_letter__origin_timestamp")
    for part in parts(letters):
        items = ReplayItem.objects.filter(dead_letter__in=part, sent_offset__isnull=False).order_by("pk")
        for pk, topic, partition, offset, at, cluster, keeps, original in items.values_list(*columns, *more):
            time = original if keeps and original is not None else at
            yield StoredCopy(pk, "replayed", cluster, TimedCoordinates(topic, partition, offset, time))


def _ends(
    places: Iterable[TimedCoordinates], facts: RetentionFacts | None, broker: BrokerQueries
) -> tuple[Mapping[tuple[str, int], int], str]:
    """Return the end offsets, and why they are unknown."""
    if facts is None:
        return {}, "Kafka did not respond, so every copy is listed."
    there = sorted({(one.topic, one.partition) for one in places if one.topic in facts.topics})
    try:
        return broker.ends(there), ""
    except BrokerUnavailable:
        return {}, "Kafka did not tell its end offsets, so copies of former topics may be listed."


def _remaining(
    one: StoredCopy, facts: RetentionFacts | None, ends: Mapping[tuple[str, int], int], now: datetime
) -> RemainingRecordDocument | None:
    """Return the copy with the time of its deletion, None if Kafka has it no more."""
    place = one.place
    clock = expiry.clock(place, None if one.cluster else facts, now)
    end = ends.get((place.topic, place.partition))
    if clock.state == "gone" or (not one.cluster and end is not None and place.offset >= end):
        return None
    return RemainingRecordDocument(
        dead_letter=one.dead_letter,
        role=one.role,
        cluster=one.cluster,
        topic=place.topic,
        partition=place.partition,
        offset=place.offset,
        state=clock.state,
        until=iso_or_none(clock.until),
        reason=clock.reason,
    )


def _topic(name: str, kept: TopicRetention) -> ErasedTopicDocument:
    return ErasedTopicDocument(
        topic=name,
        cleanup_policy=sorted(kept.policies),
        retention_ms=kept.ms,
        retention_bytes=kept.bytes,
        advice=TOMBSTONE if "compact" in kept.policies else "",
    )
