"""Errors over time, counted exactly from the index's counters."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Sum

from dlqadmin.deadletters import counters
from dlqadmin.deadletters.bounding import TimedOut, bounded
from dlqadmin.deadletters.filters import Filters
from dlqadmin.deadletters.models import CountHour, DeadLetter
from dlqadmin.rest.times import from_ms, iso

EPOCH = from_ms(0)
MS = timedelta(milliseconds=1)
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
# The widest range of each bucket; about fifty columns, as a chart has room for.
BUCKETS = (
    (3 * HOUR_MS, 5 * MINUTE_MS),
    (48 * HOUR_MS, HOUR_MS),
    (8 * 24 * HOUR_MS, 3 * HOUR_MS),
    (32 * 24 * HOUR_MS, 12 * HOUR_MS),
    (100 * 24 * HOUR_MS, 48 * HOUR_MS),
)
MOST_BUCKETS = 200
MOST_RECORDS = 20_000
SERIES = {
    "group": ("fingerprint__group_id", "fingerprint__group__title"),
    "exception": ("fingerprint__exception_class", "fingerprint__exception_class"),
    "stage": ("fingerprint__stage", "fingerprint__stage"),
    "topic": ("topic", "topic"),
}


@dataclass(frozen=True, slots=True)
class Cell:
    """How many failed in one stretch of time, of one series and stage."""

    at_ms: int
    key: str
    label: str
    stage: str
    count: int


def bucket_ms(span_ms: int) -> int:
    """The width of a column for a range of that width."""
    for widest, width in BUCKETS:
        if span_ms <= widest:
            return width
    days = -(-span_ms // (MOST_BUCKETS * 24 * HOUR_MS))
    return days * 24 * HOUR_MS


def series(start: datetime, end: datetime, by: str) -> dict[str, Any]:
    """Columns of the errors in [start, end), exactly; `from` is where the first whole column begins.

    Narrow columns are counted from the records while these are few, wide ones from the hour counters.
    """
    width = bucket_ms(_ms(end) - _ms(start))
    try:
        with bounded():
            if width < HOUR_MS and count_between(start, end) > MOST_RECORDS:
                width = HOUR_MS
            cells = _narrow(start, end, width, by) if width < HOUR_MS else _wide(start, end, by)
            exact = True
    except TimedOut:
        cells, exact = [], False
    first, last = _ms(start) // width * width, -(-_ms(end) // width) * width
    rows = stack(cells, first, last, width)
    return {
        "from": iso(from_ms(first)),
        "to": iso(end),
        "bucket_ms": width,
        "series": rows,
        "total": sum(row["total"] for row in rows),
        "exact": exact,
    }


def stack(cells: Iterable[Cell], first: int, last: int, width: int) -> list[dict[str, Any]]:
    """Pure: cells as series of columns, the biggest first; a series of two stages shows its bigger one."""
    points: dict[str, list[int]] = {}
    labels: dict[str, str] = {}
    stages: dict[str, dict[str, int]] = {}
    for cell in cells:
        columns = points.setdefault(cell.key, [0] * ((last - first) // width))
        columns[(cell.at_ms - first) // width] += cell.count
        labels[cell.key] = cell.label
        seen = stages.setdefault(cell.key, {})
        seen[cell.stage] = seen.get(cell.stage, 0) + cell.count
    rows = [
        {
            "key": key,
            "label": labels[key],
            "stage": max(stages[key], key=lambda stage: stages[key][stage]),
            "total": sum(columns),
            "points": columns,
        }
        for key, columns in points.items()
    ]
    return sorted(rows, key=lambda row: (-int(str(row["total"])), str(row["label"])))


def count_between(start: datetime, end: datetime) -> int:
    """Exactly how many failed in [start, end)."""
    return sum(counters.cells(Filters(start, end)).values())


def count_24h(now: datetime) -> dict[str, Any]:
    """Errors of the last 24 hours beside the mean of the six days before."""
    days = [count_between(now - timedelta(days=back + 1), now - timedelta(days=back)) for back in range(6, -1, -1)]
    mean = sum(days[:-1]) / 6
    change = round((days[-1] - mean) / mean * 100, 1) if mean else None
    return {"count": days[-1], "mean_before": round(mean, 1), "change_percent": change, "days": days}


def _wide(start: datetime, end: datetime, by: str) -> list[Cell]:
    """Whole hours from the counters; the two broken hours at the edges from their records."""
    low, high = -(-_ms(start) // HOUR_MS), _ms(end) // HOUR_MS
    if low > high:
        return _edge(start, end, by)
    key, label = SERIES[by]
    hours = CountHour.objects.filter(hour__gte=low, hour__lt=high)
    rows = hours.values_list("hour", key, label, "fingerprint__stage").annotate(count=Sum("n")).order_by()
    inner = [_cell(hour * HOUR_MS, by, *rest) for hour, *rest in rows]
    return _edge(start, from_ms(low * HOUR_MS), by) + inner + _edge(from_ms(high * HOUR_MS), end, by)


def _edge(start: datetime, end: datetime, by: str) -> list[Cell]:
    """The records of a part of one hour."""
    if start >= end:
        return []
    key, label = SERIES[by]
    rows = DeadLetter.objects.filter(failed_at__gte=start, failed_at__lt=end)
    grouped = rows.values_list(key, label, "fingerprint__stage").annotate(count=Count("id")).order_by()
    return [_cell(_ms(start) // HOUR_MS * HOUR_MS, by, *row) for row in grouped]


def _narrow(start: datetime, end: datetime, width: int, by: str) -> list[Cell]:
    """Columns narrower than an hour, from the records."""
    key, label = SERIES[by]
    found = DeadLetter.objects.filter(failed_at__gte=start, failed_at__lt=end)
    rows = found.values_list("failed_at", key, label, "fingerprint__stage")
    return [_cell(_ms(at) // width * width, by, key, label, stage, 1) for at, key, label, stage in rows]


def _cell(at_ms: int, by: str, key: object, label: object, stage: str, count: int) -> Cell:
    """A cell; an exception is labelled by the last part of its name, as everywhere on screen."""
    text = str(label).rsplit(".", 1)[-1] if by == "exception" else str(label)
    return Cell(at_ms, str(key), text, stage, count)


def _ms(moment: datetime) -> int:
    return (moment - EPOCH) // MS
