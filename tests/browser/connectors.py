"""What the API would say of connectors in every state, from statuses as the engine writes them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from dlqadmin.connectors.cluster_responses import ClusterResponse
from dlqadmin.connectors.connect_clusters import ENGINE, ConnectorKey
from dlqadmin.connectors.documents import ConnectorDocument, ConnectorList
from dlqadmin.connectors.error_budgets import nearest_to_failing
from dlqadmin.connectors.queries import cluster_document, connector_document
from dlqadmin.connectors.states import reported_states, shown_state
from dlqadmin.metrics.models import TaskSnapshot
from tests.support.statuses import ZEROS, T, sink, source, stream

NOW = datetime.fromtimestamp(T / 1000, UTC)
DLQ = "errors.deadletterqueue.topic.name"
TRACE = "Traceback (most recent call last):\nengine.errors.TaskError: Tolerance exceeded: TASK_PUT (SqlSink) failed"
ENGINE_NOW = ClusterResponse(reachable=True, at=NOW, body={}, software="dlqadmin", version="0.1.0")
Rows = tuple[dict[str, str], list[dict[str, Any]]]

CONNECTORS: dict[str, Rows] = {
    "usgs-to-sql": (
        {"connector.class": "SqlSink", DLQ: "usgs.earthquakes.dlq"},
        [sink(), sink(tolerance={"limit": 500, "used": 10, "rate_limit": 10, "rate_used": 10})],
    ),
    "orders-from-sql": ({"connector.class": "SqlSource", DLQ: "orders.dlq"}, [source()]),
    "quakes-enriched": ({"connector.class": "stream", "processing.exception.handler": "h.Continue"}, [stream()]),
    "stations-to-sql": (
        {"connector.class": "SqlSink", DLQ: "usgs.stations.dlq"},
        [
            sink(
                state="FAILED",
                trace=TRACE,
                tolerance={"limit": 10, "used": 11, "rate_limit": -1, "rate_used": 0},
            )
        ],
    ),
    "quiet": (
        {"connector.class": "FileStreamSink"},
        [
            sink(
                metrics=ZEROS,
                stage_failures={},
                tolerance={"limit": -1, "used": 0, "rate_limit": -1, "rate_used": 0},
                parked_reason="the transaction was aborted 3 times: COORDINATOR_NOT_AVAILABLE",
            )
        ],
    ),
    "partly-handled": (
        {"connector.class": "SqlSink", "processing.exception.handler": "h.Continue"},
        [
            sink(
                metrics=ZEROS,
                stage_failures={},
                tolerance={"limit": 10, "used": 0, "rate_limit": -1, "rate_used": 0},
            )
        ],
    ),
    "foreign": ({"connector.class": "io.example.S3SinkConnector"}, []),
}


def answer() -> ConnectorList:
    """The list of connectors at the time of the recording."""
    rows = [_connector(name, config, statuses) for name, (config, statuses) in CONNECTORS.items()]
    near = nearest_to_failing((row.key, task.id, task.budget) for row in rows for task in row.tasks)
    return ConnectorList(clusters=[cluster_document(ENGINE_NOW)], nearest=near, results=rows)


def _connector(name: str, config: dict[str, str], statuses: list[dict[str, Any]]) -> ConnectorDocument:
    tasks = [
        {"id": task, "state": one["state"], "trace": one["trace"]} for task, one in enumerate(statuses or [sink()])
    ]
    row = {"info": {"config": config}, "status": {"connector": {"state": "RUNNING"}, "tasks": tasks}}
    figures = [
        TaskSnapshot(connector=name, task=task, state=one["state"], reported_at=NOW, metrics=one["metrics"], status=one)
        for task, one in enumerate(statuses)
    ]
    shown = shown_state(reported_states(row), figures, None, reachable=True, as_of=NOW)
    return connector_document(ConnectorKey(ENGINE, name), row, shown, figures, {("usgs-to-sql", 0): 30.0}, NOW)
