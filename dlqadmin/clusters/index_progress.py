"""The index's progress in each dead letter topic: position, speed and time left."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

import msgspec
from django.core.cache import caches
from redis.exceptions import RedisError

from dlqadmin.broker import clusters, retention
from dlqadmin.broker.availability import KafkaAvailability
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.deadletters.index.candidate_topics import candidates
from dlqadmin.deadletters.index.followed_topics import FollowedTopics
from dlqadmin.overview.index_lag import IndexLag, PartitionLag
from dlqadmin.teams.reach import current_reach

SAMPLE_EVERY_S, SAMPLES_S = 4.0, 90.0
MOST_SUGGESTED = 20
Sample = tuple[float, Mapping[str, int]]  # time in seconds, and the sum of the next offsets of each topic


@dataclass(frozen=True, slots=True)
class TopicIndexProgress:
    """The index's progress in a topic, in offsets: `read` of the `of` that the topic still holds.

    `behind` is the number of offsets before the end. `rate` is in offsets per second over about the
    last minute. It is None until two samples exist.
    """

    topic: str
    partitions: int
    read: int
    of: int
    behind: int
    seconds: float
    rate: float | None = None
    is_read: bool = True  # whether an indexer has read the topic at all

    @property
    def eta_s(self) -> float | None:
        """Return the seconds until the topic's current end; None if unknown."""
        if not self.is_read:
            return None
        if not self.behind:
            return 0.0
        return self.behind / self.rate if self.rate else None


def progress(lag: IndexLag, broker: KafkaAvailability, followed: FollowedTopics) -> list[TopicIndexProgress]:
    """Return the progress of every topic in reach that the index has read or follows, by name."""
    begins: Mapping[tuple[str, int], int] = {}
    if broker.reachable:
        with suppress(BrokerUnavailable):
            begins = retention.first_offsets([(row.topic, row.partition) for row in lag.partitions])
    by_topic: dict[str, list[PartitionLag]] = {}
    for row in lag.partitions:
        by_topic.setdefault(row.topic, []).append(row)
    rates = _rates({topic: sum(row.position for row in rows) for topic, rows in by_topic.items()})
    found = [_progress(topic, rows, begins, rates.get(topic)) for topic, rows in by_topic.items()]
    unread = [topic for topic in _in_reach(broker) if topic not in by_topic and followed.follows(topic)]
    return sorted(
        [*found, *(TopicIndexProgress(name, broker.topics[name], 0, 0, 0, 0.0, is_read=False) for name in unread)],
        key=lambda row: row.topic,
    )


def unfollowed_topics(broker: KafkaAvailability, followed: FollowedTopics) -> list[str]:
    """Return topics in reach that are named like dead letter topics, and that no setting or rule is about."""
    return candidates(_in_reach(broker), followed)[:MOST_SUGGESTED]


def rates(samples: Iterable[Sample], now: Sample) -> dict[str, float]:
    """Return offsets per second since the first sample.

    A topic that moved backwards, or that the first sample lacks, has no rate.
    """
    first = next(iter(samples), None)
    if first is None or now[0] - first[0] < SAMPLE_EVERY_S:
        return {}
    passed = now[0] - first[0]
    return {
        topic: (position - first[1][topic]) / passed
        for topic, position in now[1].items()
        if topic in first[1] and position >= first[1][topic]
    }


def _progress(
    topic: str, rows: list[PartitionLag], begins: Mapping[tuple[str, int], int], rate: float | None
) -> TopicIndexProgress:
    starts = {row.partition: min(begins.get((topic, row.partition), 0), row.end) for row in rows}
    return TopicIndexProgress(
        topic,
        len(rows),
        read=sum(max(0, row.position - starts[row.partition]) for row in rows),
        of=sum(row.end - starts[row.partition] for row in rows),
        behind=sum(row.records for row in rows),
        seconds=max(row.seconds for row in rows),
        rate=rate,
    )


def _in_reach(broker: KafkaAvailability) -> list[str]:
    reach = current_reach()
    return [topic for topic in broker.topics if reach.has_topic(topic, clusters.current())]


def _rates(positions: Mapping[str, int]) -> dict[str, float]:
    """Return rates from the samples that all processes share; empty if the cache is down.

    Each reach has its own samples, because a topic that the first sample lacks has no rate.
    """
    of_teams = "".join(f":{team}" for team in sorted(current_reach().teams or ()))
    key, now = f"clusters:{clusters.current()}:positions{of_teams}", (time.time(), positions)
    try:
        kept = [one for one in _samples(caches["shared"].get(key)) if now[0] - one[0] <= SAMPLES_S]
        if not kept or now[0] - kept[-1][0] >= SAMPLE_EVERY_S:
            caches["shared"].set(key, [*kept, now], SAMPLES_S)
    except (RedisError, OSError):
        return {}
    return rates(kept, now)


def _samples(value: object) -> list[Sample]:
    """Return the cached samples; an invalid cache entry counts as none."""
    try:
        return [*msgspec.convert(value, list[tuple[float, dict[str, int]]])]
    except msgspec.ValidationError:
        return []
