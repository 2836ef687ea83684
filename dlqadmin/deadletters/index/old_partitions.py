"""Drop partitions of the index whose dead letters are all older than the time for which they are kept."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db import OperationalError, connection, transaction
from django.db.models import Count, Max, QuerySet
from django.utils import timezone

from dlqadmin.deadletters import replay_marks
from dlqadmin.deadletters.group_states import HOUR
from dlqadmin.deadletters.index import partitions
from dlqadmin.deadletters.index.column_values import EPOCH
from dlqadmin.deadletters.index.partitions import Partition
from dlqadmin.deadletters.index.removal import references, remove_unused_traces
from dlqadmin.deadletters.models import DeadLetter, QueuedDecoding, ReplayMark, WorkChange
from dlqadmin.deadletters.schema_partitions import foreign_keys

GRACE = timedelta(days=1)  # dead letters stay so much longer at most, if they can leave with their whole partition
TRACES = 5000

log = logging.getLogger(__name__)


def droppable(before: datetime) -> list[Partition]:
    """Return the partitions whose dead letters all failed before this time, and have no references.

    The partition that is being written is not among them.
    """
    written = partitions.last_id() if (known := partitions.partitions()) else 0
    return [one for one in known if one.end <= written and _is_older(one, before) and not _is_referenced(one)]


def drop(old: Iterable[Partition], before: datetime) -> int:
    """Drop these partitions, each in a transaction; return the number of dead letters.

    A partition that somebody uses too long remains until the next call.
    """
    removed = 0
    for one in old:
        try:
            removed += _detach(one, before)
        except OperationalError as error:  # a long query, or a writer that waits for us
            log.warning("partition %s of the index was not dropped, it is tried again: %s", one.number, error)
    _drop_detached()
    return removed


def _is_older(one: Partition, before: datetime) -> bool:
    newest = _letters(one).aggregate(at=Max("failed_at"))["at"]
    return newest is None or newest < before


def _is_referenced(one: Partition) -> bool:
    return any(
        model._base_manager.filter(**{f"{field}__gte": one.first, f"{field}__lt": one.end}).exists()
        for model, field in references()
    )


def _letters(one: Partition) -> QuerySet[DeadLetter]:
    return DeadLetter._base_manager.filter(pk__gte=one.first, pk__lt=one.end)


@transaction.atomic
def _detach(one: Partition, before: datetime) -> int:
    """Take the partition out of the index; return the number of its dead letters.

    Nobody can change or refer to its dead letters from the first lock on. Readers wait only for the last steps.
    """
    with partitions.limited_wait() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [partitions.LOCK])
        cursor.execute(f"LOCK TABLE {one.table(DeadLetter)} IN EXCLUSIVE MODE")
        if one not in partitions.partitions() or not _is_older(one, before) or _is_referenced(one):
            return 0  # somebody else dropped it, or began to use it
        removed = _note_removal(one)
        QueuedDecoding.objects.filter(pk__gte=one.first, pk__lt=one.end).delete()
        for model in partitions.TABLES:
            cursor.execute(f"ALTER TABLE {model._meta.db_table} DETACH PARTITION {one.table(model)}")
            if model is not DeadLetter:
                cursor.execute(f"DROP TABLE {one.table(model)}")
        for key in foreign_keys(cursor, one.table(DeadLetter)):  # they would keep the traces
            cursor.execute(f"ALTER TABLE {key.table} DROP CONSTRAINT {key.name}")
        # After the dead letters: the trigger of marks counts nothing for dead letters that are gone.
        ReplayMark.objects.filter(pk__gte=one.first, pk__lt=one.end).delete()
    return removed


def _note_removal(one: Partition) -> int:
    """Note the work of the dead letters as removed, as the trigger of single removals does; return their number."""
    cells = _letters(one).annotate(state=replay_marks.WORK_STATE)
    names = ("cluster", "topic", "connector", "fingerprint_id", "state")
    hour = (timezone.now() - EPOCH) // HOUR
    changes = [
        WorkChange(hour=hour, removed=True, compacted=False, **row)
        for row in cells.order_by().values(*names).annotate(n=Count("pk"))
    ]
    WorkChange.objects.bulk_create(changes, batch_size=1000)
    return sum(change.n for change in changes)


def _drop_detached() -> None:
    """Drop the tables of detached partitions, and first the traces that only they had."""
    for name in _detached():
        after = ""
        while digests := _digests(name, after):
            remove_unused_traces(digests)
            after = digests[-1]
        with connection.cursor() as cursor:
            cursor.execute(f"DROP TABLE IF EXISTS {name}")


def _digests(table: str, after: str) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT DISTINCT trace_id FROM {table} WHERE trace_id > %s ORDER BY trace_id LIMIT {TRACES}",  # noqa: S608 (a name of ours)
            [after],
        )
        return [digest for (digest,) in cursor.fetchall()]


def _detached() -> list[str]:
    """Return the tables of dead letters that are in no partition any more; [] on SQLite."""
    if connection.vendor != "postgresql":
        return []
    with connection.cursor() as cursor:
        cursor.execute(
            r"SELECT oid::regclass::text FROM pg_class WHERE relkind = 'r' AND NOT relispartition "
            r"AND relname ~ ('^' || %s || '_p\d+$') AND pg_table_is_visible(oid)",
            [partitions.LETTERS],
        )
        return [name for (name,) in cursor.fetchall()]
