"""Connector documents: the responses of the Connect clusters joined with the latest figures of each task.

Guarded Spark queries are listed with them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from django.utils import timezone

from dlqadmin.connectors import error_budgets, spark_queries
from dlqadmin.connectors.cluster_responses import ClusterResponse, last_responses
from dlqadmin.connectors.connect_clusters import ConnectorKey
from dlqadmin.connectors.control_history import newest_requests
from dlqadmin.connectors.documents import (
    ConnectClusterDocument,
    ConnectorAnswer,
    ConnectorDocument,
    ConnectorList,
    EndangeredTask,
    ShownState,
)
from dlqadmin.connectors.states import HELD, derive, reported_states, shown_state
from dlqadmin.connectors.task_documents import BudgetInputs, Paces, add_stages, document, task_document, text_or_none
from dlqadmin.deadletters.payloads import quoting_text
from dlqadmin.metrics import queries as metrics
from dlqadmin.metrics.error_rates import errors_per_hour
from dlqadmin.metrics.models import TaskSnapshot
from dlqadmin.rest.documents import extend
from dlqadmin.rest.times import iso_or_none
from engine.config.errors_policy import DLQ_ENABLE
from engine.config.options import given, read

DEAD_LETTER_TOPIC = ("errors.deadletterqueue.topic.name", "errors.dlq.topic.name")
_NO_FIGURES: Mapping[str, list[TaskSnapshot]] = {}


def connectors() -> ConnectorList:
    """Return the clusters, and every connector: sorted by cluster, then by name."""
    now = timezone.now()
    responses = spark_queries.fetch_all(now)
    rows = documents(responses, now)
    return ConnectorList(
        clusters=[cluster_document(response) for response in responses],
        nearest=nearest(rows),
        results=rows,
    )


def nearest(rows: Iterable[ConnectorDocument]) -> list[EndangeredTask]:
    """Return the tasks closest to failing. Pure."""
    running = (row for row in rows if not row.has_ended)
    return error_budgets.nearest_to_failing((row.key, task.id, task.budget) for row in running for task in row.tasks)


def cluster_document(response: ClusterResponse) -> ConnectClusterDocument:
    """Return a cluster for the API. Pure."""
    return ConnectClusterDocument(
        name=response.cluster,
        software=response.software,
        version=response.version,
        reachable=response.reachable,
        as_of=iso_or_none(response.at),
        trouble=None if response.reachable else response.sentence,
        has_figures=response.has_figures,
    )


def documents(responses: Iterable[ClusterResponse], now: datetime) -> list[ConnectorDocument]:
    """Return the documents of all connectors, sorted by cluster, then by name."""
    told, figures, paces = list(responses), metrics.snapshots(), errors_per_hour(now)
    shown = shown_states(told, figures)
    return [
        connector_document(
            key,
            response.body[key.name],
            shown[key],
            figures.get(key.reporter, []) if response.has_figures else None,
            paces,
            now,
        )
        for response in told
        for key in response.connectors()
    ]


def shown_states(
    responses: Iterable[ClusterResponse], figures: Mapping[str, Sequence[TaskSnapshot]]
) -> dict[ConnectorKey, ShownState]:
    """Return the state that the screens show for each connector, sorted by cluster, then by name."""
    every = list(responses)
    told = [
        (response, key, reported_states(response.body[key.name]))
        for response in every
        for key in response.connectors()
        if response.is_connect
    ]
    held = [key for _, key, states in told if derive(states.connector, states.counts) in HELD]
    requests = newest_requests(held)
    shown = {
        key: shown_state(
            states,
            figures.get(key.reporter, ()) if response.has_figures else (),
            requests.get(key),
            reachable=response.reachable,
            as_of=response.at,
            title=response.title,
        )
        for response, key, states in told
    }
    return shown | spark_queries.shown_states(every, figures)


def connector(key: ConnectorKey) -> ConnectorAnswer | None:
    """Return one connector; None if it does not exist."""
    now = timezone.now()
    response = next((one for one in spark_queries.fetch_all(now) if one.cluster == key.cluster), None)
    if response is None or key.name not in response.body:
        return None
    figures = metrics.snapshots(key.reporter) if response.has_figures else _NO_FIGURES
    one = replace(response, body={key.name: response.body[key.name]})
    row = connector_document(
        key,
        response.body[key.name],
        shown_states([one], figures)[key],
        figures.get(key.reporter, []) if response.has_figures else None,
        errors_per_hour(now),
        now,
    )
    return extend(ConnectorAnswer, row, reachable=response.reachable, as_of=iso_or_none(response.at))


def connector_document(
    key: ConnectorKey,
    row: Mapping[str, Any],
    shown: ShownState,
    figures: Sequence[TaskSnapshot] | None,
    paces: Paces,
    now: datetime,
) -> ConnectorDocument:
    """Join one connector of a cluster's response with its tasks' last reports. Pure.

    `figures` is None if the tasks of this cluster report none.
    """
    name, has_figures = key.name, figures is not None
    figures = figures or ()
    info, status = document(row, "info"), document(row, "status")
    config = document(info, "config")
    state = document(status, "connector")
    run = spark_queries.run_document(figures, now) if key.is_query else None
    newest = max(figures, key=lambda snapshot: snapshot.reported_at, default=None)
    report = newest.status if newest else {}
    kind = str(report.get("kind") or info.get("type") or status.get("type") or "sink")
    asked = BudgetInputs(error_budgets.rules(config, kind), paces if has_figures else {}, now)
    reports = {snapshot.task: snapshot for snapshot in figures}
    known = status.get("tasks")
    told = [task for task in (known if isinstance(known, list) else []) if isinstance(task, dict)]
    tasks = [task_document(key.reporter, task, reports, asked) for task in told]
    total = metrics.add_metrics(task.metrics for task in tasks)
    lags = [task.lag for task in tasks if task.lag is not None]
    return ConnectorDocument(
        cluster=key.cluster,
        name=name,
        has_figures=has_figures,
        type=str(info.get("type") or status.get("type") or "sink"),
        kind=kind,
        state=str(state.get("state", "UNASSIGNED")),
        shown=shown,
        trace=quoting_text(text_or_none(state.get("trace")) or "") or None,
        worker_id=str(state.get("worker_id", "")),
        topics=topics_of(row, figures),
        dlq_topic=text_or_none(report.get("dlq_topic")) if run else _written_dead_letter_topic(config),
        delivery=text_or_none(report.get("delivery") or status.get("delivery")),
        dead_letters=text_or_none(report.get("dead_letters")),
        config=config,
        tasks=tasks,
        metrics=total,
        lag=sum(lags) if lags else None,
        stages=add_stages(task.stages for task in tasks),
        last_error_at=metrics.last_error_at(total),
        query=run,
    )


def dead_letter_topics() -> set[str]:
    """Return the topics that connectors and queries name for dead letters, whether written to or not.

    Uses the last responses of the clusters and sends no request.
    """
    rows = [row for kept in last_responses() for row in kept.body.values()]
    found = {_dead_letter_topic(document(document(row, "info"), "config")) for row in rows}
    return {topic for topic in found if topic} | spark_queries.dead_letter_topics()


def topics_of(row: Mapping[str, Any], figures: Sequence[TaskSnapshot]) -> list[str]:
    """Return the topics that a connector reads: as its tasks report, otherwise as configured."""
    for report in figures:
        found = report.status.get("topics")
        if isinstance(found, list) and found:
            return [str(topic) for topic in found]
    configured = str(document(document(row, "info"), "config").get("topics", ""))
    return [topic.strip() for topic in configured.split(",") if topic.strip()]


def _dead_letter_topic(config: Mapping[str, Any]) -> str | None:
    return next((config[option] for option in DEAD_LETTER_TOPIC if config.get(option)), None)


def _written_dead_letter_topic(config: Mapping[str, str]) -> str | None:
    return _dead_letter_topic(config) if _writes_dead_letters(config) else None


def _writes_dead_letters(config: Mapping[str, str]) -> bool:
    """Return whether dead letters are written. A topic name alone also enables them."""
    own = {name: config[name] for name in DLQ_ENABLE.spellings if name in config}
    values, _ = read((DLQ_ENABLE,), own)
    return bool(values[DLQ_ENABLE.name]) or not given(DLQ_ENABLE, own)
