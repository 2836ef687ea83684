"""Errors, throughput and lag over months, and the same time a week before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Literal, NamedTuple, get_args

from django.db.models import OuterRef, Subquery
from django.utils import timezone

from dlqadmin.deadletters.search import counters
from dlqadmin.deadletters.search.filters import Filters
from dlqadmin.deadletters.search.time_limits import QueryTimedOut, bounded
from dlqadmin.metrics import errors, task_hours
from dlqadmin.metrics.documents import ErrorSeries, TrendMeasure, Trends, TrendSplit, WeekBefore
from dlqadmin.metrics.errors import HOUR_MS, WEEK, biggest_series, column_start, epoch_ms
from dlqadmin.metrics.models import TaskHour, TaskSnapshot
from dlqadmin.metrics.reporter_names import connector_of
from dlqadmin.metrics.task_hours import HOUR, HOURS_KEPT, TaskName, hour_of
from dlqadmin.rest.times import from_ms, iso

MEASURES: tuple[TrendMeasure, ...] = get_args(TrendMeasure)
SPLITS: tuple[TrendSplit, ...] = get_args(TrendSplit)
# Tasks report no topics, groups or stages of their records.
TASK_SPLITS: tuple[TrendSplit, ...] = ("connector", "none")
LONGEST = HOURS_KEPT - WEEK
# The widest range, in hours, of each column width in hours. A week is a whole number of columns.
WIDTHS = ((8 * 24, 1), (45 * 24, 6), (180 * 24, 24))
WIDEST = 7 * 24
OUTCOMES = ("delivered", "dead_lettered", "skipped", "filtered")


class TrendRequest(NamedTuple):
    """A measure of [start, end), its split, and its filters. An empty filter matches everything."""

    measure: TrendMeasure
    by: TrendSplit
    start: datetime
    end: datetime
    topic: str = ""
    connector: str = ""
    group: str = ""
    stage: str = ""
    compares: bool = False


class ColumnGrid(NamedTuple):
    """Columns of whole hours: the first hour, the width in hours, and the number of columns."""

    first: int
    width: int
    size: int

    @property
    def end(self) -> int:
        return self.first + self.width * self.size


def width_of(start: datetime, end: datetime) -> int:
    """Return the column width in hours for a range of this length."""
    span = -(-(end - start) // HOUR)
    return next((width for widest, width in WIDTHS if span <= widest), WIDEST)


def trends(asked: TrendRequest) -> Trends:
    """Return the series of a measure by column, biggest first."""
    width = width_of(asked.start, asked.end) * HOUR_MS
    before: WeekBefore | None = None
    try:
        with bounded():
            if asked.measure == "errors":
                rows = _errors(asked, width)
                before = errors.week_before(_filters(asked), width) if asked.compares else None
            else:
                rows, before = _of_tasks(asked, _grid(asked.start, asked.end), timezone.now())
        exact = True
    except QueryTimedOut:
        rows, before, exact = [], None, False
    return Trends(
        start=iso(from_ms(column_start(asked.start, width))),
        to=iso(asked.end),
        bucket_ms=width,
        measure=asked.measure,
        by=asked.by,
        series=biggest_series(rows),
        total=_peak(rows) if asked.measure == "lag" else sum(row.total for row in rows),
        week_before=before,
        exact=exact,
    )


def _filters(asked: TrendRequest) -> Filters:
    connector = connector_of(asked.connector)
    named = {"topic": asked.topic, "connector": connector, "group": asked.group, "stage": asked.stage}
    return Filters(asked.start, asked.end, {name: (value,) for name, value in named.items() if value})


def _errors(asked: TrendRequest, width: int) -> list[ErrorSeries]:
    """Return the errors from the counters of the index."""
    first, hours = column_start(asked.start, width) // HOUR_MS, width // HOUR_MS
    if asked.by == "none":
        grid = _grid(asked.start, asked.end)
        points = [0] * grid.size
        for hour, n in counters.totals(_filters(asked), first, hours):
            points[(hour - first) // hours] += n
        return [_series("errors", points)] if any(points) else []
    name: Literal["topic", "connector"] = "connector" if asked.by == "connector" else "topic"
    found = counters.columns(_filters(asked), first, hours, name)
    counted = ((hour * HOUR_MS, value, fingerprint, n) for hour, value, fingerprint, n in found)
    return errors.stack(counted, asked.by, asked.start, asked.end, width)


def _of_tasks(asked: TrendRequest, grid: ColumnGrid, now: datetime) -> tuple[list[ErrorSeries], WeekBefore | None]:
    """Return throughput or lag from the hours of tasks, and their sum in the week before."""
    earlier = grid._replace(first=grid.first - WEEK // HOUR)
    hours = _hours(earlier.first if asked.compares else grid.first, grid.end, asked.connector, now)
    measure: Callable[[Iterable[TaskHour], ColumnGrid, TrendSplit], list[ErrorSeries]] = (
        _throughput if asked.measure == "throughput" else _lag
    )
    rows = measure(hours, grid, asked.by)
    if not asked.compares:
        return rows, None
    series = measure(hours, earlier, "none")
    points = [sum(column) for column in zip(*(row.points for row in series), strict=True)] or [0] * grid.size
    total = max(points) if asked.measure == "lag" else sum(points)
    return rows, WeekBefore(total=total, points=points)


def _hours(first: int, end: int, connector: str, now: datetime) -> list[TaskHour]:
    """Return the hours of tasks in [first, end), and the newest of each task before them, in order.

    The present hour and the one before it come from minutes.
    """
    rows = TaskHour.objects.filter(hour__gte=first, hour__lt=end).defer("stage_failures")
    # A lag from before the range is valid in it.
    own = TaskHour.objects.filter(connector=OuterRef("connector"), task=OuterRef("task"), hour__lt=first)
    newest = TaskSnapshot.objects.annotate(newest=Subquery(own.order_by("-hour").values("pk")[:1])).values("newest")
    rows |= TaskHour.objects.filter(pk__in=newest).defer("stage_failures")
    if connector:
        rows = rows.filter(connector=connector)
    found = {(row.connector, row.task, row.hour): row for row in rows}
    if end > hour_of(now) - 1:
        for row in task_hours.recent_hours(now):
            if first <= row.hour < end and connector in ("", row.connector):
                found[row.connector, row.task, row.hour] = row
    return [found[key] for key in sorted(found)]


def _throughput(hours: Iterable[TaskHour], grid: ColumnGrid, by: TrendSplit) -> list[ErrorSeries]:
    points: dict[str, list[int]] = defaultdict(lambda: [0] * grid.size)
    for row in hours:
        if not grid.first <= row.hour < grid.end:
            continue
        column = (row.hour - grid.first) // grid.width
        if by == "connector":
            points[row.connector][column] += row.consumed
        else:
            for name in OUTCOMES:
                points[name][column] += getattr(row, name)
    return _sorted(points)


def _lag(hours: Iterable[TaskHour], grid: ColumnGrid, by: TrendSplit) -> list[ErrorSeries]:
    """Return the sum over tasks of the highest lag of each column.

    An hour is stored only when something changed, so a lag is valid until the next one, or until its task went.
    """
    present = set(TaskSnapshot.objects.filter(removed=False).values_list("connector", "task"))
    of_task: dict[TaskName, list[TaskHour]] = defaultdict(list)
    for row in hours:
        of_task[TaskName(row.connector, row.task)].append(row)
    points: dict[str, list[int]] = defaultdict(lambda: [0] * grid.size)
    for name, rows in of_task.items():
        sums = points[name.connector if by == "connector" else "lag"]
        for column, lag in enumerate(_task_lags(rows, grid, is_present=tuple(name) in present)):
            sums[column] += lag
    rows_found = _sorted(points)
    for series in rows_found:
        series.total = max(series.points)
    return sorted(rows_found, key=lambda series: (-series.total, series.label))


def _task_lags(rows: list[TaskHour], grid: ColumnGrid, *, is_present: bool) -> list[int]:
    """Return the highest lag of one task by column."""
    lags = [0] * grid.size
    known: int | None = None
    rest = iter([*rows, None])
    row = next(rest)
    ends = grid.size if is_present else (rows[-1].hour - grid.first) // grid.width + 1
    for column in range(min(ends, grid.size)):
        highest = known or 0
        while row is not None and row.hour < grid.first + (column + 1) * grid.width:
            highest = (row.lag or 0) if row.hour < grid.first else max(highest, row.max_lag or 0)
            known, row = row.lag, next(rest)
        lags[column] = max(highest, lags[column])
    return lags


def _grid(start: datetime, end: datetime) -> ColumnGrid:
    width = width_of(start, end)
    first = column_start(start, width * HOUR_MS) // HOUR_MS
    return ColumnGrid(first, width, -(-(epoch_ms(end) - first * HOUR_MS) // (width * HOUR_MS)))


def _sorted(points: dict[str, list[int]]) -> list[ErrorSeries]:
    rows = [_series(key, values) for key, values in points.items() if any(values)]
    return sorted(rows, key=lambda row: (-row.total, row.label))


def _series(key: str, points: list[int]) -> ErrorSeries:
    return ErrorSeries(key=key, label=key, stage="", total=sum(points), points=points, others=0)


def _peak(rows: list[ErrorSeries]) -> int:
    return max((sum(column) for column in zip(*(row.points for row in rows), strict=True)), default=0)
