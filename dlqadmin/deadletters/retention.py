"""Forgets dead letters that failed long ago; how many there were is still counted."""

from __future__ import annotations

import time
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.removing import free, lock_free, remove, remove_unused_traces

SLICE = 5000
MOST_S = 60.0


def horizon(now: datetime) -> datetime | None:
    """What failed before is forgotten; None where all is kept."""
    return now - timedelta(days=settings.RETENTION_DAYS) if settings.RETENTION_DAYS > 0 else None


def is_forgotten(failed_at: datetime, now: datetime) -> bool:
    """Is a dead letter of this time too old to be kept?"""
    before = horizon(now)
    return before is not None and failed_at < before


def prune(before: datetime, most_s: float = MOST_S) -> int:
    """Delete those that failed before then, the oldest first and a slice at a time; how many.

    What a replay, an outcome or a draft refers to is kept. It ends after `most_s`; the next one goes on.
    """
    until, removed, further = time.monotonic() + most_s, 0, Q()
    while time.monotonic() < until:
        with transaction.atomic():
            old = free(DeadLetter.objects.filter(further, failed_at__lt=before)).order_by("failed_at", "id")
            rows = list(old.values_list("pk", "failed_at")[:SLICE])
            if not rows:
                break
            removed += _forget([pk for pk, _ in rows])
        last, at = rows[-1]
        further = Q(failed_at__gte=at) & ~Q(failed_at=at, pk__lte=last)  # what was kept is not looked at again
    return removed


def _forget(ids: list[int]) -> int:
    """Delete those that are still free, but for those that somebody is at work with; how many."""
    found = lock_free(DeadLetter.objects.filter(pk__in=ids), skip_locked=True)
    removed = remove([row.pk for row in found])
    remove_unused_traces(found)
    return removed
