"""Gathering what is known of sent items, in few calls and in the one order that makes the answers true.

Committed offsets first, then the engine's reports to their end, then the ends of dead letter topics, then the
index. So what a commit seals is looked for only in what was written before it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Protocol

import msgspec
from django.db.models import prefetch_related_objects

from dlqadmin.broker import topics
from dlqadmin.deadletters.following import follows
from dlqadmin.metrics.positions import Read
from dlqadmin.replays import reports
from dlqadmin.replays.letters import Letters, find, parts
from dlqadmin.replays.models import ItemState, OutcomeReport, ReplayItem
from dlqadmin.replays.outcomes import INDEX_MAY_TAKE, Group, ItemFacts, Reason
from dlqadmin.replays.readers import Reader, behind, readers
from engine.record.record import RawRecord

LOOKS, LOOK_S = 10, 0.1  # at an index that is about to catch up
MOST_READ = 20_000

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
    """What one look at Kafka, the engine and the index saw."""

    now: datetime
    readers: Mapping[str, Reader]
    committed: Mapping[tuple[str, str, int], int]
    reported: bool
    ends: Offsets
    begins: Offsets
    topic_ids: Mapping[str, str]
    behind: Mapping[str, int]


def gather(
    items: Sequence[ReplayItem],
    now: datetime,
    cluster: Cluster = topics,
    wait: Callable[[float], None] = time.sleep,
) -> dict[int, ItemFacts]:
    """The facts of each item, by its id; an item whose place could not be read yet is left out.

    Needs `replay`. Raises BrokerUnavailable.
    """
    if not items:
        return {}
    seen = _look(items, now, cluster, wait)
    past = [item for item in items if _is_past(item, seen)]
    prefetch_related_objects(past, "dead_letter")
    said, letters = _reports(past), find(past, [name for name in seen.behind if name])
    silent = [item for item in past if item.pk not in said and not letters.of(item)]
    missing, unread = _missing(silent, seen, cluster)
    return {
        item.pk: _facts(item, seen, said.get(item.pk), letters, readable=item.pk not in missing)
        for item in items
        if item.pk not in unread
    }


def _look(items: Sequence[ReplayItem], now: datetime, cluster: Cluster, wait: Callable[[float], None]) -> Seen:
    known = readers({item.watched for item in items if item.watched})
    places = sorted({(item.target_topic, item.sent_partition) for item in items if item.sent_partition is not None})
    committed = {
        (name, *place): offset
        for name in known
        for place, offset in cluster.committed(f"connect-{name}", _watched(items, name)).items()
    }
    reported = reports.collect(_whole(cluster), cluster.partitions) is not None
    dead = {reader.dead_letters for reader in known.values() if reader.dead_letters and not reader.elsewhere}
    indexed = {name: cluster.partitions(name) or 0 for name in sorted(dead) if follows(name)}
    letters = [(name, number) for name, count in indexed.items() for number in range(count)]
    ends, begins = cluster.ends([*places, *letters]), cluster.begins([*places, *letters])
    passed = any(
        item.state == ItemState.SENT and committed.get((item.watched, *_place(item)), 0) > (item.sent_offset or 0)
        for item in items
    )
    return Seen(
        now=now,
        readers=known,
        committed=committed,
        reported=reported,
        ends=ends,
        begins=begins,
        topic_ids=cluster.topic_ids(sorted({item.target_topic for item in items})),
        behind=_behind(indexed, ends, begins, wait if passed else None),
    )


def _behind(
    indexed: Mapping[str, int], ends: Offsets, begins: Offsets, wait: Callable[[float], None] | None
) -> dict[str, int]:
    """What the index has not read of each topic, up to these ends; waits a moment for what is under way."""
    found = behind(indexed, ends, begins)
    for _ in range(LOOKS if wait else 0):
        if wait is None or not any(found.values()):
            break
        wait(LOOK_S)
        found = behind(indexed, ends, begins)
    return found


def _facts(item: ReplayItem, seen: Seen, report: str | None, letters: Letters, *, readable: bool) -> ItemFacts:
    where, found = _place(item), letters.of(item)
    then, ids = item.replay.topic_ids.get(item.target_topic), seen.topic_ids
    return ItemFacts(
        sent_at=item.sent_at or item.state_at,
        offset=item.sent_offset,
        group=_group(item, seen),
        recreated=bool(then) and ids.get(item.target_topic) != then,
        begin=seen.begins.get(where, 0),
        readable=readable,
        reports=seen.reported,
        report=report,
        exact=found.exact,
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
    return Group(
        name=item.watched,
        stopped=reader.stopped(*where),
        parked=reader.parked(*where, seen.now),
        committed=committed,
        lag=max(0, seen.ends.get(where, 0) - (seen.begins.get(where, 0) if committed is None else committed)),
        dead_letters=reader.dead_letters,
        behind=seen.behind.get(reader.dead_letters) if reader.dead_letters else 0,
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
        first, last = min(row.sent_offset or 0 for row in rows), max(row.sent_offset or 0 for row in rows)
        there, reached = set(), last
        for number, record in enumerate(islice(cluster.read_to_end(*place, first, whole=True), MOST_READ), 1):
            there.add(record.offset)
            if record.offset >= last or number == MOST_READ:
                reached = record.offset
                break
        unread |= {row.pk for row in rows if (row.sent_offset or 0) > reached}
        missing |= {row.pk for row in rows if row.sent_offset not in there} - unread
    return missing, unread


def _is_past(item: ReplayItem, seen: Seen) -> bool:
    """Is it decided by reports and dead letters, not by waiting?"""
    if item.sent_offset is None:
        return True
    return seen.committed.get((item.watched, *_place(item)), 0) > item.sent_offset


def _watched(items: Iterable[ReplayItem], name: str) -> list[Partition]:
    return sorted({_place(item) for item in items if item.watched == name and item.sent_partition is not None})


def _place(item: ReplayItem) -> Partition:
    return (item.target_topic, -1 if item.sent_partition is None else item.sent_partition)


def _whole(cluster: Cluster) -> Read:
    return lambda topic, partition, start: cluster.read_to_end(topic, partition, start, whole=True)
