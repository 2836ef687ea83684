"""Connectors as the screen shows them: the engine's answer joined with each task's latest figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from dlqadmin.connectors import budgets, client
from dlqadmin.connectors.figures import Asked, Paces, add_stages, document, task_document, text_or_none
from dlqadmin.connectors.models import EngineAnswer
from dlqadmin.metrics import queries as metrics
from dlqadmin.metrics.models import TaskSnapshot
from dlqadmin.metrics.pace import errors_per_hour
from dlqadmin.rest.text import storable
from dlqadmin.rest.times import iso_or_none
from engine.config.errors_policy import DLQ_ENABLE
from engine.config.masking import mask
from engine.config.options import given, read

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
    now = timezone.now()
    answer = ask(now)
    rows = documents(answer, now)
    freshness = {"reachable": answer.reachable, "as_of": iso_or_none(answer.at)}
    return {**freshness, "nearest": budgets.nearest(rows), "results": rows}


def documents(answer: Answer, now: datetime) -> list[dict[str, Any]]:
    """Every connector of an answer, by name."""
    figures, paces = metrics.snapshots(), errors_per_hour(now)
    return [
        connector_document(name, answer.body[name], figures.get(name, []), paces, now) for name in sorted(answer.body)
    ]


def connector(name: str) -> dict[str, Any] | None:
    """One connector; None if there is no such one."""
    now = timezone.now()
    answer = ask(now)
    if name not in answer.body:
        return None
    figures = metrics.snapshots(name).get(name, [])
    row = connector_document(name, answer.body[name], figures, errors_per_hour(now), now)
    return {"reachable": answer.reachable, "as_of": iso_or_none(answer.at), **row}


def connector_document(
    name: str, row: Mapping[str, Any], figures: list[TaskSnapshot], paces: Paces, now: datetime
) -> dict[str, Any]:
    """One connector from the engine's answer and what its tasks last reported. Pure."""
    info, status = document(row, "info"), document(row, "status")
    config = document(info, "config")
    state = document(status, "connector")
    newest = max(figures, key=lambda snapshot: snapshot.reported_at, default=None)
    report = newest.status if newest else {}
    kind = str(report.get("kind") or info.get("type") or status.get("type") or "sink")
    asked = Asked(budgets.rules(config, kind), paces, now)
    reports = {snapshot.task: snapshot for snapshot in figures}
    known = status.get("tasks")
    told = [task for task in (known if isinstance(known, list) else []) if isinstance(task, dict)]
    tasks = [task_document(name, task, reports, asked) for task in told]
    total = metrics.add(task["metrics"] for task in tasks)
    lags = [task["lag"] for task in tasks if task["lag"] is not None]
    return {
        "name": name,
        "type": str(info.get("type") or status.get("type") or "sink"),
        "kind": kind,
        "state": str(state.get("state", "UNASSIGNED")),
        "worker_id": str(state.get("worker_id", "")),
        "topics": topics_of(row, figures),
        "dlq_topic": _dead_letter_topic(config) if _writes_dead_letters(config) else None,
        "delivery": text_or_none(report.get("delivery")),
        "dead_letters": text_or_none(report.get("dead_letters")),
        "config": config,
        "tasks": tasks,
        "metrics": total,
        "lag": sum(lags) if lags else None,
        "stages": add_stages(task["stages"] for task in tasks),
        "last_error_at": metrics.last_error_at(total),
    }


def dead_letter_topics() -> set[str]:
    """Topics that connectors name for dead letters, written to or not, by the engine's last answer; nobody is asked."""
    kept = EngineAnswer.objects.filter(address=client.CONNECTORS).first()
    rows = kept.body.values() if kept else ()
    found = {_dead_letter_topic(document(document(row, "info"), "config")) for row in rows}
    return {topic for topic in found if topic}


def topics_of(row: Mapping[str, Any], figures: Sequence[TaskSnapshot]) -> list[str]:
    """The topics a connector reads: as its tasks say, else as it is configured."""
    for report in figures:
        found = report.status.get("topics")
        if isinstance(found, list) and found:
            return [str(topic) for topic in found]
    configured = str(document(document(row, "info"), "config").get("topics", ""))
    return [topic.strip() for topic in configured.split(",") if topic.strip()]


def _masked(row: Any) -> dict[str, Any]:
    """A connector's part of the answer, with no secret in it; what is not a document becomes an empty one."""
    info, status = document(row, "info"), document(row, "status")
    config = {str(name): str(value) for name, value in document(info, "config").items()}
    return {"info": {**info, "config": mask(config)}, "status": status}


def _dead_letter_topic(config: Mapping[str, Any]) -> str | None:
    return next((config[option] for option in DEAD_LETTER_TOPIC if config.get(option)), None)


def _writes_dead_letters(config: Mapping[str, str]) -> bool:
    """A topic's name alone also enables it."""
    own = {name: config[name] for name in DLQ_ENABLE.spellings if name in config}
    values, _ = read((DLQ_ENABLE,), own)
    return bool(values[DLQ_ENABLE.name]) or not given(DLQ_ENABLE, own)
