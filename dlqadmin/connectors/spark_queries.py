"""Guarded Spark queries, in the form of a Connect cluster's response.

A query answers no request. The dashboard knows it by its last report on the status topic, so its state may be outdated.
A query that misses its reports is `unknown`: its driver may be gone without a last word.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from dlqadmin.connectors.cluster_responses import ClusterResponse, fetch_connectors
from dlqadmin.connectors.connect_clusters import ConnectorKey, is_in_reach
from dlqadmin.connectors.documents import DerivedState, ShownState, SparkQueryDocument, TaskCounts
from dlqadmin.metrics import queries as metrics
from dlqadmin.metrics.models import TaskSnapshot
from dlqadmin.metrics.reporter_names import SPARK, connector_of, is_query_reporter, query_reporter
from dlqadmin.rest.times import from_ms, iso
from engine.config.masking import mask
from engine.record import query_status
from engine.record.query_status import KIND, QueryState, QueryStatus

SILENT = "UNKNOWN"  # the state of the task of a query that misses its reports
_SHOWN: Mapping[QueryState, DerivedState] = {
    QueryState.RUNNING: "running",
    QueryState.FINISHED: "finished",
    QueryState.FAILED: "failed",
    QueryState.STOPPED: "stopped",
}
_TEXTS: Mapping[QueryState, str] = {
    QueryState.RUNNING: "The query runs",
    QueryState.FINISHED: "The query has finished",
    QueryState.FAILED: "The query failed",
    QueryState.STOPPED: "The query was stopped",
}


def fetch_all(now: datetime) -> tuple[ClusterResponse, ...]:
    """Return the responses of the Connect clusters and, if a query in reach has reported, that of the queries."""
    queries = response(metrics.snapshots(), now)
    return (*fetch_connectors(now), *((queries,) if queries.body else ()))


def response(figures: Mapping[str, Sequence[TaskSnapshot]], now: datetime) -> ClusterResponse:
    """Return the queries of these last reports. Pure."""
    found = {
        connector_of(name): _row(status, now)
        for name, rows in figures.items()
        if is_query_reporter(name) and (status := _status(rows)) is not None
    }
    return ClusterResponse(reachable=True, at=now, body=found, cluster=SPARK, software="spark")


def is_known(name: str) -> bool:
    """Return whether a query of this name is in reach."""
    return is_in_reach(name) and bool(metrics.snapshots(query_reporter(name)))


def lag(name: str) -> int | None:
    """Return the records that the query has not read yet, as it last reported; None if unknown."""
    rows = metrics.snapshots(query_reporter(name)).values()
    return next((metrics.task_lag(row.status) for (row,) in rows), None)


def dead_letter_topics() -> set[str]:
    """Return the dead letter topics of all queries, because no replay may write to any of them."""
    rows = TaskSnapshot._base_manager.filter(connector__startswith=query_reporter("")).values_list("status", flat=True)
    return {topic for status in rows if isinstance(topic := status.get("dlq_topic"), str) and topic}


def shown_states(
    responses: Iterable[ClusterResponse], figures: Mapping[str, Sequence[TaskSnapshot]]
) -> dict[ConnectorKey, ShownState]:
    """Return the state that the screens show for each query of these responses."""
    return {
        key: _shown_state(status, rows[0], one.at)
        for one in responses
        for key in one.connectors()
        if not one.is_connect
        and one.at is not None
        and (rows := figures.get(key.reporter, ()))
        and (status := _status(rows)) is not None
    }


def run_document(figures: Sequence[TaskSnapshot], now: datetime) -> SparkQueryDocument | None:
    """Return the run of a query by its last report; None without one."""
    status = _status(figures)
    if status is None:
        return None
    return SparkQueryDocument(
        run=status.run,
        started_at=iso(from_ms(status.started)) if 0 < status.started < 2**47 else None,
        is_stream=status.is_stream,
        batch=status.batch,
        reported_at=iso(figures[0].reported_at),
        every_ms=status.every_ms,
        is_silent=_is_silent(status, now),
    )


def _status(figures: Sequence[TaskSnapshot]) -> QueryStatus | None:
    return query_status.from_document(figures[0].status) if figures else None


def _is_silent(status: QueryStatus, now: datetime) -> bool:
    return status.is_silent(int(now.timestamp() * 1000))


def _row(status: QueryStatus, now: datetime) -> dict[str, Any]:
    """Return a query as a Connect cluster would describe a connector with one task."""
    state = SILENT if _is_silent(status, now) else status.state.value
    task = {"id": 0, "state": state, "worker_id": status.worker_id, "trace": status.trace}
    return {
        "info": {"type": KIND, "config": mask(status.options)},
        "status": {
            "type": KIND,
            "connector": {"state": state, "worker_id": status.worker_id},
            "tasks": [task],
        },
    }


def _shown_state(status: QueryStatus, row: TaskSnapshot, now: datetime) -> ShownState:
    state, silent = _SHOWN[status.state], _is_silent(status, now)
    begin = from_ms(status.started) if state == "running" and 0 < status.started < 2**47 else row.state_since
    text = f"No report since {row.reported_at:%Y-%m-%d %H:%M:%S} UTC" if silent else _TEXTS[status.state]
    return ShownState(
        state="unknown" if silent else state,
        text=text,
        since=iso(begin) if begin else None,
        by=None,
        reason=None,
        tasks=_counts(state),
        last_known=state if silent else None,
        as_of=iso(row.reported_at) if silent else None,
    )


def _counts(state: DerivedState) -> TaskCounts:
    """Return the one task of a query by its state. A finished query has none left."""
    return TaskCounts(
        total=int(state != "finished"),
        running=int(state == "running"),
        failed=int(state == "failed"),
        paused=0,
        stopped=int(state == "stopped"),
        unassigned=0,
    )
