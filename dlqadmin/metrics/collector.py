"""Read the status topic into task snapshots and minutes: of the engine's tasks, and of guarded Spark queries.

A query is stored as task 0 of its reporter name.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import msgspec
import orjson
from django.conf import settings
from django.db.models import Max, OuterRef, Subquery
from django.utils import timezone

from dlqadmin.broker import topics
from dlqadmin.metrics import task_hours
from dlqadmin.metrics.models import TaskMinute, TaskSnapshot
from dlqadmin.metrics.queries import LAST_FAILURE, PARTS, task_lag
from dlqadmin.metrics.reporter_names import is_query_reporter, query_reporter
from dlqadmin.metrics.topic_positions import Read, follow
from dlqadmin.rest.text import storable
from dlqadmin.rest.times import from_ms
from engine.record import query_status
from engine.record.query_status import QueryStatus
from engine.record.record import RawRecord

TASK_KEY = b"status-task-"
CONNECTOR_KEY = b"status-connector-"
MINUTE = timedelta(minutes=1)
MINUTES_KEPT = timedelta(days=30)

TaskKey = tuple[str, int]


@dataclass(slots=True)
class StatusBatch:
    """The contents of a batch of status records. The last record of each task wins.

    `since` is the time of the first record of this batch with the task's last state. The state may be older
    for the `unchanged` tasks, whose state is the same in all their records of the batch. `minutes` are the last
    statuses of each minute, `zeros` the minutes of the first statuses in which all figures are zero.
    """

    tasks: dict[TaskKey, dict[str, Any]] = field(default_factory=dict)
    since: dict[TaskKey, datetime] = field(default_factory=dict)
    unchanged: set[TaskKey] = field(default_factory=set)
    tasks_gone: set[TaskKey] = field(default_factory=set)
    minutes: dict[tuple[str, int, datetime], dict[str, Any]] = field(default_factory=dict)
    zeros: dict[TaskKey, datetime] = field(default_factory=dict)
    connectors_gone: set[str] = field(default_factory=set)


def collect(read: Read = topics.read_to_end, partitions: Callable[[str], int | None] = topics.partitions) -> int:
    """Store new records of the status topic; return their number.

    Repeated and parallel calls change nothing: only the call that moves the position stores a batch.
    """
    topic = settings.STATUS_TOPIC
    return sum(
        follow(topic, number, read, lambda records: _store(fold(records))).stored
        for number in range(partitions(topic) or 0)
    )


def prune(keep_from: datetime) -> int:
    """Delete minutes before that time; return their number.

    The newest minute of each task stays, because the task's next minute is counted from it.
    """
    own = TaskMinute.objects.filter(connector=OuterRef("connector"), task=OuterRef("task")).order_by()
    newest = own.values("connector", "task").annotate(newest=Max("minute")).values("newest")
    old = TaskMinute.objects.filter(minute__lt=keep_from).exclude(minute=Subquery(newest))
    return old.delete()[0]


def fold(records: Iterable[RawRecord]) -> StatusBatch:
    """Return the findings of a batch of records in order. Pure."""
    found = StatusBatch()
    for record in records:
        key = record.key or b""
        if key.startswith(CONNECTOR_KEY):
            name = key.removeprefix(CONNECTOR_KEY).decode("utf-8", "replace")
            if not is_query_reporter(name):
                _fold_connector(found, name, record.value)
        elif query := query_status.query_name(key):
            _fold_query(found, query, record)
        elif task := _task_key(key):
            _fold_task(found, task, record)
    return found


def _store(found: StatusBatch) -> None:
    task_hours.roll_up(timezone.now(), found.connectors_gone)  # the hours outlive the connector
    for connector in found.connectors_gone:
        TaskSnapshot.objects.filter(connector=connector).delete()
        TaskMinute.objects.filter(connector=connector).delete()
    since = found.since | _unchanged_since(found)
    TaskSnapshot.objects.bulk_create(
        [_snapshot(key, status, since[key]) for key, status in found.tasks.items()],
        update_conflicts=True,
        unique_fields=["connector", "task"],
        update_fields=[
            "state",
            "state_since",
            "worker_id",
            "generation",
            "reported_at",
            "removed",
            "metrics",
            "status",
        ],
    )
    TaskMinute.objects.bulk_create(
        [*_first_minutes(found), *(_minute(key, status) for key, status in found.minutes.items())],
        update_conflicts=True,
        unique_fields=["connector", "task", "minute"],
        update_fields=["metrics", "stage_failures", "lag"],
    )
    _forget_late_hours(found, timezone.now())
    for connector, task in found.tasks_gone:
        TaskSnapshot.objects.filter(connector=connector, task=task).update(removed=True)


def _forget_late_hours(found: StatusBatch, now: datetime) -> None:
    """Let hours be rolled up again, if a minute of them came late. Hours whose minutes are deleted stay."""
    hour = task_hours.start_of(task_hours.hour_of(now))
    late: dict[str, datetime] = {}
    for connector, _, minute in found.minutes:
        if now - MINUTES_KEPT <= minute < hour:
            late[connector] = min(minute, late.get(connector, minute))
    for connector, first in late.items():
        task_hours.forget_from(first, connector)


def _first_minutes(found: StatusBatch) -> list[TaskMinute]:
    """Return an empty minute before the first one of each new task that began with zeros.

    Without it the records of the first minute would belong to no change between two minutes.
    """
    connectors = {connector for connector, _ in found.zeros}
    known = set(TaskMinute.objects.filter(connector__in=connectors).values_list("connector", "task").distinct())
    begins = {key: minute for key, minute in found.zeros.items() if key not in known}
    return [TaskMinute(connector=c, task=t, minute=minute - MINUTE) for (c, t), minute in begins.items()]


def _minute(key: tuple[str, int, datetime], status: Mapping[str, Any]) -> TaskMinute:
    lag = task_lag(status)
    return TaskMinute(
        connector=key[0],
        task=key[1],
        minute=key[2],
        metrics=_figures(status),
        stage_failures=_failures_by_stage(status),
        lag=None if lag is None else _database_integer(lag),
    )


def _failures_by_stage(status: Mapping[str, Any]) -> dict[str, int]:
    """Add up the failures of the stages of each type. A task reports them by `<index>:<stage type>:<class>`."""
    failures = status.get("stage_failures")
    found: dict[str, int] = {}
    for name, count in (failures if isinstance(failures, dict) else {}).items():
        stage = str(name).split(":")[1:2]
        if stage and (value := _database_integer(count)):
            found[stage[0][:40]] = found.get(stage[0][:40], 0) + value
    return found


def _unchanged_since(found: StatusBatch) -> dict[TaskKey, datetime | None]:
    """Return the stored times of the states that this batch did not change."""
    names = {connector for connector, _ in found.unchanged}
    rows = TaskSnapshot.objects.filter(connector__in=names, removed=False)
    return {
        (connector, task): since
        for connector, task, state, since in rows.values_list("connector", "task", "state", "state_since")
        if (connector, task) in found.unchanged and state == _state(found.tasks[connector, task])
    }


def _snapshot(key: TaskKey, status: Mapping[str, Any], since: datetime | None) -> TaskSnapshot:
    return TaskSnapshot(
        connector=key[0],
        task=key[1],
        state=_state(status),
        state_since=since,
        worker_id=str(status.get("worker_id") or "")[:200],
        generation=_database_integer(status.get("generation")),
        reported_at=from_ms(_database_integer(status.get("time"))),
        removed=False,
        metrics=_figures(status),
        status=storable(dict(status)),
    )


def _fold_connector(found: StatusBatch, connector: str, value: bytes | None) -> None:
    if value is not None:
        found.connectors_gone.discard(connector)
        return
    found.connectors_gone.add(connector)
    found.tasks = {key: status for key, status in found.tasks.items() if key[0] != connector}
    found.unchanged = {key for key in found.unchanged if key[0] != connector}
    found.minutes = {key: status for key, status in found.minutes.items() if key[0] != connector}
    found.zeros = {key: minute for key, minute in found.zeros.items() if key[0] != connector}


def _fold_task(found: StatusBatch, task: TaskKey, record: RawRecord) -> None:
    if record.value is None:
        found.tasks_gone.add(task)
        return
    if (status := _document(record.value)) is not None:
        _fold_status(found, task, status, record.timestamp)


def _fold_query(found: StatusBatch, query: str, record: RawRecord) -> None:
    """Add a report of a query. A tombstone forgets its figures: nothing else would ever delete them."""
    reporter = query_reporter(query)
    if record.value is None:
        _fold_connector(found, reporter, None)
        return
    status = query_status.decode(record.value, name=query, time=record.timestamp)
    if status is not None:
        _fold_status(found, (reporter, 0), _query_document(status), record.timestamp)


def _query_document(status: QueryStatus) -> dict[str, Any]:
    """Return the status of a query as a task's, whose buckets add up to the consumed records."""
    document: dict[str, Any] = msgspec.to_builtins(status)
    metrics: dict[str, int] = document["metrics"]
    buckets = {PARTS["delivered"]: status.good, PARTS["filtered"]: status.filtered, LAST_FAILURE: status.last_failure}
    document["metrics"] = metrics | {name: max(metrics.get(name, 0), value) for name, value in buckets.items()}
    document["stages"] = sorted(document["stages"], key=lambda stage: int(stage["index"]))
    return document


def _fold_status(found: StatusBatch, task: TaskKey, status: dict[str, Any], timestamp: int) -> None:
    if not _database_integer(status.get("time")):
        status["time"] = _database_integer(timestamp)
    known = found.tasks.get(task)
    is_new = task in found.tasks_gone
    if known is None or is_new or _state(known) != _state(status):
        found.since[task] = from_ms(status["time"])
        (found.unchanged.add if known is None and not is_new else found.unchanged.discard)(task)
    found.tasks[task] = status
    found.tasks_gone.discard(task)
    minute = from_ms(status["time"] // 60_000 * 60_000)
    found.minutes[(*task, minute)] = status
    if not any(_figures(status).values()):
        found.zeros.setdefault(task, minute)


def _task_key(key: bytes) -> TaskKey | None:
    """Parse `status-task-<connector>-<task>` to (connector, task); None for other keys.

    A connector with the reporter name of a query is left out: its figures would be mixed with those of the query.
    """
    connector, dash, task = key.removeprefix(TASK_KEY).decode("utf-8", "replace").rpartition("-")
    if not (key.startswith(TASK_KEY) and dash and task.isascii() and task.isdigit() and len(task) < 7):
        return None
    if is_query_reporter(connector):
        return None
    return connector[:200], int(task)


def _state(status: Mapping[str, Any]) -> str:
    return str(status.get("state", "UNASSIGNED"))[:20]


def _document(value: bytes) -> dict[str, Any] | None:
    """Return the status as a dict; None if it is not a JSON object."""
    try:
        status = orjson.loads(value)
    except orjson.JSONDecodeError:
        return None
    return status if isinstance(status, dict) else None


def _figures(status: Mapping[str, Any]) -> dict[str, int]:
    metrics = status.get("metrics")
    if not isinstance(metrics, dict):
        return {}
    return {str(name): int(value) for name, value in metrics.items() if isinstance(value, int | float)}


def _database_integer(value: object) -> int:
    """Return a whole number that fits the database; 0 for anything else."""
    return value if isinstance(value, int) and 0 <= value < 2**47 else 0
