"""Histograms of dead letters over time, by stage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

import msgspec
from django.conf import settings
from django.utils import timezone

from dlqadmin.deadletters.index.column_values import EPOCH
from dlqadmin.deadletters.models import Fingerprint
from dlqadmin.deadletters.search.candidates import newest
from dlqadmin.deadletters.search.counters import hourly
from dlqadmin.deadletters.search.documents import HistogramSeries
from dlqadmin.deadletters.search.filter_queries import in_reach
from dlqadmin.deadletters.search.filters import Filters
from dlqadmin.deadletters.search.queries import WINDOW, fingerprints, total
from dlqadmin.deadletters.search.time_limits import QueryTimedOut, bounded

MS = timedelta(milliseconds=1)
HOUR_MS = 3_600_000
BARS = 96
# Bar widths that are easy to read.
WIDTHS_MS = tuple(
    1000 * seconds
    for seconds in (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 5400, 7200, 10800, 21600, 43200, 86400)
)


class Histogram(msgspec.Struct, frozen=True):
    """Counts over time. `start` is aligned to the bucket width."""

    start: datetime
    end: datetime
    bucket_ms: int
    series: list[HistogramSeries]
    exact: bool


def histogram(
    filters: Filters, label: Callable[[Fingerprint], str] = lambda fingerprint: fingerprint.stage
) -> Histogram:
    """Count by label and bucket, from records if they are few and kept, else from hour counters.

    Filters that counters cannot evaluate are counted over the newest 10 000 matching records. The result is
    then exact only if these are all.
    """
    if not filters.counted:
        seen = newest(filters, ("fingerprint_id",), WINDOW)
        return _build_histogram(filters, 1000, _single_failures(seen.rows), label, exact=seen.complete)
    found = total(filters)
    fine = found.exact and found.count <= WINDOW and _has_records_since(filters.start)
    try:
        with bounded():
            points = _from_records(filters) if fine else _from_hours(filters)
            return _build_histogram(filters, 1000 if fine else HOUR_MS, points, label, exact=True)
    except QueryTimedOut:
        return _build_histogram(filters, HOUR_MS, (), label, exact=False)


def bucket_ms(span_ms: int, smallest_ms: int) -> int:
    """Return the smallest readable width, at least `smallest_ms`, that needs at most 96 bars."""
    for width in WIDTHS_MS:
        if width >= smallest_ms and width % smallest_ms == 0 and span_ms <= width * BARS:
            return width
    day = WIDTHS_MS[-1]
    return -(-span_ms // (BARS * day)) * day


def _build_histogram(
    filters: Filters,
    smallest_ms: int,
    points: Iterable[tuple[datetime, int, int]],
    label: Callable[[Fingerprint], str],
    *,
    exact: bool,
) -> Histogram:
    width = bucket_ms((filters.end - filters.start) // MS, smallest_ms)
    start = EPOCH + (filters.start - EPOCH) // MS // width * width * MS
    return Histogram(start, filters.end, width, _series(points, start, filters.end, width, label), exact)


def _has_records_since(start: datetime) -> bool:
    """Return whether retention still keeps the records since this time."""
    days = settings.RETENTION_DAYS
    return days <= 0 or start >= timezone.now() - timedelta(days=days)


def _from_records(filters: Filters) -> Iterable[tuple[datetime, int, int]]:
    rows = in_reach(filters).order_by("-failed_at", "-id")[:WINDOW]
    return _single_failures(rows.values_list("failed_at", "id", "fingerprint_id"))


def _single_failures(rows: Iterable[tuple[Any, ...]]) -> Iterable[tuple[datetime, int, int]]:
    return ((failed_at, fingerprint, 1) for failed_at, _, fingerprint in rows)


def _from_hours(filters: Filters) -> Iterable[tuple[datetime, int, int]]:
    width = bucket_ms((filters.end - filters.start) // MS, HOUR_MS) // HOUR_MS
    return ((EPOCH + timedelta(hours=hour), fingerprint, n) for hour, fingerprint, n in hourly(filters, width))


def _series(
    points: Iterable[tuple[datetime, int, int]],
    start: datetime,
    end: datetime,
    width: int,
    label: Callable[[Fingerprint], str],
) -> list[HistogramSeries]:
    counts: Counter[tuple[int, int]] = Counter()
    for at, fingerprint, n in points:
        counts[fingerprint, max(0, (at - start) // MS // width)] += n
    size = -(-((end - start) // MS) // width)
    known = fingerprints(fingerprint for fingerprint, _ in counts)
    by_label: dict[str, list[int]] = {}
    for (fingerprint, bucket), n in counts.items():
        by_label.setdefault(label(known[fingerprint]), [0] * size)[min(bucket, size - 1)] += n
    rows = [HistogramSeries(key, sum(values), values) for key, values in by_label.items()]
    return sorted(rows, key=lambda row: (-row.total, row.key))
