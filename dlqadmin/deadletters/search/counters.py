"""Exact counts from hour and day counters, and from records for partial hours at the ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, Literal

import msgspec
from django.db import models
from django.db.models import F, QuerySet, Sum
from django.utils import timezone

from dlqadmin.deadletters.index.column_values import EPOCH
from dlqadmin.deadletters.models import CountDay, CountHour
from dlqadmin.deadletters.search.fields import FILTER_FIELDS, FieldHome
from dlqadmin.deadletters.search.filter_queries import apply_choices, fingerprint_ids, in_reach, with_fingerprints
from dlqadmin.deadletters.search.filters import Filters

HOUR = timedelta(hours=1)
CELL = ("fingerprint_id", "cluster", "topic", "connector")  # the columns of a counter cell
HOURLY_UP_TO = timedelta(hours=48)
COLUMNS = tuple(name for name, field in FILTER_FIELDS.items() if field.home is FieldHome.COUNTER)


Count = CountHour | CountDay
Span = tuple[type[Count], str, int, int]  # table, name of its unit, first unit, end (exclusive)


class CounterCell(msgspec.Struct, frozen=True):
    """The dimensions of a counter."""

    fingerprint: int
    cluster: str
    topic: str
    connector: str


def cells(filters: Filters) -> Counter[CounterCell]:
    """Count matching dead letters by fingerprint, cluster, topic and connector.

    The filters must be `counted`.
    """
    total: Counter[CounterCell] = Counter()
    filters = with_fingerprints(filters)
    for start, end in _edges(filters):
        total += _part(filters, start, end)
    for table, unit, first, last in _spans(filters):
        total += _sum(filters, table, unit, first, last)
    return total


def count(filters: Filters) -> int:
    """Count matching dead letters. The filters must be `counted`."""
    filters = with_fingerprints(filters)
    whole = sum(
        _between(filters, table, unit, first, last).aggregate(n=Sum("n"))["n"] or 0
        for table, unit, first, last in _spans(filters)
    )
    return whole + sum(_part(filters, start, end).total() for start, end in _edges(filters))


def days_before(end: datetime, days: int) -> list[int]:
    """Count failures in each of the last `days` spans of 24 whole hours, oldest first.

    The last span ends at the hour of `end`.
    """
    last = _floor(end)
    span = (F("hour") - (last - 24 * days)) / 24
    rows = CountHour.objects.filter(hour__gte=last - 24 * days, hour__lt=last).order_by()
    found = dict(rows.values_list(span).annotate(total=Sum("n")))
    return [found.get(day, 0) for day in range(days)]


def columns(
    filters: Filters, origin: int, hours: int, name: Literal["topic", "connector"] = "topic"
) -> Iterator[tuple[int, str, int, int]]:
    """Yield (first hour of a column, topic or connector, fingerprint, n) of all matches.

    Columns are `hours` wide and aligned to `origin`. Partial hours at the ends of the range belong to the
    column of their hour. The filters must be `counted`.
    """
    for start, end in _edges(filters):
        for cell, n in _part(filters, start, end).items():
            yield _column(_floor(start), origin, hours), getattr(cell, name), cell.fingerprint, n
    yield from _by_column(filters, origin, hours, name, "fingerprint_id")


def totals(filters: Filters, origin: int, hours: int) -> Iterator[tuple[int, int]]:
    """Yield (first hour of a column, n) as `columns` does, summed over all cells."""
    for start, end in _edges(filters):
        yield _column(_floor(start), origin, hours), _part(filters, start, end).total()
    yield from _by_column(filters, origin, hours)


def _by_column(filters: Filters, origin: int, hours: int, *names: str) -> Iterator[Any]:
    """Yield (first hour of a column, values of `names`, n) of the whole hours.

    If columns are whole days, the day counters are read.
    """
    by_day = hours % 24 == 0 and origin % 24 == 0
    spans = _spans(filters, HOUR if by_day else timedelta.max)
    for table, unit, first, last in spans:
        scale = 24 if unit == "day" else 1
        rows = _between(filters, table, unit, first, last)
        column = F(unit) - (F(unit) - origin // scale) % (hours // scale)
        found = rows.values_list(column, *names).annotate(total=Sum("n"))
        yield from found if scale == 1 else ((at * scale, *values) for at, *values in found)


def _column(hour: int, origin: int, hours: int) -> int:
    return hour - (hour - origin) % hours


def hourly(filters: Filters, width: int = 1) -> Iterator[tuple[int, int, int]]:
    """Yield (hour, fingerprint, n) of the whole hours that overlap the range.

    Groups of `width` hours are counted together, at their first hour.
    """
    rows = _between(filters, CountHour, "hour", _floor(filters.start), _ceil(filters.end))
    column = F("hour") - F("hour") % width
    yield from rows.values_list(column, "fingerprint_id").annotate(total=Sum("n"))


def daily(filters: Filters) -> Iterator[tuple[int, int, int]]:
    """Yield (day, fingerprint, n) of the whole days that overlap the range."""
    first, last = _floor(filters.start) // 24, -(-_ceil(filters.end) // 24)
    rows = _between(filters, CountDay, "day", first, last)
    yield from rows.values_list("day", "fingerprint_id").annotate(total=Sum("n")).order_by("day", "fingerprint_id")


def _edges(filters: Filters) -> list[tuple[datetime, datetime]]:
    """Return the partial hours at the ends of the range."""
    first, last = _ceil(filters.start), _floor(filters.end)
    if first > last:
        return [(filters.start, filters.end)]
    edges = [(filters.start, EPOCH + first * HOUR), (EPOCH + last * HOUR, filters.end)]
    return [(start, end) for start, end in edges if start < end]


def _part(filters: Filters, start: datetime, end: datetime) -> Counter[CounterCell]:
    """Count failures in a part of one hour.

    The function reads either the records of this part, or the hour's counter minus the records outside the
    part. It chooses the shorter part, counting only time that has passed. So it reads few records of the
    present hour, even if that hour has a burst.
    """
    hour = _floor(start)
    beside = [(EPOCH + hour * HOUR, start), (end, EPOCH + (hour + 1) * HOUR)]
    # Time that has not passed holds no records, so it costs nothing to scan.
    now = timezone.now()
    if sum((_passed(*part, now) for part in beside), timedelta()) >= _passed(start, end, now):
        return _scan(filters, start, end)
    found = _sum(filters, CountHour, "hour", hour, hour + 1)
    for part in beside:
        found -= _scan(filters, *part)
    return found


def _passed(start: datetime, end: datetime, now: datetime) -> timedelta:
    return max(timedelta(), min(end, now) - start)


def _scan(filters: Filters, start: datetime, end: datetime) -> Counter[CounterCell]:
    """Count the records of a part of one hour."""
    if start >= end:
        return Counter()
    rows = in_reach(msgspec.structs.replace(filters, start=start, end=end))
    grouped = rows.order_by().values_list(*CELL).annotate(total=models.Count("pk"))
    return Counter({CounterCell(*cell): n for *cell, n in grouped})


def _sum(filters: Filters, table: type[Count], unit: str, first: int, last: int) -> Counter[CounterCell]:
    rows = _between(filters, table, unit, first, last)
    grouped = rows.values_list(*CELL).annotate(total=Sum("n"))
    return Counter({CounterCell(*cell): n for *cell, n in grouped})


def _between(filters: Filters, table: type[Count], unit: str, first: int, last: int) -> QuerySet[Any]:
    return _narrow(filters, table).filter(**{f"{unit}__gte": first, f"{unit}__lt": last}).order_by()


def _spans(filters: Filters, hourly_up_to: timedelta = HOURLY_UP_TO) -> list[Span]:
    """Return the spans of whole hours in the range. Long ranges use whole days with hours around them."""
    first, last = _ceil(filters.start), _floor(filters.end)
    first_day, last_day = -(-first // 24), last // 24
    spans: list[Span] = [(CountHour, "hour", first, last)]
    if (last - first) * HOUR > hourly_up_to and first_day < last_day:
        spans = [
            (CountHour, "hour", first, first_day * 24),
            (CountDay, "day", first_day, last_day),
            (CountHour, "hour", last_day * 24, last),
        ]
    return [span for span in spans if span[2] < span[3]]


def _narrow(filters: Filters, table: type[Count]) -> QuerySet[Any]:
    rows = table._default_manager.all()
    wanted = fingerprint_ids(filters)
    if wanted is not None:
        rows = rows.filter(fingerprint_id__in=wanted)
    for name in COLUMNS:
        if values := filters.include.get(name):
            rows = rows.filter(**{f"{name}__in": values})
        if values := filters.exclude.get(name):
            rows = rows.exclude(**{f"{name}__in": values})
    return apply_choices(filters.choices, rows)


def _floor(moment: datetime) -> int:
    return (moment - EPOCH) // HOUR


def _ceil(moment: datetime) -> int:
    return -((EPOCH - moment) // HOUR)
