"""Collection of the facts about sent items, from a snapshot and from the data of each item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import islice

import msgspec
from django.db.models import Max, QuerySet, prefetch_related_objects

from dlqadmin.replays.batches import parts
from dlqadmin.replays.items.watched_clusters import watches
from dlqadmin.replays.models import ItemState, OutcomeReport, ReplayItem
from dlqadmin.replays.outcomes.dead_letter_matches import Found, find
from dlqadmin.replays.outcomes.decision import INDEX_MAY_TAKE, WATCHED_FOR
from dlqadmin.replays.outcomes.evidence import ItemFacts, ReaderState
from dlqadmin.replays.outcomes.index_progress import DeadLetterTopicProgress
from dlqadmin.replays.outcomes.kafka_queries import ClusterQueries, Partition
from dlqadmin.replays.outcomes.snapshot import Seen, delayed
from dlqadmin.replays.outcomes.waiting_partitions import foreign as group_of
from dlqadmin.replays.reasons import Reason

MOST_READ = 20_000
READ_S = 10.0  # for the records of one partition
# Reasons of an item of a foreign group once a member is known to have committed past it.
ESTABLISHED = (
    Reason.INDEXING,
    Reason.IN_RETRY,
    Reason.SETTLING,
    Reason.INDEX_STOPPED,
    Reason.RETRY_TOPICS_UNWATCHED,
    Reason.NO_DEAD_LETTER_PATH,
    Reason.POSSIBLE_MATCH,
)


def gather(items: Sequence[ReplayItem], seen: Seen, cluster: ClusterQueries) -> dict[int, ItemFacts]:
    """Return the facts of each item, by the item's id. `replay` must be loaded.

    An item is left out if not all of its facts could be asked for, unless it has been watched for too long.
    """
    known = [item for item in items if seen.knows(item.watched, _place(item))]
    past = [item for item in known if _is_past(item, seen)]
    for part in parts(past):  # Django asks for each item in an OR clause of its own. SQLite takes a thousand of them.
        prefetch_related_objects(part, "dead_letter")
    said, letters = _reports(past), find(past, list(seen.reach))
    # Only items without other evidence need a look at their records in Kafka. A query's report is all its evidence.
    silent = [
        item
        for item in past
        if item.pk not in said and not letters.of(item) and not _established(item) and not seen.is_query(item.watched)
    ]
    missing, unread = _missing(silent, seen, cluster)
    reporting = _reporting([item for item in silent if not group_of(item.watched)])
    told = {
        item.pk: msgspec.structs.replace(
            facts_of(item, seen, letters.of(item)),
            report=said.get(item.pk),
            readable=item.pk not in missing,
            reporting=item.pk in reporting,
        )
        for item in known
        if item.pk not in unread
    }
    return told | _given_up(items, unread, seen)


def recreated(item: ReplayItem, topic_ids: Mapping[str, str]) -> bool:
    """Return whether the target topic was deleted or recreated since the item was sent.

    `replay` must be loaded.
    """
    then = item.replay.topic_ids.get(item.target_topic)
    return bool(then) and topic_ids.get(item.target_topic) != then


def facts_of(item: ReplayItem, seen: Seen, found: Found) -> ItemFacts:
    """Return all facts about an item except its report and its record. `replay` must be loaded."""
    return ItemFacts(
        sent_at=item.sent_at or item.state_at,
        offset=item.sent_offset,
        group=_observed(item, seen) if group_of(item.watched) else _group(item, seen),
        recreated=recreated(item, seen.topic_ids),
        begin=seen.begins.get(_place(item), 0),
        reports=seen.reported,
        exact=found.exact,
        placed=found.placed,
        attributed=found.attributed,
        downstream=found.downstream,
        possible=found.possible,
        indexing_since=_indexing_since(item, seen),
        settling_since=item.state_at if item.state == ItemState.SENT and item.reason == Reason.SETTLING else None,
        established=_established(item),
        elsewhere="" if watches(item.replay.target_cluster) else item.replay.target_cluster,
    )


def _given_up(items: Sequence[ReplayItem], unread: Mapping[int, str], seen: Seen) -> dict[int, ItemFacts]:
    """Return the facts of items that waited too long for a part of Kafka that does not respond."""
    found: dict[int, ItemFacts] = {}
    for item in items:
        sent_at = item.sent_at or item.state_at
        silent = unread.get(item.pk) or seen.away.get((item.watched, item.target_topic), "")
        if silent and item.state == ItemState.SENT and seen.now - sent_at > WATCHED_FOR:
            found[item.pk] = ItemFacts(sent_at, item.sent_offset, silent=silent)
    return found


def _group(item: ReplayItem, seen: Seen) -> ReaderState | None:
    reader, where = seen.readers.get(item.watched), _place(item)
    if reader is None:
        return None
    reach = seen.reach.get(reader.followed, DeadLetterTopicProgress())
    waits = item.reason in (Reason.INDEXING, Reason.INDEX_STOPPED)
    return ReaderState(
        name=item.watched,
        stopped=reader.stopped(*where),
        parked=reader.parked(*where, seen.now),
        committed=seen.committed.get((item.watched, *where)),
        lag=_lag(item, seen),
        dead_letters=reader.dead_letters,
        unseen=reader.unseen,
        behind=reach.behind_of(item.state_at if waits else None),
        index_at=reach.moved_at,
        is_query=reader.is_query,
    )


def _observed(item: ReplayItem, seen: Seen) -> ReaderState | None:
    where = _place(item)
    known = seen.foreign.get((item.watched, where[0]))
    if known is None:
        return None
    reaches = [seen.reach.get(path, DeadLetterTopicProgress()) for path in known.followed]
    late = [reach for reach in reaches if reach.behind]
    heard = [reach.moved_at for reach in late if reach.moved_at]
    since = item.state_at if item.reason in (Reason.INDEXING, Reason.INDEX_STOPPED) else None
    if item.reason == Reason.SETTLING:
        since = _settled_at(item, seen)
    return ReaderState(
        name=known.group.name,
        committed=known.group.committed.get(where),
        lag=_lag(item, seen),
        dead_letters=", ".join(known.paths),
        unseen=known.unseen,
        behind=sum(reach.behind_of(since) for reach in reaches),
        index_at=min(heard) if late and len(heard) == len(late) else None,
        observed=known.observed(where[1], where),
    )


def _lag(item: ReplayItem, seen: Seen) -> int:
    where = _place(item)
    committed = seen.committed.get((item.watched, *where), seen.begins.get(where, 0))
    return max(0, seen.ends.get(where, 0) - committed)


def _established(item: ReplayItem) -> bool:
    return bool(group_of(item.watched)) and item.reason in ESTABLISHED


def _indexing_since(item: ReplayItem, seen: Seen) -> datetime | None:
    """Return when the wait for the index began, or None if the item does not wait for it.

    An item that was given up has waited for the full limit.
    """
    if item.state == ItemState.UNKNOWN and item.reason == Reason.INDEX_STOPPED:
        return item.state_at - INDEX_MAY_TAKE
    if item.state != ItemState.SENT:
        return None
    if item.reason == Reason.SETTLING:
        return _settled_at(item, seen)
    return item.state_at if item.reason == Reason.INDEXING else None


def _settled_at(item: ReplayItem, seen: Seen) -> datetime | None:
    """Return when the settle time ends. The index must read all records written until then."""
    known = seen.foreign.get((item.watched, item.target_topic))
    return item.state_at + known.settle if known else None


def _reports(past: Sequence[ReplayItem]) -> dict[int, str]:
    """Return the watched connector's report on each item, at exactly the item's coordinates."""
    by_token = {item.token: item for item in past}
    found: dict[int, str] = {}
    for part in parts(list(by_token)):
        for row in reports_of([by_token[token] for token in part]):
            item = by_token[row.token]
            place = (row.connector, row.topic, row.partition, row.offset)
            if place == (item.watched, item.target_topic, item.sent_partition, item.sent_offset):
                found[item.pk] = row.outcome
    return found


def reports_of(items: Sequence[ReplayItem]) -> QuerySet[OutcomeReport]:
    """Return the reports on these items by their own readers in their targets.

    Reports on copies of the records, by other readers or in other topics, are left out.
    """
    return OutcomeReport.objects.filter(
        token__in=[item.token for item in items],
        connector__in={item.watched for item in items},
        topic__in={item.target_topic for item in items},
    )


def _missing(silent: Sequence[ReplayItem], seen: Seen, cluster: ClusterQueries) -> tuple[set[int], dict[int, str]]:
    """Check the records of items that were committed past without a report.

    Return the ids of items whose record is gone, and those not checked yet. The latter map to the part of Kafka that
    did not respond, "" if only their turn has not come.
    """
    missing = {item.pk for item in silent if item.reason == Reason.EXPIRED_OR_COMPACTED}
    wanted: dict[Partition, list[ReplayItem]] = {}
    for item in silent:
        # A record before the partition's begin is gone; `ItemFacts.begin` tells that.
        if item.state == ItemState.SENT and (item.sent_offset or 0) >= seen.begins.get(_place(item), 0):
            wanted.setdefault(_place(item), []).append(item)
    unread: dict[int, str] = {}
    for place, rows in wanted.items():
        there, reached, why = _there(place, [row.sent_offset or 0 for row in rows], cluster)
        unread |= {row.pk: why for row in rows if (row.sent_offset or 0) > reached}
        missing |= {row.pk for row in rows if row.sent_offset not in there} - unread.keys()
    return missing, unread


def _there(place: Partition, offsets: Sequence[int], cluster: ClusterQueries) -> tuple[set[int], int, str]:
    """Read the offsets that the partition still has in the range of `offsets`.

    Return these offsets, the offset up to which the result is complete, and the part of Kafka that did not respond.
    """
    first, last = min(offsets), max(offsets)
    there: set[int] = set()
    silent: dict[object, str] = {}
    with delayed(place, silent):
        for record in islice(cluster.read_to_end(*place, first, READ_S, whole=True), MOST_READ):
            there.add(record.offset)
            if record.offset >= last:
                break
    # If reading stopped early, offsets after the last one read are unknown.
    stopped = silent or len(there) == MOST_READ
    return there, max(there, default=first - 1) if stopped else last, silent.get(place, "")


def _reporting(silent: Sequence[ReplayItem]) -> set[int]:
    """Return the items whose reader and partition sent other reports since they were sent."""
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
    """Return whether reports and dead letters decide the item, because its reader is past it."""
    if item.sent_offset is None:
        return True
    return seen.past(item.watched, _place(item)) > item.sent_offset


def _place(item: ReplayItem) -> Partition:
    return (item.target_topic, -1 if item.sent_partition is None else item.sent_partition)
