"""The retention clock: when a record leaves Kafka, as far as its topic's config and first offset tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal, NamedTuple, Protocol

from django.conf import settings
from django.db.models import QuerySet

from dlqadmin.broker import retention
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.broker.retention import Retention
from dlqadmin.deadletters.counters import cells
from dlqadmin.deadletters.filters import Filters
from dlqadmin.deadletters.models import CountDay, DeadLetter, Fingerprint, GroupStatus, IndexPosition

SOON = timedelta(hours=3)
OLDEST = 1000
LONGEST_MS = 100 * 365 * 86_400_000  # a hundred years are for ever
State = Literal["leaves", "overdue", "gone", "kept", "unknown"]


class Place(NamedTuple):
    """Where a record is, and its timestamp if it is known."""

    topic: str
    partition: int
    offset: int
    at: datetime | None


class Broker(Protocol):
    """Whom the clocks ask; both raise BrokerUnavailable."""

    def retentions(self, names: Sequence[str]) -> Mapping[str, Retention]: ...

    def first_offsets(self, partitions: Sequence[tuple[str, int]]) -> Mapping[tuple[str, int], int]: ...


class Told(NamedTuple):
    """What the broker says of the topics in question."""

    topics: Mapping[str, Retention]
    begins: Mapping[tuple[str, int], int]


class Clock(NamedTuple):
    """When a record leaves: `until` is the earliest time, as segments leave whole; `reason` is of what is unknown."""

    state: State
    until: datetime | None = None
    keeps_ms: int | None = None
    reason: str = ""


class Clocks(NamedTuple):
    """Those of the oldest records of a group that Kafka may still have; `complete` if there are no more of them."""

    dead_letters: Sequence[Clock]
    origins: Sequence[Clock]
    complete: bool


class Leaving(NamedTuple):
    """A topic that may soon lose dead letters of unresolved groups: how many, the first when, and how long it keeps."""

    topic: str
    records: int
    first: datetime
    keeps_ms: int


def of_letter(row: DeadLetter, now: datetime, broker: Broker = retention) -> tuple[Clock, Clock | None]:
    """The clocks of a dead letter and of its origin record; None where it has none in Kafka."""
    own, origin = _place(row), _origin(row)
    told = _ask([own, origin] if origin else [own], broker)
    return clock(own, told, now), clock(origin, told, now) if origin else None


def of_group(pk: int, now: datetime, broker: Broker = retention, limit: int = OLDEST) -> Clocks:
    """The clocks of the group's oldest dead letters that retention may have left, and of their origins."""
    ids = list(Fingerprint.objects.filter(group_id=pk).values_list("pk", flat=True))
    rows = list(_maybe_kept(ids, now, broker).order_by("failed_at", "pk")[: limit + 1])
    complete, rows = len(rows) <= limit, rows[:limit]
    own, origins = [_place(row) for row in rows], [place for row in rows if (place := _origin(row))]
    told = _ask([*own, *origins], broker)
    return Clocks([clock(one, told, now) for one in own], [clock(one, told, now) for one in origins], complete)


def expiring_soon(now: datetime, broker: Broker = retention) -> list[Leaving]:
    """The dead letter topics whose time retention may take records within three hours, the soonest first.

    It counts by counters, what failed of unresolved groups; empty while Kafka is away.
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
    """What is known of one record; without the broker's word nothing is. Pure."""
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
    """Does time alone end a record?"""
    return "delete" in kept.policies and 0 <= kept.ms <= LONGEST_MS


def _place(row: DeadLetter) -> Place:
    """It was written when it failed or later, so the clock is never late."""
    return Place(row.topic, row.partition, row.offset, row.failed_at)


def _origin(row: DeadLetter) -> Place | None:
    if not row.origin_topic or row.origin_partition is None or row.origin_offset is None:
        return None
    return Place(row.origin_topic, row.origin_partition, row.origin_offset, row.origin_timestamp)


def _ask(places: Sequence[Place], broker: Broker) -> Told | None:
    """What the clocks of these places need, in two questions at most; None where the broker does not tell."""
    try:
        known = broker.retentions(list({place.topic for place in places}))
        where = {(place.topic, place.partition) for place in places if place.topic in known}
        return Told(known, broker.first_offsets(list(where)))
    except BrokerUnavailable:
        return None


def _maybe_kept(fingerprints: Sequence[int], now: datetime, broker: Broker) -> QuerySet[DeadLetter]:
    """The dead letters that failed within the longest retention of their topics; all where one keeps for ever."""
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
    """The retention of every indexed topic that still has records; none while Kafka is away."""
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
