"""Queries of metrics: the balance, the stages, and each task's latest status."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import Max

from dlqadmin.metrics.documents import Balance, ConnectorBalance, ConnectorPipeline, RecordCounts, StageFigures
from dlqadmin.metrics.models import StatusPosition, TaskSnapshot
from dlqadmin.rest.documents import extend
from dlqadmin.rest.times import from_ms, iso, iso_or_none

LAST_FAILURE = "last-failure-timestamp"
CONSUME = "KAFKA_CONSUME"


class ReportedStage(NamedTuple):
    """A stage that a task reports. `name` is the node of a stream's processor, and empty for other stages."""

    type: str
    class_name: str
    name: str


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


def balance() -> Balance:
    """Return the balance in total and by connector.

    Consumed = delivered + dead-lettered + skipped + filtered.
    """
    by_connector: dict[str, list[TaskSnapshot]] = {}
    for snapshot in TaskSnapshot.objects.order_by("connector", "task").defer("status"):
        by_connector.setdefault(snapshot.connector, []).append(snapshot)
    connectors = [
        extend(ConnectorBalance, _counts(add_metrics(row.metrics for row in rows)), name=name)
        for name, rows in by_connector.items()
    ]
    whole = _counts(add_metrics(row.metrics for rows in by_connector.values() for row in rows))
    whole.balanced = all(row.balanced for row in connectors)
    return extend(Balance, whole, as_of=iso_or_none(collected_at()), connectors=connectors)


def add_metrics(rows: Iterable[Mapping[str, int]]) -> dict[str, int]:
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
    return sum(max(0, _integer(end) - _integer(positions.get(name))) for name, end in ends.items())


def last_error_at(metrics: Mapping[str, int]) -> str | None:
    """Return when a task or connector last failed, as text; None if never."""
    moment = metrics.get(LAST_FAILURE, 0)
    return iso(from_ms(moment)) if 0 < moment < 2**47 else None


def stages(connector: str) -> ConnectorPipeline:
    """Return how many records reached each stage of a connector, and how many failed there.

    `exact` is false if these failures include retried ones, because a record may then have failed twice.
    """
    tasks = list(TaskSnapshot.objects.filter(connector=connector).order_by("removed", "-reported_at"))
    pipeline = _pipeline(tasks)
    metrics = add_metrics(row.metrics for row in tasks)
    failed = _failed_by_stage(tasks, pipeline)
    errors = metrics.get(PARTS["dead_lettered"], 0) + metrics.get(PARTS["skipped"], 0)
    rows, left, of_records = [], metrics.get(PARTS["consumed"], 0), 0
    in_order = sorted(zip(pipeline, failed, strict=True), key=lambda row: processing_order(row[0]))
    for index, (stage, count) in enumerate(in_order):
        if stage.type == "TASK_PUT":
            left = min(left, metrics.get(PARTS["delivered"], 0) + count)
        rows.append(StageFigures(index=index, **stage._asdict(), arrived=left, failed=count))
        if stage.type != CONSUME:  # a failed poll loses no record
            left, of_records = max(0, left - count), of_records + count
    return ConnectorPipeline(connector=connector, stages=rows, total_failed=sum(failed), exact=of_records == errors)


def processing_order(stage: ReportedStage) -> bool:
    """Sort the consumer first: the engine reports it last, so that the others have the indexes of error contexts."""
    return stage.type != CONSUME


def pipeline_of(status: Mapping[str, Any]) -> list[ReportedStage]:
    """Return the stages that a task reports."""
    found = status.get("stages")
    rows = [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []
    return [ReportedStage(*(str(row.get(name) or "") for name in ("type", "class", "name"))) for row in rows]


def by_stage(pipeline: Sequence[ReportedStage], told: object) -> list[int]:
    """Return the counts of these stages in order.

    A task reports them by `<index>:<stage type>:<class, or a node's name>`, a Spark query always by the class.
    Counts of other stages, as before a change of the pipeline, are ignored.
    """
    known = told if isinstance(told, dict) else {}
    keys = (
        (f"{index}:{stage.type}:{name}" for name in (stage.name, stage.class_name))
        for index, stage in enumerate(pipeline)
    )
    return [_integer(next((known[key] for key in names if key in known), None)) for names in keys]


def _counts(metrics: Mapping[str, int]) -> RecordCounts:
    parts = {name: metrics.get(metric, 0) for name, metric in PARTS.items()}
    return RecordCounts(**parts, balanced=parts["consumed"] == sum(parts.values()) - parts["consumed"])


def _pipeline(tasks: Iterable[TaskSnapshot]) -> list[ReportedStage]:
    return next((rows for task in tasks if (rows := pipeline_of(task.status))), [])


def _failed_by_stage(tasks: Iterable[TaskSnapshot], pipeline: Sequence[ReportedStage]) -> list[int]:
    counted = [by_stage(pipeline, task.status.get("stage_failures")) for task in tasks]
    return [sum(counts) for counts in zip(*counted, strict=True)]


def _integer(value: object) -> int:
    return value if isinstance(value, int) else 0
