"""Counts of dead letters by fingerprint, from the counters alone."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from django.db.models import Sum

from dlqadmin.deadletters.group_states import HOUR
from dlqadmin.deadletters.index.column_values import EPOCH
from dlqadmin.deadletters.models import CountDay, CountHour

DAY = timedelta(days=1)
HOURLY_UP_TO = timedelta(days=14)


def by_fingerprint(start: datetime, end: datetime, fingerprints: Collection[int] | None = None) -> dict[int, int]:
    """Count the dead letters of each fingerprint in all hours that overlap the range.

    For ranges longer than 14 days, count all days that overlap it.
    """
    table, name, unit = (CountHour, "hour", HOUR) if end - start <= HOURLY_UP_TO else (CountDay, "day", DAY)
    touched = {f"{name}__gte": (start - EPOCH) // unit, f"{name}__lt": -((EPOCH - end) // unit)}
    rows = table._default_manager.filter(**touched)
    if fingerprints is not None:
        rows = rows.filter(fingerprint_id__in=fingerprints)
    return dict(
        rows.order_by().values_list("fingerprint_id").annotate(total=Sum("n")).values_list("fingerprint_id", "total")
    )
