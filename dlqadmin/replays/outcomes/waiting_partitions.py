"""The partitions in which records wait for an outcome, by replay and reader."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

import msgspec
from django.db.models import Count, Max, Min, QuerySet

from dlqadmin.broker import clusters
from dlqadmin.replays.models import ItemState, Replay, ReplayItem, ReplayStatus
from dlqadmin.replays.outcomes.decision import WATCHED_FOR
from dlqadmin.replays.outcomes.kafka_queries import Partition

GROUP = "group:"  # prefix of a reader that is not a connector of the engine


class Spot(msgspec.Struct, frozen=True):
    """The `n` items of a replay in one state, partition and reader.

    `first` and `last` are the lowest and highest offset. `since` is the time of the first sending. Partition −1 stands
    for lost coordinates.
    """

    replay: int
    watched: str
    topic: str
    partition: int
    state: str
    n: int
    first: int
    last: int
    since: datetime

    @property
    def place(self) -> Partition:
        return (self.topic, self.partition)

    @property
    def rows(self) -> QuerySet[ReplayItem]:
        """The spot's items that are still in its state."""
        return ReplayItem.objects.filter(
            replay=self.replay,
            state=self.state,
            watched=self.watched,
            target_topic=self.topic,
            sent_partition=None if self.partition < 0 else self.partition,
        )


def foreign(watched: str) -> str:
    """Return the consumer group of a foreign reader, "" for a connector of the engine."""
    return watched.removeprefix(GROUP) if watched.startswith(GROUP) else ""


def waiting(now: datetime, *, unknown: bool) -> list[Spot]:
    """Return the spots on the current cluster that wait for an outcome, the longest wait first.

    With `unknown`, spots of items with an unknown outcome are included.
    """
    found = _spots(ReplayItem.objects.filter(replay__in=awaited(), state=ItemState.SENT))
    if unknown:
        known = _here().filter(shadow=False)
        rows = ReplayItem.objects.filter(replay__in=known, state=ItemState.UNKNOWN, sent_at__gt=now - WATCHED_FOR)
        found += _spots(rows)
    return sorted(found, key=lambda spot: spot.since)


def of(items: Sequence[ReplayItem]) -> list[Spot]:
    """Return the spots of these items, each as if it held one item."""
    found = {
        (item.watched, item.target_topic, item.sent_partition): Spot(
            item.replay_id, item.watched, item.target_topic, item.sent_partition, item.state,
            1, item.sent_offset or 0, item.sent_offset or 0, item.sent_at or item.state_at,
        )
        for item in sorted(items, key=lambda item: -(item.sent_offset or 0))
        if item.sent_partition is not None
    }  # fmt: skip
    return list(found.values())


def awaited() -> QuerySet[Replay]:
    """Return the replays to the current cluster that have sent something and are not done."""
    return _unfinished(_here())


def awaited_elsewhere(watched: Collection[str]) -> QuerySet[Replay]:
    """Return the replays that have sent something to a cluster which is not among these, and are not done."""
    return _unfinished(Replay.objects.exclude(target_cluster__in=watched))


def _unfinished(replays: QuerySet[Replay]) -> QuerySet[Replay]:
    return replays.exclude(status__in=(ReplayStatus.PLANNING, ReplayStatus.PLANNED, ReplayStatus.DONE))


def _here() -> QuerySet[Replay]:
    return Replay.objects.filter(target_cluster=clusters.key(clusters.current()))


def _spots(rows: QuerySet[ReplayItem]) -> list[Spot]:
    names = ("replay_id", "watched", "target_topic", "sent_partition", "state")
    counted: Sequence[tuple[int, str, str, int | None, str, int, int | None, int | None, datetime | None]] = list(
        rows.order_by()
        .values_list(*names)
        .annotate(n=Count("pk"), first=Min("sent_offset"), last=Max("sent_offset"), since=Min("sent_at"))
    )
    return [
        Spot(replay, watched, topic, -1 if partition is None else partition, state, n, first or 0, last or 0, since)
        for replay, watched, topic, partition, state, n, first, last, since in counted
        if since is not None
    ]
