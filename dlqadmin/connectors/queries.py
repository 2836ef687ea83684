"""Connector documents: the engine's response joined with the latest figures of each task."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from dlqadmin.connectors import client, error_budgets
from dlqadmin.connectors.control_history import newest_requests
from dlqadmin.connectors.documents import ConnectorAnswer, ConnectorDocument, ConnectorList, ShownState
from dlqadmin.connectors.models import EngineAnswer
from dlqadmin.connectors.states import HELD, derive, reported_states, shown_state
from dlqadmin.connectors.task_documents import BudgetInputs, Paces, add_stages, document, task_document, text_or_none
from dlqadmin.metrics import queries as metrics
from dlqadmin.metrics.error_rates import errors_per_hour
from dlqadmin.metrics.models import TaskSnapshot
from dlqadmin.rest.documents import extend
from dlqadmin.rest.text import storable
from dlqadmin.rest.times import iso_or_none
from engine.config.errors_policy import DLQ_ENABLE
from engine.config.masking import mask
from engine.config.options import given, read

SAVED_EVERY = timedelta(seconds=5)
DEAD_LETTER_TOPIC = ("errors.deadletterqueue.topic.name", "errors.dlq.topic.name")


@dataclass(frozen=True, slots=True)
class EngineResponse:
    """The engine's current response, or its last one if it is unreachable.

    `at` is None if the engine never answered. `trouble` is a sentence if the engine refused the
    dashboard, or if the dashboard's settings prevent access.
    """

    reachable: bool
    at: datetime | None
    body: Mapping[str, Any]
    trouble: str | None = None


def fetch_connectors(now: datetime | None = None) -> EngineResponse:
    """Return the engine's connectors with masked secrets.

    If the engine is unreachable, return its last good response with its time.
    """
    now = now or timezone.now()
    kept = EngineAnswer.objects.filter(address=client.CONNECTORS).first()
    try:
        found = client.get(client.CONNECTORS)
    except (client.EngineUnavailable, client.EngineRefused) as error:
        return EngineResponse(
            reachable=False,
            at=kept.at if kept else None,
            body=kept.body if kept else {},
            trouble=_error_sentence(error),
        )
    body = storable({str(name): _mask_secrets(row) for name, row in found.items()}) if isinstance(found, dict) else {}
    if kept is None or kept.body != body or now - kept.at > SAVED_EVERY:
        EngineAnswer.objects.update_or_create(address=client.CONNECTORS, defaults={"body": body, "at": now})
    return EngineResponse(reachable=True, at=now, body=body)


def connectors() -> ConnectorList:
    """Return every connector, sorted by name."""
    now = timezone.now()
    answer = fetch_connectors(now)
    rows = documents(answer, now)
    return ConnectorList(
        reachable=answer.reachable,
        as_of=iso_or_none(answer.at),
        trouble=answer.trouble,
        nearest=error_budgets.nearest_to_failing(
            (row.name, task.id, task.budget) for row in rows for task in row.tasks
        ),
        results=rows,
    )


def documents(answer: EngineResponse, now: datetime) -> list[ConnectorDocument]:
    """Return the documents of all connectors of a response, sorted by name."""
    figures, paces = metrics.snapshots(), errors_per_hour(now)
    shown = shown_states(answer, figures)
    return [
        connector_document(name, answer.body[name], shown[name], figures.get(name, []), paces, now)
        for name in sorted(answer.body)
    ]


def shown_states(answer: EngineResponse, figures: Mapping[str, Sequence[TaskSnapshot]]) -> dict[str, ShownState]:
    """Return the state that the screens show for each connector of a response, sorted by name."""
    told = {name: reported_states(answer.body[name]) for name in sorted(answer.body)}
    requests = newest_requests([name for name, one in told.items() if derive(one.connector, one.counts) in HELD])
    return {
        name: shown_state(one, figures.get(name, ()), requests.get(name), reachable=answer.reachable, as_of=answer.at)
        for name, one in told.items()
    }


def connector(name: str) -> ConnectorAnswer | None:
    """Return one connector; None if it does not exist."""
    now = timezone.now()
    answer = fetch_connectors(now)
    if name not in answer.body:
        return None
    figures = metrics.snapshots(name).get(name, [])
    one = EngineResponse(answer.reachable, answer.at, {name: answer.body[name]})
    shown = shown_states(one, {name: figures})[name]
    row = connector_document(name, answer.body[name], shown, figures, errors_per_hour(now), now)
    return extend(ConnectorAnswer, row, reachable=answer.reachable, as_of=iso_or_none(answer.at))


def connector_document(
    name: str, row: Mapping[str, Any], shown: ShownState, figures: list[TaskSnapshot], paces: Paces, now: datetime
) -> ConnectorDocument:
    """Join one connector of the engine's response with its tasks' last reports. Pure."""
    info, status = document(row, "info"), document(row, "status")
    config = document(info, "config")
    state = document(status, "connector")
    newest = max(figures, key=lambda snapshot: snapshot.reported_at, default=None)
    report = newest.status if newest else {}
    kind = str(report.get("kind") or info.get("type") or status.get("type") or "sink")
    asked = BudgetInputs(error_budgets.rules(config, kind), paces, now)
    reports = {snapshot.task: snapshot for snapshot in figures}
    known = status.get("tasks")
    told = [task for task in (known if isinstance(known, list) else []) if isinstance(task, dict)]
    tasks = [task_document(name, task, reports, asked) for task in told]
    total = metrics.add_metrics(task.metrics for task in tasks)
    lags = [task.lag for task in tasks if task.lag is not None]
    return ConnectorDocument(
        name=name,
        type=str(info.get("type") or status.get("type") or "sink"),
        kind=kind,
        state=str(state.get("state", "UNASSIGNED")),
        shown=shown,
        trace=text_or_none(state.get("trace")),
        worker_id=str(state.get("worker_id", "")),
        topics=topics_of(row, figures),
        dlq_topic=_dead_letter_topic(config) if _writes_dead_letters(config) else None,
        delivery=text_or_none(report.get("delivery") or status.get("delivery")),
        dead_letters=text_or_none(report.get("dead_letters")),
        config=config,
        tasks=tasks,
        metrics=total,
        lag=sum(lags) if lags else None,
        stages=add_stages(task.stages for task in tasks),
        last_error_at=metrics.last_error_at(total),
    )


def dead_letter_topics() -> set[str]:
    """Return the topics that connectors name for dead letters, whether written to or not.

    Uses the engine's last response and sends no request.
    """
    kept = EngineAnswer.objects.filter(address=client.CONNECTORS).first()
    rows = kept.body.values() if kept else ()
    found = {_dead_letter_topic(document(document(row, "info"), "config")) for row in rows}
    return {topic for topic in found if topic}


def topics_of(row: Mapping[str, Any], figures: Sequence[TaskSnapshot]) -> list[str]:
    """Return the topics that a connector reads: as its tasks report, otherwise as configured."""
    for report in figures:
        found = report.status.get("topics")
        if isinstance(found, list) and found:
            return [str(topic) for topic in found]
    configured = str(document(document(row, "info"), "config").get("topics", ""))
    return [topic.strip() for topic in configured.split(",") if topic.strip()]


def _error_sentence(error: Exception) -> str | None:
    """Return the trouble as a sentence; None if the engine is only unreachable.

    The sentence is for people who can change the settings.
    """
    if isinstance(error, client.EngineMisconfigured):
        return error.message
    if isinstance(error, client.EngineRefused):
        return f"The engine refused with status {error.status}: {error.message}"
    return None


def _mask_secrets(row: Any) -> dict[str, Any]:
    """Return a connector's part of the response without secrets. Any part that is not a document becomes empty."""
    info, status = document(row, "info"), document(row, "status")
    config = {str(name): str(value) for name, value in document(info, "config").items()}
    return {"info": {**info, "config": mask(config)}, "status": status}


def _dead_letter_topic(config: Mapping[str, Any]) -> str | None:
    return next((config[option] for option in DEAD_LETTER_TOPIC if config.get(option)), None)


def _writes_dead_letters(config: Mapping[str, str]) -> bool:
    """Return whether dead letters are written. A topic name alone also enables them."""
    own = {name: config[name] for name in DLQ_ENABLE.spellings if name in config}
    values, _ = read((DLQ_ENABLE,), own)
    return bool(values[DLQ_ENABLE.name]) or not given(DLQ_ENABLE, own)
