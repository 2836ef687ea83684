"""What the API would say of connectors in every state, from statuses as the engine writes them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson
from msgspec.structs import replace

from dlqadmin.connectors import spark_queries
from dlqadmin.connectors.cluster_responses import ClusterResponse
from dlqadmin.connectors.connect_clusters import ENGINE, ConnectorKey
from dlqadmin.connectors.documents import ConnectorDocument, ConnectorList
from dlqadmin.connectors.queries import cluster_document, connector_document, nearest
from dlqadmin.connectors.states import reported_states, shown_state
from dlqadmin.metrics.collector import fold
from dlqadmin.metrics.models import TaskSnapshot
from dlqadmin.rest.times import from_ms
from engine.record.query_status import QueryState, encode
from engine.record.record import RawRecord
from tests.dlqadmin.spark_queries import STREAM
from tests.dlqadmin.spark_queries import TRACE as QUERY_TRACE
from tests.support.statuses import ZEROS, T, sink, source, stream

NOW = datetime.fromtimestamp(T / 1000, UTC)
DLQ = "errors.deadletterqueue.topic.name"
TRACE = "Traceback (most recent call last):\nengine.errors.TaskError: Tolerance exceeded: TASK_PUT (SqlSink) failed"
ENGINE_NOW = ClusterResponse(reachable=True, at=NOW, body={}, software="dlqadmin", version="0.1.0")
QUERIES = (
    replace(STREAM, tolerance={"limit": 1000, "used": 40, "rate_limit": -1, "rate_used": 0}),
    replace(STREAM, name="quakes-to-lakehouse", time=T - 600_000, batch=None, stage_failures={}, metrics={}, lag=None),
    replace(
        STREAM, name="nightly-prices", state=QueryState.FINISHED, is_stream=False, batch=None, lag=0, stage_failures={}
    ),
    replace(STREAM, name="payments-to-lakehouse", state=QueryState.FAILED, trace=QUERY_TRACE),
)
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
    queries, rows_of_queries = _queries()
    rows += rows_of_queries
    return ConnectorList(
        clusters=[cluster_document(ENGINE_NOW), cluster_document(queries)], nearest=nearest(rows), results=rows
    )


def _queries() -> tuple[ClusterResponse, list[ConnectorDocument]]:
    """The Spark queries as the collector would store them: running, silent, finished and failed."""
    records = (RawRecord("s", 0, 0, T, "CREATE_TIME", one.key, encode(one)) for one in QUERIES)
    figures = {
        name: [
            TaskSnapshot(
                connector=name, task=task, state=status["state"], state_since=NOW,
                reported_at=from_ms(status["time"]), metrics=status["metrics"],
                status=orjson.loads(orjson.dumps(status)),  # as the database returns it
            )
        ]
        for (name, task), status in fold(records).tasks.items()
    }  # fmt: skip
    response = spark_queries.response(figures, NOW)
    shown = spark_queries.shown_states([response], figures)
    return response, [
        connector_document(key, response.body[key.name], shown[key], figures[key.reporter], {}, NOW)
        for key in response.connectors()
    ]


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
