"""Bodies of the status topic, one for each kind of connector, as the engine writes them."""

from __future__ import annotations

from typing import Any

T = 1_795_230_750_000  # 2026-11-21 03:12:30 UTC
ZEROS = {
    "total-record-failures": 0,
    "total-record-errors": 0,
    "total-records-skipped": 0,
    "total-retries": 0,
    "total-failures-logged": 0,
    "deadletterqueue-records-produced": 0,
    "deadletterqueue-produce-failures": 0,
    "last-failure-timestamp": 0,
    "records-consumed": 0,
    "records-delivered": 0,
    "records-dead-lettered": 0,
    "records-skipped": 0,
    "records-filtered": 0,
    "dropped-records-total": 0,
}


CONNECT = "org.apache.kafka.connect"
SINK_STAGES = [
    {"type": "KEY_CONVERTER", "class": f"{CONNECT}.storage.StringConverter"},
    {"type": "VALUE_CONVERTER", "class": f"{CONNECT}.json.JsonConverter"},
    {"type": "HEADER_CONVERTER", "class": f"{CONNECT}.storage.SimpleHeaderConverter"},
    {"type": "TRANSFORMATION", "class": f"{CONNECT}.transforms.Flatten$Value"},
    {"type": "TRANSFORMATION", "class": f"{CONNECT}.transforms.ReplaceField$Value"},
    {"type": "TRANSFORMATION", "class": f"{CONNECT}.transforms.Cast$Value"},
    {"type": "TASK_PUT", "class": "SqlSink"},
]
SOURCE_STAGES = [
    {"type": "TASK_POLL", "class": "SqlSource"},
    {"type": "VALUE_CONVERTER", "class": f"{CONNECT}.json.JsonConverter"},
]
STREAM_STAGES = [
    {"type": "KEY_CONVERTER", "class": f"{CONNECT}.storage.StringConverter"},
    {"type": "VALUE_CONVERTER", "class": f"{CONNECT}.json.JsonConverter"},
    {"type": "PROCESSOR", "class": "quakes.Step", "name": "parse"},
    {"type": "PROCESSOR", "class": "quakes.Step", "name": "enrich"},
]


def sink(**changes: Any) -> dict[str, Any]:
    """A sink's task that has 248 of 500 errors left, and dead letters for the others."""
    return {
        "state": "RUNNING",
        "trace": None,
        "worker_id": "worker-1",
        "generation": 1,
        "restarts": 0,
        "kind": "sink",
        "parked_until": None,
        "parked_reason": None,
        "lost_leases": 0,
        "metrics": {
            **ZEROS,
            "total-record-failures": 258,
            "total-record-errors": 252,
            "total-records-skipped": 252,
            "total-retries": 6,
            "total-failures-logged": 252,
            "deadletterqueue-records-produced": 252,
            "last-failure-timestamp": T - 20_000,
            "records-consumed": 870,
            "records-delivered": 618,
            "records-dead-lettered": 252,
        },
        "stage_failures": by_stage(SINK_STAGES, 0, 9, 0, 0, 0, 4, 245),
        "stage_dropped": by_stage(SINK_STAGES, 0, 0, 0, 0, 0, 0, 0),
        "dropped_rate": 0.0,
        "tolerance": {"limit": 500, "used": 252, "rate_limit": 10, "rate_used": 3},
        "positions": {"usgs.earthquakes-0": 435, "usgs.earthquakes-2": 435},
        "ends": {"usgs.earthquakes-0": 435, "usgs.earthquakes-2": 442},
        "lag": 7,
        "stages": SINK_STAGES,
        "topics": ["usgs.earthquakes"],
        "delivery": "at_least_once",
        "dead_letters": "durable",
        "time": T,
        **changes,
    }


def source(**changes: Any) -> dict[str, Any]:
    """A source's task that waits for a retry and tolerates nothing; its dead letters go where none is acknowledged."""
    own = {
        "kind": "source",
        "parked_until": T + 90_000,
        "parked_reason": "sqlalchemy.exc.OperationalError: connection refused",
        "metrics": {**ZEROS, "total-record-failures": 4, "total-retries": 3, "last-failure-timestamp": T - 5_000},
        "stage_failures": by_stage(SOURCE_STAGES, 4, 0),
        "stage_dropped": by_stage(SOURCE_STAGES, 0, 0),
        "tolerance": {"limit": 0, "used": 0, "rate_limit": 0, "rate_used": 0},
        "positions": {},
        "ends": {},
        "lag": 0,
        "stages": SOURCE_STAGES,
        "topics": [],
        "dead_letters": "best_effort",
    }
    return {**sink(), **own, **changes}


def stream(**changes: Any) -> dict[str, Any]:
    """A stream's task whose handler drops what a processor refuses; two of its nodes have one class."""
    own = {
        "kind": "stream",
        "metrics": {
            **ZEROS,
            "total-record-failures": 12,
            "total-record-errors": 12,
            "total-records-skipped": 12,
            "last-failure-timestamp": T - 1_000,
            "records-consumed": 400,
            "records-delivered": 388,
            "records-skipped": 12,
            "dropped-records-total": 12,
        },
        "stage_failures": by_stage(STREAM_STAGES, 0, 2, 7, 3),
        "stage_dropped": by_stage(STREAM_STAGES, 0, 2, 7, 3),
        "dropped_rate": 0.4,
        "tolerance": {"limit": 0, "used": 12, "rate_limit": 0, "rate_used": 12},
        "stages": STREAM_STAGES,
        "dead_letters": None,
    }
    return {**sink(), **own, **changes}


def by_stage(stages: list[dict[str, str]], *counts: int) -> dict[str, int]:
    """Counts by `<index>:<stage type>:<class, or the processor's name>`."""
    return {
        f"{index}:{stage['type']}:{stage.get('name') or stage['class']}": count
        for index, (stage, count) in enumerate(zip(stages, counts, strict=True))
    }
