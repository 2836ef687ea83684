"""Roll the minutes of tasks up into hours, which are kept for much longer."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from itertools import groupby
from typing import NamedTuple

from django.db.models import Max, OuterRef, Subquery

from dlqadmin.metrics.models import TaskHour, TaskMinute, TaskSnapshot
from dlqadmin.metrics.queries import PARTS
from dlqadmin.rest.times import from_ms

HOUR = timedelta(hours=1)
SETTLED_AFTER = timedelta(minutes=5)  # the collector stores the last statuses of an hour some seconds after its end
HOURS_KEPT = timedelta(days=400)  # a year, and the week before its first day
RETRIES = "total-retries"
COUNTERS = {**PARTS, "retried": RETRIES}
BATCH = 1000


class TaskName(NamedTuple):
    """A task of a connector."""

    connector: str
    task: int


def hour_of(moment: datetime) -> int:
    """Return the hours from the epoch to the hour of `moment`."""
    return (moment - from_ms(0)) // HOUR


def start_of(hour: int) -> datetime:
    """Return the first moment of an hour."""
    return from_ms(0) + hour * HOUR


def roll_up(now: datetime, connectors: Collection[str] | None = None) -> int:
    """Store the hours of all tasks that ended five minutes ago and are not stored yet; return their number.

    With `connectors`, only their tasks are rolled up, and all their hours until now. The stored hours of a task have no
    gaps before its last one, so a repeated call starts there.
    """
    if connectors is not None and not connectors:
        return 0
    end = hour_of(now - SETTLED_AFTER) if connectors is None else hour_of(now) + 1
    made = 0
    for name in _tasks(connectors):
        rows = hours_between(name, _first_missing(name), end)
        TaskHour.objects.bulk_create(
            rows,
            batch_size=BATCH,
            update_conflicts=True,
            unique_fields=["connector", "task", "hour"],
            update_fields=[*COUNTERS, "stage_failures", "lag", "max_lag"],
        )
        made += len(rows)
    return made


def recent_hours(now: datetime) -> list[TaskHour]:
    """Return the present hour and the one before it, computed from minutes, unsaved.

    So a roll-up that runs late leaves no gap in a chart.
    """
    first = hour_of(now) - 1
    own = TaskMinute.objects.filter(connector=OuterRef("connector"), task=OuterRef("task"))
    before = own.filter(minute__lt=start_of(first)).order_by("-minute").values("pk")[:1]
    bases = TaskMinute.objects.filter(pk__in=TaskSnapshot.objects.annotate(base=Subquery(before)).values("base"))
    known = {TaskName(row.connector, row.task): row for row in bases}
    rows = TaskMinute.objects.filter(minute__gte=start_of(first)).order_by("connector", "task", "minute")
    found: list[TaskHour] = []
    for name, minutes in groupby(rows, key=lambda row: TaskName(row.connector, row.task)):
        found += fold(name, known.get(name), minutes)
    return found


def forget_from(first: datetime, connector: str) -> None:
    """Delete the stored hours of a connector from the hour of `first` on, so that they are rolled up again."""
    TaskHour.objects.filter(hour__gte=hour_of(first), connector=connector).delete()


def prune(now: datetime) -> int:
    """Delete hours that are older than `HOURS_KEPT`; return their number."""
    return TaskHour.objects.filter(hour__lt=hour_of(now - HOURS_KEPT)).delete()[0]


def hours_between(name: TaskName, first: int | None, end: int) -> list[TaskHour]:
    """Return the hours of a task in [first, end), from its minutes. None starts at its first minute."""
    minutes = TaskMinute.objects.filter(connector=name.connector, task=name.task, minute__lt=start_of(end))
    base = None
    if first is not None:
        base = minutes.filter(minute__lt=start_of(first)).order_by("-minute").first()
        minutes = minutes.filter(minute__gte=start_of(first))
    return fold(name, base, minutes.order_by("minute").iterator())


def fold(name: TaskName, base: TaskMinute | None, minutes: Iterable[TaskMinute]) -> list[TaskHour]:
    """Return the hours that these minutes belong to. Pure.

    `base` is the minute before them. Without it, the first minute only says where the counters stood. A counter that
    fell began again at zero.
    """
    found: list[TaskHour] = []
    for minute in minutes:
        hour = hour_of(minute.minute)
        if not found or found[-1].hour != hour:
            found.append(TaskHour(connector=name.connector, task=name.task, hour=hour))
        if base is not None:
            _add(found[-1], base, minute)
        _note_lag(found[-1], minute.lag)
        base = minute
    return found


def increase(before: object, after: object) -> int:
    """Return the increase of a counter that may have begun again at zero."""
    old, new = _count(before), _count(after)
    return new - old if new >= old else new


def _add(hour: TaskHour, before: TaskMinute, after: TaskMinute) -> None:
    for field, metric in COUNTERS.items():
        more = increase(before.metrics.get(metric), after.metrics.get(metric))
        setattr(hour, field, getattr(hour, field) + more)
    for stage, count in after.stage_failures.items():
        if more := increase(before.stage_failures.get(stage), count):
            hour.stage_failures[stage] = hour.stage_failures.get(stage, 0) + more


def _note_lag(hour: TaskHour, lag: int | None) -> None:
    hour.lag = lag
    if lag is not None:
        hour.max_lag = max(lag, hour.max_lag or 0)


def _tasks(connectors: Collection[str] | None) -> list[TaskName]:
    rows = TaskSnapshot.objects.order_by("connector", "task")
    if connectors is not None:
        rows = rows.filter(connector__in=connectors)
    return [TaskName(*row) for row in rows.values_list("connector", "task")]


def _first_missing(name: TaskName) -> int | None:
    """Return the hour after the last stored one of a task; None if none is stored."""
    stored = TaskHour.objects.filter(connector=name.connector, task=name.task)
    last: int | None = stored.aggregate(last=Max("hour"))["last"]
    return None if last is None else last + 1


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0
