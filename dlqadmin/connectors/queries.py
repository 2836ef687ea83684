"""Connectors as the screen shows them: the engine's answer joined with each task's latest figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from dlqadmin.connectors import client
from dlqadmin.connectors.models import EngineAnswer
from dlqadmin.metrics import queries as metrics
from dlqadmin.metrics.models import TaskSnapshot
from dlqadmin.rest.text import storable
from dlqadmin.rest.times import from_ms, iso, iso_or_none
from engine.config.masking import mask

SAVED_EVERY = timedelta(seconds=5)
DEAD_LETTER_TOPIC = ("errors.deadletterqueue.topic.name", "errors.dlq.topic.name")


@dataclass(frozen=True, slots=True)
class Answer:
    """What the engine says, or said last when it is away. `at` is None when it never answered."""

    reachable: bool
    at: datetime | None
    body: Mapping[str, Any]


def ask(now: datetime | None = None) -> Answer:
    """The engine's connectors, secrets masked; its last good answer, with its age, when it is away."""
    now = now or timezone.now()
    kept = EngineAnswer.objects.filter(address=client.CONNECTORS).first()
    try:
        found = client.get(client.CONNECTORS)
    except (client.EngineUnavailable, client.EngineRefused):
        return Answer(reachable=False, at=kept.at if kept else None, body=kept.body if kept else {})
    body = storable({str(name): _masked(row) for name, row in found.items()}) if isinstance(found, dict) else {}
    if kept is None or kept.body != body or now - kept.at > SAVED_EVERY:
        EngineAnswer.objects.update_or_create(address=client.CONNECTORS, defaults={"body": body, "at": now})
    return Answer(reachable=True, at=now, body=body)


def connectors() -> dict[str, Any]:
    """Every connector, by name."""
    answer = ask()
    figures = metrics.snapshots()
    rows = [_connector(name, answer.body[name], figures.get(name, [])) for name in sorted(answer.body)]
    return {"reachable": answer.reachable, "as_of": iso_or_none(answer.at), "results": rows}


def connector(name: str) -> dict[str, Any] | None:
    """One connector; None if there is no such one."""
    answer = ask()
    if name not in answer.body:
        return None
    row = _connector(name, answer.body[name], metrics.snapshots(name).get(name, []))
    return {"reachable": answer.reachable, "as_of": iso_or_none(answer.at), **row}


def dead_letter_topics() -> set[str]:
    """Where connectors write dead letters to, by the engine's last answer; nobody is asked."""
    kept = EngineAnswer.objects.filter(address=client.CONNECTORS).first()
    rows = kept.body.values() if kept else ()
    found = {_dead_letter_topic(_document(_document(row, "info"), "config")) for row in rows}
    return {topic for topic in found if topic}


def topics_of(row: Mapping[str, Any], figures: Sequence[TaskSnapshot]) -> list[str]:
    """The topics a connector reads: as its tasks say, else as it is configured."""
    for report in figures:
        found = report.status.get("topics")
        if isinstance(found, list) and found:
            return [str(topic) for topic in found]
    configured = str(_document(_document(row, "info"), "config").get("topics", ""))
    return [topic.strip() for topic in configured.split(",") if topic.strip()]


def _masked(row: Any) -> dict[str, Any]:
    """A connector's part of the answer, with no secret in it; what is not a document becomes an empty one."""
    info, status = _document(row, "info"), _document(row, "status")
    config = {str(name): str(value) for name, value in _document(info, "config").items()}
    return {"info": {**info, "config": mask(config)}, "status": status}


def _connector(name: str, row: Mapping[str, Any], figures: list[TaskSnapshot]) -> dict[str, Any]:
    info, status = _document(row, "info"), _document(row, "status")
    config = _document(info, "config")
    state = _document(status, "connector")
    reports = {snapshot.task: snapshot for snapshot in figures}
    known = status.get("tasks")
    tasks = [_task(task, reports) for task in (known if isinstance(known, list) else []) if isinstance(task, dict)]
    total = metrics.add(task["metrics"] for task in tasks)
    lags = [task["lag"] for task in tasks if task["lag"] is not None]
    newest = max(figures, key=lambda snapshot: snapshot.reported_at, default=None)
    report = newest.status if newest else {}
    return {
        "name": name,
        "type": str(info.get("type") or status.get("type") or "sink"),
        "state": str(state.get("state", "UNASSIGNED")),
        "worker_id": str(state.get("worker_id", "")),
        "topics": topics_of(row, figures),
        "dlq_topic": _dead_letter_topic(config),
        "delivery": str(report.get("delivery", "at_least_once")),
        "config": config,
        "tasks": tasks,
        "metrics": total,
        "lag": sum(lags) if lags else None,
        "stages": metrics.pipeline_of(report),
        "last_error_at": metrics.last_error_at(total),
    }


def _dead_letter_topic(config: Mapping[str, Any]) -> str | None:
    return next((config[option] for option in DEAD_LETTER_TOPIC if config.get(option)), None)


def _task(task: Mapping[str, Any], reports: Mapping[int, TaskSnapshot]) -> dict[str, Any]:
    number = task.get("id")
    report = reports.get(number) if isinstance(number, int) else None
    status = report.status if report else {}
    parked = status.get("parked_until")
    return {
        "id": number if isinstance(number, int) else 0,
        "state": str(task.get("state", "UNASSIGNED")),
        "trace": task.get("trace"),
        "lag": metrics.task_lag(status),
        "metrics": report.metrics if report else {},
        "stage_failures": _document(status, "stage_failures"),
        "tolerance": _document(status, "tolerance"),
        "worker_id": str(task.get("worker_id", "")),
        "parked_until": iso(from_ms(parked)) if isinstance(parked, int) and 0 < parked < 2**47 else None,
        "reported_at": iso(report.reported_at) if report else None,
    }


def _document(parent: Any, name: str) -> dict[str, Any]:
    """The document of that name inside another; empty where there is none."""
    found = parent.get(name) if isinstance(parent, dict) else None
    return found if isinstance(found, dict) else {}
