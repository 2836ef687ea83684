"""Exact counts from the hour and day counters, with the records of the two broken hours at the edges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import msgspec
from django.db.models import Count, QuerySet, Sum

from dlqadmin.deadletters.filters import Filters, apply, fingerprint_ids
from dlqadmin.deadletters.models import CountDay, CountHour, DeadLetter
from dlqadmin.deadletters.preparing import EPOCH

HOUR = timedelta(hours=1)
HOURLY_UP_TO = timedelta(hours=48)


class Cell(msgspec.Struct, frozen=True):
    """What a counter counts."""

    fingerprint: int
    topic: str
    connector: str


def cells(filters: Filters) -> Counter[Cell]:
    """How many dead letters match, by fingerprint, topic and connector; the filters must be `counted`."""
    total: Counter[Cell] = Counter()
    first, last = _ceil(filters.start), _floor(filters.end)
    if first >= last:
        return _scan(filters, filters.start, filters.end)
    total += _scan(filters, filters.start, EPOCH + first * HOUR)
    total += _scan(filters, EPOCH + last * HOUR, filters.end)
    first_day, last_day = -(-first // 24), last // 24
    if (last - first) * HOUR <= HOURLY_UP_TO or first_day >= last_day:
        return total + _sum(filters, CountHour, "hour", first, last)
    total += _sum(filters, CountHour, "hour", first, first_day * 24)
    total += _sum(filters, CountDay, "day", first_day, last_day)
    total += _sum(filters, CountHour, "hour", last_day * 24, last)
    return total


def hourly(filters: Filters) -> Iterator[tuple[int, int, int]]:
    """(hour, fingerprint, n) of the whole hours that touch the range."""
    rows = _narrow(filters, CountHour).filter(hour__gte=_floor(filters.start), hour__lt=_ceil(filters.end))
    yield from rows.values_list("hour", "fingerprint_id").annotate(total=Sum("n")).order_by("hour", "fingerprint_id")


def daily(filters: Filters) -> Iterator[tuple[int, int, int]]:
    """(day, fingerprint, n) of the whole days that touch the range."""
    first, last = _floor(filters.start) // 24, -(-_ceil(filters.end) // 24)
    rows = _narrow(filters, CountDay).filter(day__gte=first, day__lt=last)
    yield from rows.values_list("day", "fingerprint_id").annotate(total=Sum("n")).order_by("day", "fingerprint_id")


def _scan(filters: Filters, start: datetime, end: datetime) -> Counter[Cell]:
    """The records of a part of the range, shorter than an hour."""
    if start >= end:
        return Counter()
    rows = apply(msgspec.structs.replace(filters, start=start, end=end), DeadLetter.objects.all())
    grouped = rows.order_by().values_list("fingerprint_id", "topic", "connector").annotate(total=Count("pk"))
    return Counter({Cell(*cell): n for *cell, n in grouped})


def _sum(filters: Filters, table: type[CountHour | CountDay], unit: str, first: int, last: int) -> Counter[Cell]:
    if first >= last:
        return Counter()
    rows = _narrow(filters, table).filter(**{f"{unit}__gte": first, f"{unit}__lt": last})
    grouped = rows.order_by().values_list("fingerprint_id", "topic", "connector").annotate(total=Sum("n"))
    return Counter({Cell(*cell): n for *cell, n in grouped})


def _narrow(filters: Filters, table: type[CountHour | CountDay]) -> QuerySet[Any]:
    rows = table._default_manager.all()
    wanted = fingerprint_ids(filters)
    if wanted is not None:
        rows = rows.filter(fingerprint_id__in=wanted)
    for name in ("topic", "connector"):
        if values := filters.include.get(name):
            rows = rows.filter(**{f"{name}__in": values})
        if values := filters.exclude.get(name):
            rows = rows.exclude(**{f"{name}__in": values})
    return rows


def _floor(moment: datetime) -> int:
    return (moment - EPOCH) // HOUR


def _ceil(moment: datetime) -> int:
    return -((EPOCH - moment) // HOUR)
