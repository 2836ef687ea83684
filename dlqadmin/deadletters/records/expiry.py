"""Estimates of when a record leaves Kafka, from its topic's configuration and first offset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal, NamedTuple, Protocol

from django.conf import settings
from django.db.models import QuerySet

from dlqadmin.broker import retention
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.broker.retention import Retention
from dlqadmin.deadletters.index.origin_topics import refusal_by_name
from dlqadmin.deadletters.models import CountDay, DeadLetter, Fingerprint, GroupStatus, IndexPosition
from dlqadmin.deadletters.search.counters import cells
from dlqadmin.deadletters.search.filters import Filters

SOON = timedelta(hours=3)
OLDEST = 1000
LONGEST_MS = 100 * 365 * 86_400_000  # 100 years and more count as unlimited
State = Literal["leaves", "overdue", "gone", "kept", "unknown"]


class Place(NamedTuple):
    """The coordinates of a record, and its timestamp if it is known."""

    topic: str
    partition: int
    offset: int
    at: datetime | None


class Broker(Protocol):
    """The broker queries that clocks need. Both raise BrokerUnavailable."""

    def retentions(self, names: Sequence[str]) -> Mapping[str, Retention]: ...

    def first_offsets(self, partitions: Sequence[tuple[str, int]]) -> Mapping[tuple[str, int], int]: ...


class Told(NamedTuple):
    """The broker's answers about the topics in question."""

    topics: Mapping[str, Retention]
    begins: Mapping[tuple[str, int], int]


class Clock(NamedTuple):
    """The time at which a record leaves Kafka.

    `until` is the earliest time: Kafka deletes whole segments, so a record may stay longer. `reason` says why
    the time is unknown.
    """

    state: State
    until: datetime | None = None
    keeps_ms: int | None = None
    reason: str = ""


class Clocks(NamedTuple):
    """The clocks of the oldest records of a group that Kafka may still have.

    `complete` if there are no more such records.
    """

    dead_letters: Sequence[Clock]
    origins: Sequence[Clock]
    complete: bool


class Leaving(NamedTuple):
    """A topic that may soon lose dead letters of unresolved groups.

    It contains the number of records, the time at which the first one leaves, and the topic's retention.
    """

    topic: str
    records: int
    first: datetime
    keeps_ms: int


def of_letter(row: DeadLetter, now: datetime, broker: Broker = retention) -> tuple[Clock, Clock | None]:
    """Return the clocks of a dead letter and of its origin record.

    The second one is None if the origin is not in Kafka.
    """
    own, origin = _place(row), _origin(row)
    told = _ask([own, origin] if origin else [own], broker)
    return clock(own, told, now), clock(origin, told, now) if origin else None


def of_group(pk: int, now: datetime, broker: Broker = retention, limit: int = OLDEST) -> Clocks:
    """Return the clocks of the group's oldest dead letters and of their origins.

    Dead letters that retention has surely deleted are left out.
    """
    ids = list(Fingerprint.objects.filter(group_id=pk).values_list("pk", flat=True))
    rows = list(_maybe_kept(ids, now, broker).order_by("failed_at", "pk")[: limit + 1])
    complete, rows = len(rows) <= limit, rows[:limit]
    own, origins = [_place(row) for row in rows], [place for row in rows if (place := _origin(row))]
    told = _ask([*own, *origins], broker)
    return Clocks([clock(one, told, now) for one in own], [clock(one, told, now) for one in origins], complete)


def expiring_soon(now: datetime, broker: Broker = retention) -> list[Leaving]:
    """Return the dead letter topics that may lose records within three hours, soonest first.

    Only time-based retention is considered. The numbers come from the counters of unresolved groups. The list
    is empty while Kafka is unavailable.
    """
    found = []
    for topic, kept in _watched(broker).items():
        if _why_unknown(kept) or not _finite(kept):
            continue
        start = now - timedelta(milliseconds=kept.ms)
        count = _unresolved(Filters(start, start + SOON, include={"topic": (topic,)}))
        first = DeadLetter.objects.filter(topic=topic, failed_at__gte=start).order_by("failed_at", "pk").first()
        if count and first:
            leaves = first.failed_at + timedelta(milliseconds=kept.ms)
            found.append(Leaving(topic, count, leaves, kept.ms))
    return sorted(found, key=lambda row: row.first)


def clock(place: Place, told: Told | None, now: datetime) -> Clock:
    """Return the clock of one record. It is unknown without the broker's answer. Pure."""
    if told is None:
        return Clock("unknown", reason="not_told")
    kept, begin = told.topics.get(place.topic), told.begins.get((place.topic, place.partition))
    if kept is None or begin is None:
        return Clock("gone", reason="no_topic")
    if place.offset < begin:
        return Clock("gone")
    if reason := _why_unknown(kept):
        return Clock("unknown", reason=reason)
    if not _finite(kept):
        return Clock("kept")
    if place.at is None:
        return Clock("unknown", keeps_ms=kept.ms, reason="no_timestamp")
    until = place.at + timedelta(milliseconds=kept.ms)
    return Clock("leaves" if until > now else "overdue", until, kept.ms)


def _why_unknown(kept: Retention) -> str:
    if "compact" in kept.policies:
        return "compaction"
    return "retention_bytes" if "delete" in kept.policies and kept.bytes >= 0 else ""


def _finite(kept: Retention) -> bool:
    """Return whether time alone decides when a record is deleted."""
    return "delete" in kept.policies and 0 <= kept.ms <= LONGEST_MS


def _place(row: DeadLetter) -> Place:
    """Return the place of a dead letter, with the time of its failure.

    It was written at that time or later, so the clock is never late.
    """
    return Place(row.topic, row.partition, row.offset, row.failed_at)


def _origin(row: DeadLetter) -> Place | None:
    if not row.origin_topic or row.origin_partition is None or row.origin_offset is None:
        return None
    if refusal_by_name(row.topic, row.origin_topic):  # its offsets must not be shown to everybody either
        return None
    return Place(row.origin_topic, row.origin_partition, row.origin_offset, row.origin_timestamp)


def _ask(places: Sequence[Place], broker: Broker) -> Told | None:
    """Ask the broker about these places, in at most two queries; None if it does not respond."""
    try:
        known = broker.retentions(list({place.topic for place in places}))
        where = {(place.topic, place.partition) for place in places if place.topic in known}
        return Told(known, broker.first_offsets(list(where)))
    except BrokerUnavailable:
        return None


def _maybe_kept(fingerprints: Sequence[int], now: datetime, broker: Broker) -> QuerySet[DeadLetter]:
    """Return the dead letters that failed within the longest retention of their topics.

    Returns all of them if a topic keeps records for ever.
    """
    rows = DeadLetter.objects.filter(fingerprint_id__in=fingerprints)
    topics = CountDay.objects.filter(fingerprint_id__in=fingerprints).values_list("topic", flat=True).distinct()
    try:
        known = list(broker.retentions(list(topics)).values())
    except BrokerUnavailable:
        return rows
    if not known or not all(_finite(one) for one in known):
        return rows
    return rows.filter(failed_at__gte=now - timedelta(milliseconds=max(one.ms for one in known)))


def _watched(broker: Broker) -> Mapping[str, Retention]:
    """Return the retention of indexed topics that still have records; empty without Kafka."""
    rows = IndexPosition.objects.filter(cluster=settings.CLUSTER).values_list("topic", "partition", "position")
    read = {(topic, partition): position for topic, partition, position in rows}
    try:
        begins = broker.first_offsets(list(read))
        left = {topic for (topic, partition), begin in begins.items() if begin < read[topic, partition]}
        return broker.retentions(sorted(left))
    except BrokerUnavailable:
        return {}


def _unresolved(filters: Filters) -> int:
    counts = cells(filters)
    ids = {cell.fingerprint for cell in counts}
    open_ids = set(Fingerprint.objects.filter(pk__in=ids, group__status=GroupStatus.OPEN).values_list("pk", flat=True))
    return sum(n for cell, n in counts.items() if cell.fingerprint in open_ids)
