"""The present error rates of tasks."""

from datetime import datetime, timedelta
from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery

from dlqadmin.metrics.models import TaskMinute, TaskSnapshot

ERRORS = "total-record-errors"
LOOKED_AT = timedelta(hours=1)
ENOUGH = timedelta(minutes=5)


def errors_per_hour(now: datetime) -> dict[tuple[str, int], float]:
    """Return errors per hour by (connector, task), over the last hour.

    A task needs data for five minutes to have a rate. A minute is written only when figures change, so the
    last minute before the hour is valid at its start.
    """
    start = now - LOOKED_AT
    before = _minutes().filter(minute__lt=start).order_by("-minute")
    first = _minutes().filter(minute__gte=start).order_by("minute")
    rows = TaskSnapshot.objects.filter(removed=False).annotate(
        before=Subquery(before.values("metrics")[:1]),
        first=Subquery(first.values("metrics")[:1]),
        first_at=Subquery(first.values("minute")[:1]),
    )
    found = {}
    for row in rows.values("connector", "task", "metrics", "before", "first", "first_at"):
        base = row["first"] if row["before"] is None else row["before"]
        since = start if row["before"] is not None else row["first_at"]
        if base is not None and now - since >= ENOUGH:
            errors = max(0, _errors(row["metrics"]) - _errors(base))
            found[row["connector"], row["task"]] = errors * (timedelta(hours=1) / (now - since))
    return found


def _minutes() -> QuerySet[TaskMinute]:
    return TaskMinute.objects.filter(connector=OuterRef("connector"), task=OuterRef("task"))


def _errors(metrics: dict[str, Any]) -> int:
    value = metrics.get(ERRORS)
    return value if isinstance(value, int) else 0
