"""Delete old dead letters from the index. The counters keep their numbers."""

from __future__ import annotations

import time
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from dlqadmin.deadletters.index import old_partitions
from dlqadmin.deadletters.index.removal import free, lock_free, remove, remove_unused_traces
from dlqadmin.deadletters.models import DeadLetter

SLICE = 5000
MOST_S = 60.0


def horizon(now: datetime) -> datetime | None:
    """Return the time before which dead letters are deleted, or None if all are kept."""
    return now - timedelta(days=settings.RETENTION_DAYS) if settings.RETENTION_DAYS > 0 else None


def is_forgotten(failed_at: datetime, now: datetime) -> bool:
    """Return whether a dead letter that failed at this time is too old to be kept."""
    before = horizon(now)
    return before is not None and failed_at < before


def prune(before: datetime, most_s: float = MOST_S) -> int:
    """Delete dead letters that failed before this time, oldest first; return the number.

    Whole partitions are dropped first. The rest is deleted in slices, each in one transaction, except those that can
    leave with their partition within a day. Dead letters that a replay, an outcome or a draft refers to are kept.
    The function stops after `most_s` seconds, and the next call continues.
    """
    until = time.monotonic() + most_s
    removed = old_partitions.drop(old_partitions.droppable(before), before)
    elsewhere, read = Q(), Q()
    for soon in old_partitions.droppable(before + old_partitions.GRACE):
        elsewhere &= ~Q(pk__gte=soon.first, pk__lt=soon.end)
    while time.monotonic() < until:
        with transaction.atomic():
            old = free(DeadLetter.objects.filter(elsewhere, read, failed_at__lt=before)).order_by("failed_at", "id")
            rows = list(old.values_list("pk", "failed_at")[:SLICE])
            if not rows:
                break
            removed += _forget([pk for pk, _ in rows])
        last, at = rows[-1]
        read = Q(failed_at__gte=at) & ~Q(failed_at=at, pk__lte=last)  # do not read kept rows again
    return removed


def _forget(ids: list[int]) -> int:
    """Delete rows that are still free and not locked by another transaction; return the number."""
    found = lock_free(DeadLetter.objects.filter(pk__in=ids), skip_locked=True)
    removed = remove([row.pk for row in found])
    remove_unused_traces(row.trace_id for row in found)
    return removed
