"""Write dead letters to the index: rows, counters and positions in one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import msgspec
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from dlqadmin.deadletters.group_states import HOUR
from dlqadmin.deadletters.index import (
    carried_groups,
    erased_records,
    letter_rows,
    ownership,
    partitions,
    watermark,
    word_index,
)
from dlqadmin.deadletters.index.bulk_insert import bulk
from dlqadmin.deadletters.index.column_values import EPOCH, clean, moment
from dlqadmin.deadletters.index.fingerprint import ComputedFingerprint
from dlqadmin.deadletters.index.group_links import lock_links
from dlqadmin.deadletters.index.group_titles import title
from dlqadmin.deadletters.index.mutes import unmute
from dlqadmin.deadletters.index.parsed_message import ParsedMessage
from dlqadmin.deadletters.index.retention import is_forgotten
from dlqadmin.deadletters.models import (
    CountDay,
    CountHour,
    DeadLetter,
    Fingerprint,
    Group,
    GroupActivity,
    GroupStatus,
    IndexPosition,
    TimeSource,
    WorkChange,
    WorkState,
)
from engine.dialects.letter_values import origin_topic
from engine.schemas.framing import frame_of

Coordinates = tuple[str, int, int]


class RemovedRows(msgspec.Struct, frozen=True):
    """Rows that were removed to be rewritten: their coordinates, and their counts by hour."""

    places: Collection[Coordinates] = ()
    hours: Mapping[letter_rows.Cell, int] = {}


NOTHING = RemovedRows()


def write(batch: Sequence[ParsedMessage], cluster: str, now: datetime, removed: RemovedRows = NOTHING) -> int:
    """Index a batch; return the number of dead letters that were new.

    A repeated message changes nothing, whether its row exists, retention deleted it, or it was erased. The rows of
    `IndexPosition` are locked first. So two writers of one partition take turns, and counters count each row
    once. Rows in `removed` were indexed before, so they neither unmute nor reopen their groups.
    """
    if not batch:
        return 0
    partitions.make_room(len(batch))
    with transaction.atomic():
        positions = lock_positions(batch, cluster, now)
        wanted = [item for item in batch if not _was_forgotten(item, positions, removed, now)]
        fresh = _new_messages(erased_records.without_erased(wanted, cluster, positions), cluster)
        if fresh:
            # Before the first id: a reader of the watermark must not pass ids whose rows are not visible yet.
            watermark.hold_watermark()
            fresh = erased_records.withhold(fresh)
            fingerprints = _fingerprints(fresh, now)
            hours = _insert(fresh, cluster, fingerprints, now)
            hours.subtract(removed.hours)
            _update_counters(hours)
            _forget_removals(removed.hours)
            _touch_groups(fresh, removed.places, fingerprints, now)
        _advance_positions(batch, cluster, now)
    return len(fresh)


def note_ends(
    cluster: str, positions: Mapping[tuple[str, int], int], ends: Mapping[tuple[str, int], int], asked: datetime
) -> None:
    """Store the end of each partition at the time `asked`, and the indexer's position in it.

    A position beyond the end belongs to a former topic of this name, unless the row was written after
    `asked`.
    """
    with transaction.atomic():
        for where, row in _lock_rows(cluster, ends, asked).items():
            reached = max(ends[where], row.position) if row.updated_at > asked else ends[where]
            known = (row.position, positions.get(where, 0))
            row.position = max((position for position in known if position <= reached), default=0)
            row.end_offset, row.updated_at = reached, max(row.updated_at, asked)
            row.save(update_fields=["position", "end_offset", "updated_at"])


def stored_positions(cluster: str, wanted: Collection[tuple[str, int]]) -> dict[tuple[str, int], int]:
    """Return the indexed positions of these partitions, without those that have none."""
    rows = _rows(cluster, wanted).values_list("topic", "partition", "position")
    return {(topic, number): position for topic, number, position in rows if (topic, number) in wanted}


def all_positions(cluster: str) -> dict[tuple[str, int], int]:
    """Return the indexed positions of all partitions of a cluster."""
    rows = IndexPosition.objects.filter(cluster=cluster).order_by().values_list("topic", "partition", "position")
    return {(topic, number): position for topic, number, position in rows}


def lock_positions(batch: Sequence[ParsedMessage], cluster: str, now: datetime) -> dict[tuple[str, int], int]:
    """Lock the partitions of the batch until the commit; return their indexed positions."""
    wanted = {(item.message.topic, item.message.partition) for item in batch}
    return {where: row.position for where, row in _lock_rows(cluster, wanted, now).items()}


def coordinates(item: ParsedMessage) -> Coordinates:
    """Return the coordinates of a dead letter in its topic."""
    return (item.message.topic, item.message.partition, item.message.offset)


def _lock_rows(
    cluster: str, wanted: Collection[tuple[str, int]], now: datetime
) -> dict[tuple[str, int], IndexPosition]:
    """Lock the rows of these partitions in the same order everywhere; create missing rows first.

    Missing rows are created in that order too, so two writers cannot deadlock.
    """
    existing = _rows(cluster, wanted)
    if missing := set(wanted) - set(existing.values_list("topic", "partition")):
        made = [IndexPosition(cluster=cluster, topic=at, partition=n, updated_at=now) for at, n in sorted(missing)]
        IndexPosition.objects.bulk_create(made, ignore_conflicts=True)
    ids = [row.pk for row in existing if (row.topic, row.partition) in wanted]
    rows = IndexPosition.objects.select_for_update().filter(pk__in=ids).order_by("pk")
    return {(row.topic, row.partition): row for row in rows}


def _rows(cluster: str, wanted: Collection[tuple[str, int]]) -> QuerySet[IndexPosition]:
    """Return the rows of these topics and partition numbers. There may be more rows than wanted."""
    topics, numbers = {topic for topic, _ in wanted}, {number for _, number in wanted}
    return IndexPosition.objects.filter(cluster=cluster, topic__in=topics, partition__in=numbers)


def _was_forgotten(
    item: ParsedMessage, positions: Mapping[tuple[str, int], int], removed: RemovedRows, now: datetime
) -> bool:
    """Return whether it was indexed and counted before, and is too old to be indexed again.

    An existing row is never written again.
    """
    topic, partition, offset = coordinates(item)
    if offset >= positions[topic, partition]:
        return False
    if item.time_source != TimeSource.INDEX:
        return is_forgotten(item.failed_at, now)
    # Its row's time is unknown now, but the record was written before that time. If the record is younger than the
    # horizon, so was the row, and retention did not delete it: the topic was recreated. An older record counts as
    # deleted. `Indexer.index` moves the position of a recreated topic back first, so such a record gets here only if
    # the new topic is already longer than its predecessor was.
    return coordinates(item) not in removed.places and is_forgotten(moment(item.message.timestamp) or EPOCH, now)


def _update_counters(hours: Mapping[letter_rows.Cell, int]) -> None:
    """Add numbers of dead letters to the counters of hours and days. Delete counters that reach zero."""
    # First: whoever counts a dead letter can already find its source.
    bulk().keep(letter_rows.SOURCES, sorted({cell[1:] for cell in hours}))
    days = letter_rows.days(hours)
    bulk().add(letter_rows.HOURS, letter_rows.counts(hours))
    bulk().add(letter_rows.DAYS, letter_rows.counts(days))
    if less := {cell[:2] for cell, n in hours.items() if n < 0}:
        fingerprints = {fingerprint for _, fingerprint in less}
        CountHour.objects.filter(n=0, hour__in={hour for hour, _ in less}, fingerprint__in=fingerprints).delete()
        CountDay.objects.filter(n=0, day__in={hour // 24 for hour, _ in less}, fingerprint__in=fingerprints).delete()


def _forget_removals(hours: Mapping[letter_rows.Cell, int]) -> None:
    """Undo the removals that a trigger noted of rows which the counters do not count any more."""
    cells: Counter[tuple[int, str, str, str]] = Counter()
    for (_, *cell), n in hours.items():
        cells[tuple(cell)] += n  # type: ignore[index] # the rest of a cell
    hour = (timezone.now() - EPOCH) // HOUR
    WorkChange.objects.bulk_create(
        WorkChange(
            hour=hour,
            cluster=cluster,
            topic=topic,
            connector=connector,
            fingerprint_id=fingerprint,
            state=WorkState.OPEN,
            removed=True,
            n=-n,
            compacted=False,
        )
        for (fingerprint, cluster, topic, connector), n in sorted(cells.items())
    )


def _new_messages(batch: Sequence[ParsedMessage], cluster: str) -> list[ParsedMessage]:
    """Return the dead letters that are not indexed yet, each coordinate once."""
    # Reversed, so that the first message of each coordinate wins if a batch contains duplicates.
    wanted: dict[Coordinates, ParsedMessage] = {coordinates(item): item for item in reversed(batch)}
    by_partition: dict[tuple[str, int], list[int]] = {}
    for topic, partition, offset in wanted:
        by_partition.setdefault((topic, partition), []).append(offset)
    for (topic, partition), offsets in by_partition.items():
        known = DeadLetter.objects.filter(
            cluster=cluster, topic=topic, partition=partition, offset__gte=min(offsets), offset__lte=max(offsets)
        )
        for offset in known.values_list("offset", flat=True):
            wanted.pop((topic, partition, offset), None)
    return list(reversed(wanted.values()))


def _fingerprints(fresh: Sequence[ParsedMessage], now: datetime) -> dict[str, int]:
    """Return the fingerprints' ids by digest; create unknown fingerprints."""
    first: dict[str, ParsedMessage] = {}
    for item in fresh:
        earlier = first.setdefault(item.fingerprint.digest, item)
        if item.failed_at < earlier.failed_at:
            first[item.fingerprint.digest] = item
    known = dict(Fingerprint.objects.filter(digest__in=first).values_list("digest", "pk"))
    new = {digest: item for digest, item in first.items() if digest not in known}
    former = carried_groups.lock_former_groups(new, known.values()) if new else {}
    # Sorted: two writers that create the same fingerprints wait for each other in one order. The most frequent of
    # those that continue one group does so; its lock already makes other writers wait.
    sizes = Counter(item.fingerprint.digest for item in fresh)
    for digest in sorted(new, key=lambda digest: (digest in former, -sizes[digest] if digest in former else 0, digest)):
        known[digest] = _new_fingerprint(new[digest], former.get(digest), now).pk
    return known


def _new_fingerprint(item: ParsedMessage, former: int | None, now: datetime) -> Fingerprint:
    """Create a fingerprint in its former group or a new one, or return the one that another writer created."""
    why = item.fingerprint
    name = clean(title(why.exception_class, why.message, why.reason), 200)
    try:
        with transaction.atomic():
            if former is None:
                return _fingerprint_in(_new_group(item, name, now), why)
            group = Group.objects.get(pk=former)
            if carried_groups.continues_whole(group, why):
                carried_groups.rename(group, name, now)
                return _fingerprint_in(group, why)
            apart = carried_groups.split_off(group, name)
            row = _fingerprint_in(apart, why)
            carried_groups.record_split(group, apart, row, now)
            return row
    except IntegrityError:
        # Another writer committed this digest first. The savepoint also rolled back the empty group made for it.
        return Fingerprint.objects.get(digest=why.digest)


def _new_group(item: ParsedMessage, name: str, now: datetime) -> Group:
    """Create a group, with an owner if a rule names one."""
    failure = ownership.OwnedFailure(item.message.topic, item.connector, item.fingerprint.exception_class)
    rule = ownership.first_match(ownership.rules(), failure)
    owner = {"owner_id": rule.owner_id, "team_id": rule.team_id} if rule else {}
    group = Group.objects.create(title=name, first_seen=item.failed_at, last_seen=item.failed_at, **owner)
    if rule is not None:
        GroupActivity.objects.create(
            group=group, at=now, actor="indexer", kind="assigned", text=ownership.owner_text(rule)
        )
    return group


def _fingerprint_in(group: Group, why: ComputedFingerprint) -> Fingerprint:
    return Fingerprint.objects.create(
        digest=why.digest,
        group=group,
        exception_class=why.exception_class,
        stage=why.stage,
        message=why.message,
        frame=why.frame,
        holes=[{"name": hole.name, "example": hole.example} for hole in why.holes],
        name=why.name,
        reason=why.reason,
        origin=why.origin,
    )


def _insert(
    fresh: Sequence[ParsedMessage], cluster: str, fingerprints: Mapping[str, int], now: datetime
) -> Counter[letter_rows.Cell]:
    """Write rows, bodies and traces, and queue the text; return the counts by hour."""
    writer, found = bulk(), [fingerprints[item.fingerprint.digest] for item in fresh]
    ids = partitions.reserve_ids(len(fresh))
    traces = {item.trace.digest: item.trace.frames for item in fresh if item.trace.digest}
    # Sorted: two writers that insert the same traces could otherwise deadlock on the unique index.
    writer.keep(letter_rows.TRACES, sorted(traces.items()))
    letters = zip(ids, found, fresh, strict=True)
    writer.insert(letter_rows.LETTERS, ((pk, why, cluster, now, *item.letter) for pk, why, item in letters))
    origins = {(cluster, item.message.topic, item.connector, origin_topic(item.facts)) for item in fresh}
    writer.keep(letter_rows.ORIGINS, sorted(row for row in origins if row[-1]))
    writer.insert(letter_rows.BODIES, ((pk, *item.body) for pk, item in zip(ids, fresh, strict=True)))
    word_index.queue(ids, now)
    named = [
        (pk, now, 0, "")
        for pk, item in zip(ids, fresh, strict=True)
        if item.value is not None
        and frame_of(item.value, item.original_headers or item.message.headers, "value") is not None
    ]
    if named:
        writer.insert(letter_rows.DECODINGS, named)
    cells = (
        (item.failed_at, why, cluster, item.message.topic, item.connector)
        for item, why in zip(fresh, found, strict=True)
    )
    return letter_rows.hours(cells)


def _touch_groups(
    fresh: Sequence[ParsedMessage], known: Collection[Coordinates], fingerprints: Mapping[str, int], now: datetime
) -> None:
    """Extend the time spans of the groups. New dead letters may unmute or reopen their groups."""
    group_by_fingerprint = lock_links(sorted({fingerprints[item.fingerprint.digest] for item in fresh}))
    seen: dict[int, list[datetime]] = {}
    news: dict[int, list[datetime]] = {}
    for item in fresh:
        where = group_by_fingerprint[fingerprints[item.fingerprint.digest]]
        seen.setdefault(where, []).append(item.failed_at)
        if coordinates(item) not in known:
            news.setdefault(where, []).append(item.failed_at)
    # After the links and by ascending id, as merge and split lock them, so that neither side can deadlock.
    groups = list(Group.objects.select_for_update().filter(pk__in=seen).order_by("pk"))
    with_news = [group for group in groups if group.pk in news]
    unmute(with_news, news, now)
    for group in with_news:
        _reopen(group, max(news[group.pk]), now)
    spans = [(row.pk, min(row.first_seen, *seen[row.pk]), max(row.last_seen, *seen[row.pk])) for row in groups]
    bulk().change(letter_rows.GROUPS, spans)


def _reopen(group: Group, failed_at: datetime, now: datetime) -> None:
    """Reopen a resolved group that failed again: it has regressed."""
    if group.status == GroupStatus.RESOLVED and group.resolved_at and failed_at > group.resolved_at:
        group.status, group.regressed_at = GroupStatus.OPEN, now
        group.save(update_fields=["status", "regressed_at"])
        GroupActivity.objects.create(
            group=group, at=now, actor="indexer", kind="regressed", text="failed again after it was resolved"
        )


def _advance_positions(batch: Sequence[ParsedMessage], cluster: str, now: datetime) -> None:
    last: dict[tuple[str, int], ParsedMessage] = {}
    for item in batch:
        where = (item.message.topic, item.message.partition)
        if where not in last or item.message.offset > last[where].message.offset:
            last[where] = item
    for (topic, partition), item in last.items():
        # Only forward: a consumer that re-reads old records must not move the position back.
        IndexPosition.objects.filter(cluster=cluster, topic=topic, partition=partition).filter(
            Q(position__lte=item.message.offset)
        ).update(
            position=item.message.offset + 1,
            last_record_at=moment(item.message.timestamp) or item.failed_at,
            updated_at=now,
        )
