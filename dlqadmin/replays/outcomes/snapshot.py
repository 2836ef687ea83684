"""One snapshot of Kafka, the engine and the index, with few requests in a fixed order.

The order makes the answers consistent: committed offsets, then the reports to their end, then the ends of dead letter
topics, then the index. So the reports and dead letters that a commit implies lie before the ends that are read. A Spark
query commits its dead letters with its reports, so the same holds for its reports.

If a part of Kafka does not respond, only the items that need it wait.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime

import msgspec
from django.conf import settings

from dlqadmin.broker import clusters
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.metrics.topic_positions import Read
from dlqadmin.replays.models import ItemState
from dlqadmin.replays.outcomes import engine_reports, foreign_groups, index_progress
from dlqadmin.replays.outcomes.foreign_groups import Foreign
from dlqadmin.replays.outcomes.index_progress import DeadLetterTopicProgress
from dlqadmin.replays.outcomes.kafka_queries import ClusterQueries, Offsets, Partition
from dlqadmin.replays.outcomes.target_readers import Reader, Readers
from dlqadmin.replays.outcomes.waiting_partitions import Spot
from dlqadmin.replays.outcomes.waiting_partitions import foreign as group_of

log = logging.getLogger(__name__)


class Seen(msgspec.Struct, frozen=True):
    """One snapshot of Kafka, the engine and the index, for each (reader, partition) in `asked`.

    `away` maps each (reader, target) with missing answers to a clause that names the part that did not respond.
    """

    now: datetime
    readers: Mapping[str, Reader] = {}
    foreign: Mapping[tuple[str, str], Foreign] = {}
    committed: Mapping[tuple[str, str, int], int] = {}
    reported: bool = False
    ends: Offsets = {}
    begins: Offsets = {}
    topic_ids: Mapping[str, str] = {}
    reach: Mapping[str, DeadLetterTopicProgress] = {}
    away: Mapping[tuple[str, str], str] = {}
    asked: frozenset[tuple[str, str, int]] = frozenset()

    def knows(self, watched: str, place: Partition) -> bool:
        """Return whether everything about this reader and partition is known."""
        return (watched, *place) in self.asked and (watched, place[0]) not in self.away

    def past(self, watched: str, place: Partition) -> int:
        """Return the reader's committed offset, 0 if there is none."""
        return self.committed.get((watched, *place), 0)

    def is_query(self, watched: str) -> bool:
        """Return whether this reader is a Spark query."""
        reader = self.readers.get(watched)
        return reader is not None and reader.is_query

    def followed(self, watched: str, topic: str) -> tuple[str, ...]:
        """Return the followed dead letter topics of this reader."""
        if group := self.foreign.get((watched, topic)):
            return group.followed
        reader = self.readers.get(watched)
        return (reader.followed,) if reader and reader.followed else ()


def look(
    spots: Sequence[Spot],
    known: Readers,
    now: datetime,
    cluster: ClusterQueries,
    unanswered: Mapping[object, str],
    wait: Callable[[float], None] = time.sleep,
) -> Seen:
    """Take a snapshot for the items of these spots.

    If Kafka does not respond at all, only the first request is made. `unanswered` contains what did not respond before.
    """
    places: dict[tuple[str, str], set[Partition]] = {}  # partitions by reader and target
    for spot in spots:
        places.setdefault((spot.watched, spot.topic), set()).update({spot.place} if spot.partition >= 0 else ())
    asked = frozenset((spot.watched, *spot.place) for spot in spots)
    silent = dict(unanswered)  # what did not respond → a clause that says so
    with delayed("Kafka", silent):
        cluster.all_topics()
    if "Kafka" in silent:
        return Seen(now, away=dict.fromkeys(places, silent["Kafka"]), asked=asked)
    readers = {name: known.named(name) for name, _ in places if name and not group_of(name)}
    groups, committed = _committed(places, readers, known.groups, now, cluster, silent)
    reported = False
    if clusters.current() == settings.CLUSTER:  # the engine reports there only
        with delayed(settings.OUTCOME_TOPIC, silent):
            reported = engine_reports.collect(_whole(cluster), cluster.partitions) is not None
    committed |= _reported(places, readers)
    dead = {reader.followed for reader in readers.values() if reader.followed}
    dead |= {path for group in groups.values() for path in group.followed}
    counts: dict[str, int] = {}
    for topic in sorted(dead):
        with delayed(topic, silent):
            counts[topic] = cluster.partitions(topic) or 0
    # Read before the ends: a position beyond the end then belongs to a former topic of this name.
    before = index_progress.positions(counts)
    wanted_of = {topic: {(topic, number) for number in range(count)} for topic, count in counts.items()}
    for (_, target), wanted in places.items():
        wanted_of[target] = wanted_of.get(target, set()) | wanted
    ends: dict[Partition, int] = {}
    begins: dict[Partition, int] = {}
    for topic, wanted in wanted_of.items():
        with delayed(topic, silent):
            last, first = cluster.ends(sorted(wanted)), cluster.begins(sorted(wanted))
            ends, begins = ends | last, begins | first
    answered = {topic: count for topic, count in counts.items() if topic not in silent}
    # Waiting for the index helps only if a reader has committed past waiting items.
    passed = any(
        spot.state == ItemState.SENT and committed.get((spot.watched, *spot.place), 0) > spot.first for spot in spots
    )
    seen = Seen(
        now=now,
        readers=readers,
        foreign=groups,
        committed=committed,
        reported=reported,
        ends=ends,
        begins=begins,
        topic_ids=_topic_ids({target for _, target in places}, cluster, silent),
        reach=index_progress.reach(answered, ends, begins, before, now, wait if passed else None),
        asked=asked,
    )
    away = {place: why for place in places if (why := _silence(place, seen, silent))}
    return msgspec.structs.replace(seen, away=away)


@contextmanager
def delayed(what: object, silent: dict[object, str]) -> Iterator[None]:
    """Catch BrokerUnavailable and store in `silent` that `what` did not respond."""
    try:
        yield
    except BrokerUnavailable as error:
        log.warning("outcomes are waiting for %s: %s", what, error)
        silent[what] = f"{_named(what)} could not be read: {error}"


def _committed(
    places: Mapping[tuple[str, str], set[Partition]],
    readers: Mapping[str, Reader],
    engine: Collection[str],
    now: datetime,
    cluster: ClusterQueries,
    silent: dict[object, str],
) -> tuple[dict[tuple[str, str], Foreign], dict[tuple[str, str, int], int]]:
    """Return the state of the foreign groups, and the committed offsets of all readers."""
    targets = sorted({target for name, target in places if group_of(name)})
    committed: dict[tuple[str, str, int], int] = {}
    groups: dict[tuple[str, str], Foreign] = {}
    for (name, target), wanted in places.items():
        with delayed((name, target), silent):
            if name in readers and readers[name].is_query:
                continue  # see _reported
            if name in readers:
                offsets: Offsets = cluster.committed(readers[name].group, sorted(wanted))
            elif group := group_of(name):
                groups[name, target] = foreign_groups.look(group, target, now, cluster, engine, targets)
                offsets = groups[name, target].group.committed
            else:
                continue
            committed |= {(name, *place): offset for place, offset in offsets.items()}
    return groups, committed


def _reported(
    places: Mapping[tuple[str, str], set[Partition]], readers: Mapping[str, Reader]
) -> dict[tuple[str, str, int], int]:
    """Return the offset after the last record that each Spark query reported, instead of a committed offset.

    A query may report the records of a partition in another order, so earlier ones need not be reported yet.
    """
    found: dict[tuple[str, str, int], int] = {}
    for (name, _), wanted in places.items():
        if name in readers and readers[name].is_query:
            last = {place: engine_reports.last_offset(name, *place) for place in wanted}
            found |= {(name, *place): offset + 1 for place, offset in last.items() if offset is not None}
    return found


def _topic_ids(targets: Iterable[str], cluster: ClusterQueries, silent: dict[object, str]) -> dict[str, str]:
    """Return the ids of topics. Each has its own request, so that one denied topic does not hide the others."""
    found: dict[str, str] = {}
    for target in sorted(targets):
        with delayed(target, silent):
            found |= cluster.topic_ids([target])
    return found


def _silence(place: tuple[str, str], seen: Seen, silent: Mapping[object, str]) -> str:
    """Return the needed part of Kafka that did not respond, "" if all did."""
    name, target = place
    needed = [place, target, *seen.followed(name, target), *([settings.OUTCOME_TOPIC] if name in seen.readers else ())]
    return next((silent[what] for what in needed if what in silent), "")


def _named(what: object) -> str:
    """Name what was asked about: a reader on its target, a topic or a partition."""
    if not isinstance(what, tuple):
        return str(what)
    name, where = what
    return f"{name} / {where}" if isinstance(where, int) else f"{group_of(name) or name} on {where}"


def _whole(cluster: ClusterQueries) -> Read:
    return lambda topic, partition, start: cluster.read_to_end(topic, partition, start, whole=True)
