"""Guarded Spark queries that report to a status topic."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from dlqadmin.metrics import collector
from engine.record.query_status import QueryStage, QueryState, QueryStatus, encode, query_key
from engine.record.record import RawRecord

T = 1_795_230_750_000  # 2026-11-21 03:12:30 UTC
AT = datetime.fromtimestamp(T / 1000, UTC)
TRACE = "Traceback (most recent call last):\nengine.errors.TaskError: Tolerance exceeded: TRANSFORMATION failed"
STREAM = QueryStatus(
    name="orders",
    state=QueryState.RUNNING,
    time=T,
    run="5f0c3c52-6a0e-4a52-8a44-1c1f0a9a5a11",
    started=T - 3_600_000,
    every_ms=10_000,
    is_stream=True,
    batch=17,
    topics=("orders.in",),
    dlq_topic="orders.dlq",
    lag=3,
    metrics={
        "records-consumed": 1000,
        "records-dead-lettered": 40,
        "deadletterqueue-records-produced": 40,
        "total-record-errors": 40,
        "total-record-failures": 46,
        "total-retries": 6,
    },
    good=950,
    filtered=10,
    stages=(QueryStage(0, "TRANSFORMATION", "parse_order", "parse"), QueryStage(1, "TASK_PUT", "write_to_lakehouse")),
    stage_failures={"0:TRANSFORMATION:parse_order": 45, "1:TASK_PUT:write_to_lakehouse": 1},
    tolerance={"limit": 100, "used": 40, "rate_limit": -1, "rate_used": 0},
    last_failure=T - 20_000,
    options={"errors.tolerance.limit": "100", "errors.retry.limit": "3"},
    worker_id="driver-1",
)


def report(status: QueryStatus = STREAM, **changes: Any) -> QueryStatus:
    """Store the report of a query, as the collector does."""
    told = replace(status, **changes)
    _collect(told.key, encode(told))
    return told


def forget(name: str) -> None:
    """Store the tombstone of a query."""
    _collect(query_key(name), None)


def _collect(key: bytes, value: bytes | None) -> None:
    def read(topic: str, partition: int, start: int) -> Iterator[RawRecord]:
        yield RawRecord(topic, partition, start, T, "CREATE_TIME", key, value)

    collector.collect(read, lambda topic: 1)
