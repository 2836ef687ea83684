"""The figures of one connector over time, from the minutes of its tasks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime

from django.db.models import Max

from dlqadmin.deadletters.search.histogram import bucket_ms
from dlqadmin.deadletters.search.time_limits import QueryTimedOut, bounded
from dlqadmin.metrics.documents import ConnectorHistory, PointSeries
from dlqadmin.metrics.errors import MINUTE_MS, epoch_ms
from dlqadmin.metrics.models import TaskMinute, TaskSnapshot
from dlqadmin.metrics.queries import PARTS
from dlqadmin.rest.times import from_ms, iso

RETRIES = "total-retries"
BUCKETS = ("delivered", "dead_lettered", "skipped", "filtered")
BEFORE = -1  # the column of the last minute before the range
FIRST = -2  # of a task without one: the first minute in the range, where its counters stood

TaskMinutes = Mapping[int, Mapping[int, TaskMinute]]  # by task: the last minute of each column that has one, in order


def history(connector: str, start: datetime, end: datetime) -> ConnectorHistory:
    """Return the connector's figures by column of [start, end)."""
    width = bucket_ms(epoch_ms(end) - epoch_ms(start), MINUTE_MS)
    first = epoch_ms(start) // width * width
    size = -(-(epoch_ms(end) - first) // width)
    tasks: TaskMinutes = {}
    present: set[int] = set()
    try:
        with bounded():
            tasks = _minutes_by_task(connector, first, width)
            present = set(
                TaskSnapshot.objects.filter(connector=connector, removed=False).values_list("task", flat=True)
            )
        exact = True
    except QueryTimedOut:
        exact = False
    stages = sorted({name for minutes in tasks.values() for row in minutes.values() for name in row.stage_failures})
    return ConnectorHistory(
        start=iso(from_ms(first)),
        to=iso(end),
        bucket_ms=width,
        records=[_series(name, tasks, size, _metric(PARTS[name])) for name in BUCKETS],
        failures=[one for name in stages if (one := _series(name, tasks, size, _failures(name))).total],
        retries=_changes(tasks, size, _metric(RETRIES)),
        lag=_lags(tasks, present, size),
        exact=exact,
    )


def _minutes_by_task(connector: str, first: int, width: int) -> dict[int, dict[int, TaskMinute]]:
    """Return the last minute of each task and column. Only these are loaded: a task has up to 43,200 minutes."""
    rows = TaskMinute.objects.filter(connector=connector)
    before = rows.filter(minute__lt=from_ms(first)).values("task").annotate(last=Max("minute"))
    chosen = {row["task"]: {BEFORE: row["last"]} for row in before}
    for task, minute in rows.filter(minute__gte=from_ms(first)).order_by("minute").values_list("task", "minute"):
        chosen.setdefault(task, {FIRST: minute})[(epoch_ms(minute) - first) // width] = minute
    found: dict[int, dict[int, TaskMinute]] = {}
    for task, minutes in chosen.items():
        loaded = {row.minute: row for row in rows.filter(task=task, minute__in=set(minutes.values()))}
        found[task] = {column: loaded[minute] for column, minute in minutes.items() if minute in loaded}
    return found


def _series(key: str, tasks: TaskMinutes, size: int, figure: Callable[[TaskMinute], int]) -> PointSeries:
    points = _changes(tasks, size, figure)
    return PointSeries(key=key, total=sum(points), points=points)


def _changes(tasks: TaskMinutes, size: int, figure: Callable[[TaskMinute], int]) -> list[int]:
    """Return the increase of a counter by column, added over all tasks.

    The first known minute of a task only says where the counter stood. A counter that fell began again at zero.
    """
    points = [0] * size
    for minutes in tasks.values():
        known: int | None = None
        for column, row in minutes.items():
            value = figure(row)
            if known is not None and 0 <= column < size:
                points[column] += value - known if value >= known else value
            known = value
    return points


def _lags(tasks: TaskMinutes, present: Collection[int], size: int) -> list[int | None]:
    """Return the sum of the tasks' last known lags at the end of each column.

    A minute is stored only when something changed, so a lag is valid until the next one, or until its task went.
    """
    lags: list[int | None] = [None] * size
    for task, minutes in tasks.items():
        known: int | None = None
        last = size if task in present else max(minutes) + 1
        for column in range(BEFORE, min(last, size)):
            if column in minutes:
                known = minutes[column].lag
            if column >= 0 and known is not None:
                lags[column] = (lags[column] or 0) + known
    return lags


def _metric(name: str) -> Callable[[TaskMinute], int]:
    return lambda row: _count(row.metrics.get(name))


def _failures(stage: str) -> Callable[[TaskMinute], int]:
    return lambda row: _count(row.stage_failures.get(stage))


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0
