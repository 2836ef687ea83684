"""Writes dead letters into the index: rows, counters and positions in one transaction."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

from django.db import IntegrityError, connection, transaction
from django.db.models import Q

from dlqadmin.deadletters.models import (
    CountDay,
    CountHour,
    DeadLetter,
    DeadLetterBody,
    Fingerprint,
    Group,
    GroupActivity,
    GroupStatus,
    IndexPosition,
    Trace,
)
from dlqadmin.deadletters.preparing import (
    EPOCH,
    MAX_INT,
    Prepared,
    bounded,
    clean,
    key_hash,
    key_text,
    moment,
    pack_headers,
    replayed,
)
from dlqadmin.deadletters.titles import title

Coordinates = tuple[str, int, int]


def write(batch: Sequence[Prepared], cluster: str, now: datetime) -> int:
    """Index a batch; the number of dead letters that were not there before.

    A repeated message changes nothing. The rows of `IndexPosition` are locked first, so two writers
    of one partition take turns and counters count each row once.
    """
    if not batch:
        return 0
    with transaction.atomic():
        _lock_positions(batch, cluster, now)
        fresh = _unknown(batch, cluster)
        if fresh:
            fingerprints = _fingerprints(fresh)
            rows = _insert(fresh, cluster, fingerprints, now)
            _count(rows)
            _touch_groups(fresh, fingerprints, now)
        _advance(batch, cluster, now)
    return len(fresh)


def note_ends(
    cluster: str, positions: Mapping[tuple[str, int], int], ends: Mapping[tuple[str, int], int], now: datetime
) -> None:
    """Store how far each partition reaches, and that the indexer has read it to its position.

    A position behind the end is of another topic, which had this name before.
    """
    with transaction.atomic():
        for (topic, partition), end in sorted(ends.items()):
            row, _ = IndexPosition.objects.get_or_create(
                cluster=cluster, topic=topic, partition=partition, defaults={"updated_at": now}
            )
            known = (row.position, positions.get((topic, partition), 0))
            row.position = max((position for position in known if position <= end), default=0)
            row.end_offset, row.updated_at = end, now
            row.save(update_fields=["position", "end_offset", "updated_at"])


def _lock_positions(batch: Sequence[Prepared], cluster: str, now: datetime) -> None:
    for topic, partition in sorted({(item.message.topic, item.message.partition) for item in batch}):
        row, created = IndexPosition.objects.get_or_create(
            cluster=cluster, topic=topic, partition=partition, defaults={"updated_at": now}
        )
        if not created:
            IndexPosition.objects.select_for_update().get(pk=row.pk)


def _unknown(batch: Sequence[Prepared], cluster: str) -> list[Prepared]:
    """Those not indexed yet, each coordinate once."""
    wanted: dict[Coordinates, Prepared] = {_coordinates(item): item for item in reversed(batch)}
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


def _fingerprints(fresh: Sequence[Prepared]) -> dict[str, Fingerprint]:
    digests = {item.fingerprint.digest for item in fresh}
    known = {row.digest: row for row in Fingerprint.objects.filter(digest__in=digests)}
    for item in sorted(fresh, key=lambda item: (item.fingerprint.digest, item.failed_at)):
        if item.fingerprint.digest not in known:
            known[item.fingerprint.digest] = _new_fingerprint(item)
    return known


def _new_fingerprint(item: Prepared) -> Fingerprint:
    """A fingerprint with a group of its own; another writer's, when it was first."""
    why = item.fingerprint
    try:
        with transaction.atomic():
            group = Group.objects.create(
                title=clean(title(why.exception_class, why.message), 200),
                first_seen=item.failed_at,
                last_seen=item.failed_at,
            )
            return Fingerprint.objects.create(
                digest=why.digest,
                group=group,
                exception_class=why.exception_class,
                stage=why.stage,
                message=why.message,
                frame=why.frame,
                holes=[{"name": hole.name, "example": hole.example} for hole in why.holes],
            )
    except IntegrityError:
        return Fingerprint.objects.get(digest=why.digest)


def _insert(
    fresh: Sequence[Prepared], cluster: str, fingerprints: Mapping[str, Fingerprint], now: datetime
) -> list[DeadLetter]:
    traces = {_digest(item.trace): item.trace for item in fresh if item.trace}
    Trace.objects.bulk_create(
        [Trace(digest=digest, text=text) for digest, text in sorted(traces.items())], ignore_conflicts=True
    )
    rows = DeadLetter.objects.bulk_create(
        [_row(item, cluster, fingerprints[item.fingerprint.digest].pk, now) for item in fresh]
    )
    DeadLetterBody.objects.bulk_create(
        [
            DeadLetterBody(
                dead_letter=row,
                key=item.key,
                value=item.value,
                context=None if item.facts.own_value else item.message.value,
                headers=pack_headers(item.message.headers),
                original_headers=None if item.original_headers is None else pack_headers(item.original_headers),
            )
            for row, item in zip(rows, fresh, strict=True)
        ],
        batch_size=50,
    )
    return rows


def _row(item: Prepared, cluster: str, fingerprint: int, now: datetime) -> DeadLetter:
    facts, message, origin = item.facts, item.message, item.facts.origin
    replay_item, replay_attempt = replayed(item)
    return DeadLetter(
        cluster=cluster,
        topic=message.topic,
        partition=message.partition,
        offset=message.offset,
        failed_at=item.failed_at,
        first_failure_at=moment(facts.first_failure_at),
        indexed_at=now,
        elapsed_ms=bounded(facts.elapsed_ms),
        attempt=bounded(facts.attempt, MAX_INT),
        connector=clean(facts.connector, 200),
        task_id=clean(facts.task_id, 220),
        origin_topic=clean(origin.topic, 249) if origin else "",
        origin_partition=bounded(origin.partition, MAX_INT) if origin else None,
        origin_offset=bounded(origin.offset) if origin else None,
        origin_timestamp=moment(origin.timestamp) if origin else None,
        key_text=key_text(item.key),
        key_hash=key_hash(item.key),
        key_size=None if item.key is None else len(item.key),
        value_size=None if item.value is None else len(item.value),
        message=clean(" ".join(facts.root_message[:2000].split()), 500),
        dialect=facts.dialect,
        readable=facts.readable,
        truncated=clean(facts.truncated, 100) if facts.truncated else None,
        original=item.original,
        replay_item=replay_item,
        replay_attempt=replay_attempt,
        fingerprint_id=fingerprint,
        trace_id=_digest(item.trace) if item.trace else None,
    )


def _count(rows: Sequence[DeadLetter]) -> None:
    hours: Counter[tuple[int, int, str, str, str]] = Counter()
    for row in rows:
        hour = int((row.failed_at - EPOCH).total_seconds()) // 3600
        hours[hour, row.fingerprint_id, row.cluster, row.topic, row.connector] += 1
    days: Counter[tuple[int, int, str, str, str]] = Counter()
    for (hour, *rest), n in hours.items():
        days[(hour // 24, *rest)] += n  # type: ignore[index] # the rest of a cell is the same in both
    _add(CountHour._meta.db_table, "hour", hours)
    _add(CountDay._meta.db_table, "day", days)


def _add(table: str, unit: str, cells: Mapping[tuple[int, int, str, str, str], int]) -> None:
    """Add to counters, in one order everywhere so that two writers can't block each other."""
    name = connection.ops.quote_name
    sql = (
        f"INSERT INTO {name(table)} ({name(unit)}, fingerprint_id, cluster, topic, connector, n) "  # noqa: S608
        f"VALUES (%s, %s, %s, %s, %s, %s) "
        f"ON CONFLICT ({name(unit)}, fingerprint_id, cluster, topic, connector) "
        f"DO UPDATE SET n = {name(table)}.n + excluded.n"
    )
    with connection.cursor() as cursor:
        cursor.executemany(sql, [(*cell, n) for cell, n in sorted(cells.items())])


def _touch_groups(fresh: Sequence[Prepared], fingerprints: Mapping[str, Fingerprint], now: datetime) -> None:
    seen: dict[int, list[datetime]] = {}
    for item in fresh:
        seen.setdefault(fingerprints[item.fingerprint.digest].group_id, []).append(item.failed_at)
    for group in Group.objects.select_for_update().filter(pk__in=seen).order_by("pk"):
        times = seen[group.pk]
        group.first_seen = min(group.first_seen, *times)
        group.last_seen = max(group.last_seen, *times)
        if group.status == GroupStatus.RESOLVED and group.resolved_at and max(times) > group.resolved_at:
            group.status, group.regressed_at = GroupStatus.OPEN, now
            GroupActivity.objects.create(
                group=group, at=now, actor="indexer", kind="regressed", text="failed again after it was resolved"
            )
        group.save(update_fields=["first_seen", "last_seen", "status", "regressed_at"])


def _advance(batch: Sequence[Prepared], cluster: str, now: datetime) -> None:
    last: dict[tuple[str, int], Prepared] = {}
    for item in batch:
        where = (item.message.topic, item.message.partition)
        if where not in last or item.message.offset > last[where].message.offset:
            last[where] = item
    for (topic, partition), item in last.items():
        IndexPosition.objects.filter(cluster=cluster, topic=topic, partition=partition).filter(
            Q(position__lte=item.message.offset)
        ).update(
            position=item.message.offset + 1,
            last_record_at=moment(item.message.timestamp) or item.failed_at,
            updated_at=now,
        )


def _coordinates(item: Prepared) -> Coordinates:
    return (item.message.topic, item.message.partition, item.message.offset)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
