"""Estimates of when a record leaves Kafka, from its topic's configuration and first offset."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal, NamedTuple, Protocol, get_args

from django.db.models import OuterRef, QuerySet, Subquery

from dlqadmin.broker import clusters, retention
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.broker.retention import TopicRetention
from dlqadmin.deadletters.index.origin_topics import refusals_by_name
from dlqadmin.deadletters.models import CountDay, DeadLetter, Fingerprint, GroupStatus, IndexPosition
from dlqadmin.deadletters.search.counters import cells
from dlqadmin.deadletters.search.filters import Filters

SOON = timedelta(hours=3)
OLDEST = 1000
LONGEST_MS = 100 * 365 * 86_400_000  # 100 years and more count as unlimited
ClockState = Literal["leaves", "overdue", "gone", "kept", "unknown"]
ClockReason = Literal["not_told", "no_topic", "no_timestamp", "compaction", "retention_bytes"]
STATES: tuple[ClockState, ...] = get_args(ClockState)


class TimedCoordinates(NamedTuple):
    """The coordinates of a record, and its timestamp if it is known."""

    topic: str
    partition: int
    offset: int
    at: datetime | None


class RetentionQueries(Protocol):
    """The broker queries that clocks need. Both raise BrokerUnavailable."""

    def retentions(self, names: Sequence[str]) -> Mapping[str, TopicRetention]: ...

    def first_offsets(self, partitions: Sequence[tuple[str, int]]) -> Mapping[tuple[str, int], int]: ...


class RetentionFacts(NamedTuple):
    """The broker's answers about the topics in question."""

    topics: Mapping[str, TopicRetention]
    begins: Mapping[tuple[str, int], int]


class RetentionClock(NamedTuple):
    """The time at which a record leaves Kafka.

    `until` is the earliest time: Kafka deletes whole segments, so a record may stay longer. `reason` says why
    the time is unknown.
    """

    state: ClockState
    until: datetime | None = None
    keeps_ms: int | None = None
    reason: ClockReason | None = None


class GroupClocks(NamedTuple):
    """The clocks of the oldest records of a group that Kafka may still have.

    `complete` if there are no more such records.
    """

    dead_letters: Sequence[RetentionClock]
    origins: Sequence[RetentionClock]
    complete: bool


class ExpiringTopic(NamedTuple):
    """A topic that may soon lose dead letters of unresolved groups.

    It contains the number of records, the time at which the first one leaves, and the topic's retention.
    """

    cluster: str
    topic: str
    records: int
    first: datetime
    keeps_ms: int


def of_letter(
    row: DeadLetter, now: datetime, broker: RetentionQueries = retention
) -> tuple[RetentionClock, RetentionClock | None]:
    """Return the clocks of a dead letter and of its origin record.

    The second one is None if the origin is not in Kafka.
    """
    own, origin = _letter_coordinates(row), next(iter(_origin_coordinates([row])), None)
    with clusters.on(row.cluster):
        facts = fetch_facts([own, origin] if origin else [own], broker)
    return clock(own, facts, now), clock(origin, facts, now) if origin else None


def of_group(pk: int, now: datetime, broker: RetentionQueries = retention, limit: int = OLDEST) -> GroupClocks:
    """Return the clocks of the group's oldest dead letters and of their origins.

    Dead letters that retention has surely deleted are left out.
    """
    ids = list(Fingerprint.objects.filter(group_id=pk).values_list("pk", flat=True))
    counted = CountDay.objects.filter(fingerprint_id__in=ids).order_by()
    found = GroupClocks([], [], complete=True)
    for cluster in sorted(set(counted.values_list("cluster", flat=True).distinct())):
        with clusters.on(cluster):
            found = _together(found, _group_clocks(ids, now, broker, limit))
    return found


def _group_clocks(ids: Sequence[int], now: datetime, broker: RetentionQueries, limit: int) -> GroupClocks:
    """Return the clocks of these fingerprints' oldest dead letters on the current cluster."""
    rows = list(_possibly_retained(ids, now, broker).order_by("failed_at", "pk")[: limit + 1])
    complete, rows = len(rows) <= limit, rows[:limit]
    own, origins = [_letter_coordinates(row) for row in rows], _origin_coordinates(rows)
    facts = fetch_facts([*own, *origins], broker)
    return GroupClocks([clock(one, facts, now) for one in own], [clock(one, facts, now) for one in origins], complete)


def _together(one: GroupClocks, other: GroupClocks) -> GroupClocks:
    return GroupClocks(
        [*one.dead_letters, *other.dead_letters],
        [*one.origins, *other.origins],
        one.complete and other.complete,
    )


def expiring_soon(now: datetime, broker: RetentionQueries = retention, within: timedelta = SOON) -> list[ExpiringTopic]:
    """Return the dead letter topics of all clusters that may lose records `within` a time, soonest first.

    Only time-based retention is considered. The numbers come from the counters of unresolved groups. A
    cluster that is unavailable has no topics in the list.
    """
    found = []
    for cluster in clusters.indexed():
        with clusters.on(cluster):
            found += _expiring_soon(now, broker, within)
    return sorted(found, key=lambda row: row.first)


def _expiring_soon(now: datetime, broker: RetentionQueries, within: timedelta) -> list[ExpiringTopic]:
    by_retention: dict[int, list[str]] = {}
    for topic, kept in _retained_topics(broker).items():
        if not _why_unknown(kept) and _is_time_bound(kept):
            by_retention.setdefault(kept.ms, []).append(topic)
    found = []
    for keeps_ms, topics in by_retention.items():  # few: most topics have the cluster's default
        keeps = timedelta(milliseconds=keeps_ms)
        start = now - keeps
        include = {"cluster": (clusters.current(),), "topic": tuple(topics)}
        counts = _count_unresolved(Filters(start, start + within, include=include))
        firsts = _first_failures(counts, start) if counts else {}
        found += [
            ExpiringTopic(clusters.current(), topic, counts[topic], at + keeps, keeps_ms)
            for topic, at in firsts.items()
        ]
    return found


def clock(place: TimedCoordinates, facts: RetentionFacts | None, now: datetime) -> RetentionClock:
    """Return the clock of one record. It is unknown without the broker's answer. Pure."""
    if facts is None:
        return RetentionClock("unknown", reason="not_told")
    kept, begin = facts.topics.get(place.topic), facts.begins.get((place.topic, place.partition))
    if kept is None or begin is None:
        return RetentionClock("gone", reason="no_topic")
    if place.offset < begin:
        return RetentionClock("gone")
    if reason := _why_unknown(kept):
        return RetentionClock("unknown", reason=reason)
    if not _is_time_bound(kept):
        return RetentionClock("kept")
    if place.at is None:
        return RetentionClock("unknown", keeps_ms=kept.ms, reason="no_timestamp")
    until = place.at + timedelta(milliseconds=kept.ms)
    return RetentionClock("leaves" if until > now else "overdue", until, kept.ms)


def _why_unknown(kept: TopicRetention) -> ClockReason | None:
    if "compact" in kept.policies:
        return "compaction"
    return "retention_bytes" if "delete" in kept.policies and kept.bytes >= 0 else None


def _is_time_bound(kept: TopicRetention) -> bool:
    """Return whether time alone decides when a record is deleted."""
    return "delete" in kept.policies and 0 <= kept.ms <= LONGEST_MS


def _letter_coordinates(row: DeadLetter) -> TimedCoordinates:
    """Return the place of a dead letter, with the time of its failure.

    It was written at that time or later, so the clock is never late.
    """
    return TimedCoordinates(row.topic, row.partition, row.offset, row.failed_at)


def _origin_coordinates(rows: Iterable[DeadLetter]) -> list[TimedCoordinates]:
    """Return the places of the origins, without those that are unknown or that may not be read."""
    known = [
        (row, TimedCoordinates(row.origin_topic, row.origin_partition, row.origin_offset, row.origin_timestamp))
        for row in rows
        if row.origin_topic and row.origin_partition is not None and row.origin_offset is not None
    ]
    refused = refusals_by_name((row.topic, row.origin_topic) for row, _ in known)
    # The offsets of an origin that may not be read must not be shown to everybody either.
    return [place for row, place in known if not refused[row.topic, row.origin_topic]]


def fetch_facts(places: Sequence[TimedCoordinates], broker: RetentionQueries) -> RetentionFacts | None:
    """Ask the broker about these places, in at most two queries; None if it does not respond."""
    try:
        known = broker.retentions(list({place.topic for place in places}))
        where = {(place.topic, place.partition) for place in places if place.topic in known}
        return RetentionFacts(known, broker.first_offsets(list(where)))
    except BrokerUnavailable:
        return None


def _possibly_retained(fingerprints: Sequence[int], now: datetime, broker: RetentionQueries) -> QuerySet[DeadLetter]:
    """Return the dead letters that failed within the longest retention of their topics.

    Returns all of them if a topic keeps records for ever.
    """
    here = {"fingerprint_id__in": fingerprints, "cluster": clusters.current()}
    rows = DeadLetter.objects.filter(**here)
    topics = CountDay.objects.filter(**here).values_list("topic", flat=True).distinct()
    try:
        known = list(broker.retentions(list(topics)).values())
    except BrokerUnavailable:
        return rows
    if not known or not all(_is_time_bound(one) for one in known):
        return rows
    return rows.filter(failed_at__gte=now - timedelta(milliseconds=max(one.ms for one in known)))


def _retained_topics(broker: RetentionQueries) -> Mapping[str, TopicRetention]:
    """Return the retention of indexed topics that still have records; empty without Kafka."""
    rows = IndexPosition.objects.filter(cluster=clusters.current()).values_list("topic", "partition", "position")
    read = {(topic, partition): position for topic, partition, position in rows}
    try:
        begins = broker.first_offsets(list(read))
        left = {topic for (topic, partition), begin in begins.items() if begin < read[topic, partition]}
        return broker.retentions(sorted(left))
    except BrokerUnavailable:
        return {}


def _count_unresolved(filters: Filters) -> Counter[str]:
    """Count the dead letters of unresolved groups by topic."""
    counts = cells(filters)
    ids = {cell.fingerprint for cell in counts}
    open_ids = set(Fingerprint.objects.filter(pk__in=ids, group__status=GroupStatus.OPEN).values_list("pk", flat=True))
    by_topic: Counter[str] = Counter()
    for cell, n in counts.items():
        if cell.fingerprint in open_ids:
            by_topic[cell.topic] += n
    return by_topic


def _first_failures(topics: Iterable[str], start: datetime) -> dict[str, datetime]:
    """Return when the first dead letter since `start` failed in each topic that has one."""
    own = DeadLetter.objects.filter(cluster=OuterRef("cluster"), topic=OuterRef("topic"), failed_at__gte=start)
    first = Subquery(own.order_by("failed_at", "pk").values("failed_at")[:1])
    positions = IndexPosition.objects.filter(cluster=clusters.current(), topic__in=list(topics))
    rows = positions.annotate(first=first).values_list("topic", "first").distinct()
    return {topic: at for topic, at in rows if at is not None}
