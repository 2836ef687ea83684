"""Errors over time, counted exactly from the index's counters."""

from collections import Counter
from collections.abc import Collection, Iterable
from datetime import datetime, timedelta

import msgspec

from dlqadmin.deadletters.groups.safe_titles import title_for_reader
from dlqadmin.deadletters.index.group_titles import short
from dlqadmin.deadletters.models import DeadLetter, Fingerprint
from dlqadmin.deadletters.search import counters
from dlqadmin.deadletters.search.filters import Filters
from dlqadmin.deadletters.search.time_limits import QueryTimedOut, bounded
from dlqadmin.metrics.documents import DailyErrors, ErrorSeries, ErrorsOverTime, WeekBefore
from dlqadmin.rest.times import from_ms, iso

EPOCH = from_ms(0)
MS = timedelta(milliseconds=1)
MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
WEEK = timedelta(days=7)
MOST_SERIES = 8
# The widest range of each bucket width. The result has about fifty columns, which fit a chart.
BUCKETS = (
    (3 * HOUR_MS, 5 * MINUTE_MS),
    (48 * HOUR_MS, HOUR_MS),
    (8 * 24 * HOUR_MS, 3 * HOUR_MS),
    (45 * 24 * HOUR_MS, 24 * HOUR_MS),
    (100 * 24 * HOUR_MS, 48 * HOUR_MS),
)
MOST_BUCKETS = 200
MOST_RECORDS = 20_000
SERIES = ("group", "exception", "stage", "topic")


Counted = tuple[int, str, int, int]  # column start (ms), topic or connector, fingerprint, count


def bucket_ms(span_ms: int) -> int:
    """Return the column width for a range of this length."""
    for widest, width in BUCKETS:
        if span_ms <= widest:
            return width
    days = -(-span_ms // (MOST_BUCKETS * 24 * HOUR_MS))
    return days * 24 * HOUR_MS


def series(start: datetime, end: datetime, by: str) -> ErrorsOverTime:
    """Return exact columns of the errors in [start, end). `from` is the start of the first column.

    Narrow columns are counted from records if there are few, wide ones from the hour counters. The eight
    biggest series are separate, the others are added up. `week_before` is None if columns are narrower than
    an hour.
    """
    width = bucket_ms(epoch_ms(end) - epoch_ms(start))
    try:
        with bounded():
            if width < HOUR_MS and count_between(start, end) > MOST_RECORDS:
                width = HOUR_MS
            if width < HOUR_MS:
                counted, before = _narrow(start, end, width), None
            else:
                counted, before = columns(start, end, width), week_before(Filters(start, end), width)
            rows = stack(counted, by, start, end, width)
            exact = True
    except QueryTimedOut:
        rows, before, exact = [], None, False
    return ErrorsOverTime(
        start=iso(from_ms(column_start(start, width))),
        to=iso(end),
        bucket_ms=width,
        series=biggest_series(rows),
        total=sum(row.total for row in rows),
        week_before=before,
        exact=exact,
    )


def stack(counted: Iterable[Counted], by: str, start: datetime, end: datetime, width: int) -> list[ErrorSeries]:
    """Combine counts in [start, end) into series of columns, biggest first.

    There are thousands of counts but few keys, so counts are added before names are looked up. A series with
    two stages shows the bigger one.
    """
    first, last = column_start(start, width), -(-epoch_ms(end) // width) * width
    found: dict[tuple[str, int], list[int]] = {}
    for at, topic, fingerprint, n in counted:
        points = found.get((topic, fingerprint))
        if points is None:
            points = found[topic, fingerprint] = [0] * ((last - first) // width)
        points[(at - first) // width] += n
    rows: dict[str, ErrorSeries] = {}
    stages: dict[str, Counter[str]] = {}
    names = _names({fingerprint for _, fingerprint in found}, by)
    for (topic, fingerprint), points in found.items():
        key, label, stage = names[fingerprint]
        key, label = (topic, topic) if by in ("topic", "connector") else (key, label)
        if key not in rows:
            rows[key] = ErrorSeries(key=key, label=label, stage="", total=0, points=[0] * len(points), others=0)
        rows[key].points = [one + more for one, more in zip(rows[key].points, points, strict=True)]
        stages.setdefault(key, Counter())[stage] += sum(points)
    for key, row in rows.items():
        row.stage, row.total = stages[key].most_common(1)[0][0], stages[key].total()
    return sorted(rows.values(), key=lambda row: (-row.total, row.label))


def count_between(start: datetime, end: datetime) -> int:
    """Return the exact number of failures in [start, end)."""
    return counters.count(Filters(start, end))


def count_24h(now: datetime) -> DailyErrors:
    """Return the exact errors of the last 24 hours, and the mean of the six days before.

    These six days consist of whole hours.
    """
    day = timedelta(days=1)
    days = [*counters.days_before(now - day, 6), count_between(now - day, now)]
    mean = sum(days[:-1]) / 6
    change = round((days[-1] - mean) / mean * 100, 1) if mean else None
    return DailyErrors(count=days[-1], mean_before=round(mean, 1), change_percent=change, days=days)


def biggest_series(rows: list[ErrorSeries]) -> list[ErrorSeries]:
    """Return the biggest series, and the sum of the others if there is more than one."""
    if len(rows) <= MOST_SERIES + 1:
        return rows
    shown, others = rows[:MOST_SERIES], rows[MOST_SERIES:]
    points = [sum(column) for column in zip(*(row.points for row in others), strict=True)]
    label = f"{len(others):,} others"
    return [
        *shown,
        ErrorSeries(key="", label=label, stage="", total=sum(points), points=points, others=len(others)),
    ]


def week_before(filters: Filters, width: int) -> WeekBefore:
    """Return the failures of the week before, each in the column one week later."""
    start, end = filters.start, filters.end
    first, last = column_start(start, width), -(-epoch_ms(end) // width) * width
    origin = (first - WEEK // MS) // HOUR_MS
    points = [0] * ((last - first) // width)
    earlier = msgspec.structs.replace(filters, start=start - WEEK, end=end - WEEK)
    for hour, n in counters.totals(earlier, origin, width // HOUR_MS):
        points[(hour - origin) * HOUR_MS // width] += n
    return WeekBefore(total=sum(points), points=points)


def column_start(start: datetime, width: int) -> int:
    """Return the start of the column that contains `start`."""
    return epoch_ms(start) // width * width


def columns(start: datetime, end: datetime, width: int) -> Iterable[Counted]:
    """Yield the failures in [start, end) in columns of whole hours."""
    found = counters.columns(Filters(start, end), column_start(start, width) // HOUR_MS, width // HOUR_MS)
    return ((hour * HOUR_MS, topic, fingerprint, n) for hour, topic, fingerprint, n in found)


def _narrow(start: datetime, end: datetime, width: int) -> Iterable[Counted]:
    """Yield columns narrower than an hour, counted from records."""
    found = DeadLetter.objects.filter(failed_at__gte=start, failed_at__lt=end)
    rows = found.values_list("failed_at", "topic", "fingerprint_id")
    return ((epoch_ms(at) // width * width, topic, fingerprint, 1) for at, topic, fingerprint in rows)


def _names(fingerprints: Collection[int], by: str) -> dict[int, tuple[str, str, str]]:
    """Return (key, label, stage) of each. The label of an exception is the last part of its name."""
    rows = Fingerprint.objects.filter(pk__in=fingerprints)
    known = rows.values_list("pk", "group_id", "group__title", "exception_class", "stage")
    return {
        pk: (*_name(by, str(group), title, exception, stage), stage) for pk, group, title, exception, stage in known
    }


def _name(by: str, group: str, title: str, exception: str, stage: str) -> tuple[str, str]:
    if by == "group":
        return group, title_for_reader(int(group), title)
    return (stage, stage) if by == "stage" else (exception, short(exception))


def epoch_ms(moment: datetime) -> int:
    """Return milliseconds since the epoch."""
    return (moment - EPOCH) // MS
