"""Gathering what is known of sent items, in few calls and in the one order that makes the answers true.

Committed offsets first, then the engine's reports to their end, then the ends of dead letter topics, then the
index. So what a commit seals is looked for only in what was written before it. A part of Kafka that does not
answer delays the items that need it, and no others.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from typing import Protocol

import msgspec
from django.db.models import Max, prefetch_related_objects

from dlqadmin.broker import topics
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.metrics.positions import Read
from dlqadmin.replays.models import ItemState, OutcomeReport, ReplayItem
from dlqadmin.replays.outcome import indexed, reports
from dlqadmin.replays.outcome.indexed import Reach
from dlqadmin.replays.outcome.letters import Letters, find
from dlqadmin.replays.outcome.outcomes import INDEX_MAY_TAKE, Group, ItemFacts
from dlqadmin.replays.outcome.readers import Reader, look
from dlqadmin.replays.parts import parts
from dlqadmin.replays.reasons import Reason
from engine.record.record import RawRecord

MOST_READ = 20_000
READ_S = 10.0  # for the records of one partition

log = logging.getLogger(__name__)

Partition = tuple[str, int]
Offsets = Mapping[Partition, int]


class Cluster(Protocol):
    """What is asked of Kafka; `dlqadmin.broker.topics` answers. All raise BrokerUnavailable."""

    def partitions(self, topic: str) -> int | None: ...
    def ends(self, wanted: Sequence[Partition]) -> dict[Partition, int]: ...
    def begins(self, wanted: Sequence[Partition]) -> dict[Partition, int]: ...
    def committed(self, group: str, wanted: Sequence[Partition]) -> dict[Partition, int]: ...
    def topic_ids(self, names: Sequence[str]) -> dict[str, str]: ...
    def read_to_end(
        self, topic: str, partition: int, start: int, timeout_s: float = 30.0, *, whole: bool = False
    ) -> Iterator[RawRecord]: ...


class Seen(msgspec.Struct, frozen=True):
    """What one look saw of Kafka, the engine and the index; `away` are each (connector, target) it could not ask."""

    now: datetime
    readers: Mapping[str, Reader]
    committed: Mapping[tuple[str, str, int], int]
    reported: bool
    ends: Offsets
    begins: Offsets
    topic_ids: Mapping[str, str]
    reach: Mapping[str, Reach]
    away: frozenset[tuple[str, str]]


def gather(
    items: Sequence[ReplayItem],
    now: datetime,
    cluster: Cluster = topics,
    wait: Callable[[float], None] = time.sleep,
) -> dict[int, ItemFacts]:
    """The facts of each item, by its id; an item of which not all could be asked is left out.

    Needs `replay`. Raises BrokerUnavailable when nothing can be asked.
    """
    if not items:
        return {}
    seen = _look(items, now, cluster, wait)
    items = [item for item in items if _asked(item) not in seen.away]
    past = [item for item in items if _is_past(item, seen)]
    prefetch_related_objects(past, "dead_letter")
    said, letters = _reports(past), find(past, list(seen.reach))
    silent = [item for item in past if item.pk not in said and not letters.of(item)]
    missing, unread = _missing(silent, seen, cluster)
    reporting = _reporting(silent)
    return {
        item.pk: msgspec.structs.replace(
            _facts(item, seen, letters),
            report=said.get(item.pk),
            readable=item.pk not in missing,
            reporting=item.pk in reporting,
        )
        for item in items
        if item.pk not in unread
    }


def recreated(item: ReplayItem, topic_ids: Mapping[str, str]) -> bool:
    """Is the target another topic than the one it was sent to, or gone? Needs `replay`."""
    then = item.replay.topic_ids.get(item.target_topic)
    return bool(then) and topic_ids.get(item.target_topic) != then


def _look(items: Sequence[ReplayItem], now: datetime, cluster: Cluster, wait: Callable[[float], None]) -> Seen:
    found = look()
    readers = {name: found.named(name) for name in sorted({item.watched for item in items if item.watched})}
    places: dict[tuple[str, str], set[Partition]] = {}  # of each connector and target
    for item in items:
        places.setdefault(_asked(item), set()).update({_place(item)} if item.sent_partition is not None else ())
    silent: set[object] = set()  # what did not answer
    committed: dict[tuple[str, str, int], int] = {}
    for (name, target), wanted in places.items():
        with _delayed((name, target), silent):
            offsets = cluster.committed(readers[name].group, sorted(wanted)) if name else {}
            committed |= {(name, *place): offset for place, offset in offsets.items()}
    reported = reports.collect(_whole(cluster), cluster.partitions) is not None
    dead = sorted({reader.followed for reader in readers.values() if reader.followed})
    counts = {topic: cluster.partitions(topic) or 0 for topic in dead}
    before = indexed.positions(counts)
    wanted_of = {topic: {(topic, number) for number in range(count)} for topic, count in counts.items()}
    for (_, target), wanted in places.items():
        wanted_of[target] = wanted_of.get(target, set()) | wanted
    ends: dict[Partition, int] = {}
    begins: dict[Partition, int] = {}
    for topic, wanted in wanted_of.items():
        with _delayed(topic, silent):
            last, first = cluster.ends(sorted(wanted)), cluster.begins(sorted(wanted))
            ends, begins = ends | last, begins | first
    answered = {topic: count for topic, count in counts.items() if topic not in silent}
    passed = any(
        item.state == ItemState.SENT and committed.get((item.watched, *_place(item)), 0) > (item.sent_offset or 0)
        for item in items
    )
    return Seen(
        now=now,
        readers=readers,
        committed=committed,
        reported=reported,
        ends=ends,
        begins=begins,
        topic_ids=cluster.topic_ids(sorted({target for _, target in places})),
        reach=indexed.reach(answered, ends, begins, before, now, wait if passed else None),
        away=frozenset(
            (name, target)
            for name, target in places
            if {(name, target), target, readers[name].followed if name else ""} & silent
        ),
    )


@contextmanager
def _delayed(what: object, silent: set[object]) -> Iterator[None]:
    """Without an answer, what was asked is noted as silent."""
    try:
        yield
    except BrokerUnavailable as error:
        log.warning("outcomes wait for %s: %s", what, error)
        silent.add(what)


def _facts(item: ReplayItem, seen: Seen, letters: Letters) -> ItemFacts:
    found = letters.of(item)
    return ItemFacts(
        sent_at=item.sent_at or item.state_at,
        offset=item.sent_offset,
        group=_group(item, seen),
        recreated=recreated(item, seen.topic_ids),
        begin=seen.begins.get(_place(item), 0),
        reports=seen.reported,
        exact=found.exact,
        placed=found.placed,
        attributed=found.attributed,
        downstream=found.downstream,
        possible=found.possible,
        indexing_since=_indexing_since(item),
    )


def _group(item: ReplayItem, seen: Seen) -> Group | None:
    reader, where = seen.readers.get(item.watched), _place(item)
    if reader is None:
        return None
    committed = seen.committed.get((item.watched, *where))
    reach = seen.reach.get(reader.followed, Reach())
    waits = item.reason in (Reason.INDEXING, Reason.INDEX_STOPPED)
    return Group(
        name=item.watched,
        stopped=reader.stopped(*where),
        parked=reader.parked(*where, seen.now),
        committed=committed,
        lag=max(0, seen.ends.get(where, 0) - (seen.begins.get(where, 0) if committed is None else committed)),
        dead_letters=reader.dead_letters,
        unseen=reader.unseen,
        behind=reach.behind_of(item.state_at if waits else None),
        index_at=reach.moved_at,
    )


def _indexing_since(item: ReplayItem) -> datetime | None:
    """Since when the index is waited for; one that was given up has been waited for long enough."""
    if item.state == ItemState.UNKNOWN and item.reason == Reason.INDEX_STOPPED:
        return item.state_at - INDEX_MAY_TAKE
    return item.state_at if item.state == ItemState.SENT and item.reason == Reason.INDEXING else None


def _reports(past: Sequence[ReplayItem]) -> dict[int, str]:
    """What the watched connector reported of each item, at exactly its place."""
    by_token = {item.token: item for item in past}
    found: dict[int, str] = {}
    for part in parts(list(by_token)):
        for row in OutcomeReport.objects.filter(token__in=part):
            item = by_token[row.token]
            place = (row.connector, row.topic, row.partition, row.offset)
            if place == (item.watched, item.target_topic, item.sent_partition, item.sent_offset):
                found[item.pk] = row.outcome
    return found


def _missing(silent: Sequence[ReplayItem], seen: Seen, cluster: Cluster) -> tuple[set[int], set[int]]:
    """Of items that were committed past without a word: those whose record is gone, and those not looked at yet."""
    missing = {item.pk for item in silent if item.reason == Reason.EXPIRED_OR_COMPACTED}
    wanted: dict[Partition, list[ReplayItem]] = {}
    for item in silent:
        if item.state == ItemState.SENT and (item.sent_offset or 0) >= seen.begins.get(_place(item), 0):
            wanted.setdefault(_place(item), []).append(item)
    unread: set[int] = set()
    for place, rows in wanted.items():
        there, reached = _there(place, [row.sent_offset or 0 for row in rows], cluster)
        unread |= {row.pk for row in rows if (row.sent_offset or 0) > reached}
        missing |= {row.pk for row in rows if row.sent_offset not in there} - unread
    return missing, unread


def _there(place: Partition, offsets: Sequence[int], cluster: Cluster) -> tuple[set[int], int]:
    """The offsets of the partition's records between these, and up to which that is known."""
    first, last = min(offsets), max(offsets)
    there: set[int] = set()
    silent: set[object] = set()
    with _delayed(place, silent):
        for record in islice(cluster.read_to_end(*place, first, READ_S, whole=True), MOST_READ):
            there.add(record.offset)
            if record.offset >= last:
                break
    stopped = silent or len(there) == MOST_READ
    return there, max(there, default=first - 1) if stopped else last


def _reporting(silent: Sequence[ReplayItem]) -> set[int]:
    """Those from whose reader and partition other reports came since they were sent."""
    found: set[int] = set()
    wanted: dict[tuple[str, Partition], list[ReplayItem]] = {}
    for item in silent:
        wanted.setdefault((item.watched, _place(item)), []).append(item)
    for (name, (topic, partition)), rows in wanted.items():
        same = OutcomeReport.objects.filter(connector=name, topic=topic, partition=partition)
        last = same.aggregate(last=Max("at"))["last"]
        found |= {row.pk for row in rows if last and last >= (row.sent_at or row.state_at)}
    return found


def _is_past(item: ReplayItem, seen: Seen) -> bool:
    """Is it decided by reports and dead letters, not by waiting?"""
    if item.sent_offset is None:
        return True
    return seen.committed.get((item.watched, *_place(item)), 0) > item.sent_offset


def _asked(item: ReplayItem) -> tuple[str, str]:
    return (item.watched, item.target_topic)


def _place(item: ReplayItem) -> Partition:
    return (item.target_topic, -1 if item.sent_partition is None else item.sent_partition)


def _whole(cluster: Cluster) -> Read:
    return lambda topic, partition, start: cluster.read_to_end(topic, partition, start, whole=True)
