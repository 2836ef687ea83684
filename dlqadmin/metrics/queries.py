"""Queries of metrics: the balance, the stages, and each task's latest status."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Max

from dlqadmin.metrics.models import StatusPosition, TaskSnapshot
from dlqadmin.rest.times import from_ms, iso, iso_or_none

LAST_FAILURE = "last-failure-timestamp"
PARTS = {
    "consumed": "records-consumed",
    "delivered": "records-delivered",
    "dead_lettered": "records-dead-lettered",
    "skipped": "records-skipped",
    "filtered": "records-filtered",
}


def collected_at() -> datetime | None:
    """Return when the status topic was last read to its end; None if never."""
    rows = StatusPosition.objects.filter(topic=settings.STATUS_TOPIC)
    moment: datetime | None = rows.aggregate(at=Max("collected_at"))["at"]
    return moment


def balance() -> dict[str, Any]:
    """Return the balance in total and by connector.

    Consumed = delivered + dead-lettered + skipped + filtered.
    """
    by_connector: dict[str, list[TaskSnapshot]] = {}
    for snapshot in TaskSnapshot.objects.order_by("connector", "task").defer("status"):
        by_connector.setdefault(snapshot.connector, []).append(snapshot)
    connectors = [
        {"name": name, **_balance_of(add(row.metrics for row in rows))} for name, rows in by_connector.items()
    ]
    whole = _balance_of(add(row.metrics for rows in by_connector.values() for row in rows))
    balanced = all(row["balanced"] for row in connectors)
    return {**whole, "balanced": balanced, "as_of": iso_or_none(collected_at()), "connectors": connectors}


def add(rows: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Add the metrics of several tasks. Of times, keep the latest."""
    total: dict[str, int] = {}
    for row in rows:
        for name, value in row.items():
            known = total.get(name, 0)
            total[name] = max(known, value) if name == LAST_FAILURE else known + value
    return total


def snapshots(connector: str | None = None) -> dict[str, list[TaskSnapshot]]:
    """Return the latest status of the existing tasks, by connector."""
    rows = TaskSnapshot.objects.filter(removed=False).order_by("connector", "task")
    if connector is not None:
        rows = rows.filter(connector=connector)
    found: dict[str, list[TaskSnapshot]] = {}
    for row in rows:
        found.setdefault(row.connector, []).append(row)
    return found


def task_lag(status: Mapping[str, Any]) -> int | None:
    """Return the records that a task has not consumed yet; None if it did not report them.

    The task reports its lag, or else its positions and ends.
    """
    if isinstance(said := status.get("lag"), int):
        return said
    positions, ends = status.get("positions"), status.get("ends")
    if not isinstance(positions, dict) or not isinstance(ends, dict):
        return None
    return sum(max(0, _whole(end) - _whole(positions.get(name))) for name, end in ends.items())


def last_error_at(metrics: Mapping[str, int]) -> str | None:
    """Return when a task or connector last failed, as text; None if never."""
    moment = metrics.get(LAST_FAILURE, 0)
    return iso(from_ms(moment)) if 0 < moment < 2**47 else None


def stages(connector: str) -> dict[str, Any]:
    """Return how many records reached each stage of a connector, and how many failed there.

    `exact` is false if these failures include retried ones, because a record may then have failed twice.
    """
    tasks = list(TaskSnapshot.objects.filter(connector=connector).order_by("removed", "-reported_at"))
    pipeline = _pipeline(tasks)
    metrics = add(row.metrics for row in tasks)
    failed = _failed_by_stage(tasks, pipeline)
    errors = metrics.get(PARTS["dead_lettered"], 0) + metrics.get(PARTS["skipped"], 0)
    rows, left = [], metrics.get(PARTS["consumed"], 0)
    for index, stage in enumerate(pipeline):
        if stage["type"] == "TASK_PUT":
            left = min(left, metrics.get(PARTS["delivered"], 0) + failed[index])
        rows.append({"index": index, **stage, "in": left, "failed": failed[index]})
        left = max(0, left - failed[index])
    return {"connector": connector, "stages": rows, "total_failed": sum(failed), "exact": sum(failed) == errors}


def pipeline_of(status: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the stages that a task reports.

    `name` is the node of a stream's processor, and empty for other stages.
    """
    found = status.get("stages")
    rows = [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
    return [{name: str(row.get(name) or "") for name in ("type", "class", "name")} for row in rows]


def by_stage(pipeline: Sequence[Mapping[str, str]], told: object) -> list[int]:
    """Return the counts of these stages in order.

    A task reports them by `<index>:<stage type>:<class, or a node's name>`. Counts of other stages, as before
    a change of the pipeline, are ignored.
    """
    known = told if isinstance(told, dict) else {}
    keys = (f"{index}:{stage['type']}:{stage['name'] or stage['class']}" for index, stage in enumerate(pipeline))
    return [_whole(known.get(key)) for key in keys]


def _balance_of(metrics: Mapping[str, int]) -> dict[str, Any]:
    parts = {name: metrics.get(metric, 0) for name, metric in PARTS.items()}
    return {**parts, "balanced": parts["consumed"] == sum(parts.values()) - parts["consumed"]}


def _pipeline(tasks: Iterable[TaskSnapshot]) -> list[dict[str, str]]:
    return next((rows for task in tasks if (rows := pipeline_of(task.status))), [])


def _failed_by_stage(tasks: Iterable[TaskSnapshot], pipeline: Sequence[Mapping[str, str]]) -> list[int]:
    counted = [by_stage(pipeline, task.status.get("stage_failures")) for task in tasks]
    return [sum(counts) for counts in zip(*counted, strict=True)]


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
