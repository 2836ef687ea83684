from datetime import timedelta
from typing import Any

import msgspec
import pytest

from dlqadmin.audit.documents import TrailHealth
from dlqadmin.connectors.cluster_responses import ClusterResponse
from dlqadmin.connectors.connect_clusters import ENGINE, ConnectorKey
from dlqadmin.overview import attention, verdict
from dlqadmin.overview.documents import SchedulerHealth
from dlqadmin.overview.health import connector_counts, task_totals
from dlqadmin.overview.index_lag import IndexLag, TextLag
from tests.dlqadmin.overview.world import AWAY, BODY, NOW, WELL, facts, lag, queue, state

RUNS = {ConnectorKey(ENGINE, "usgs-to-sql"): state("RUNNING", "RUNNING")}
GONE = (ClusterResponse(reachable=False, at=None, body=BODY),)
A, B = ConnectorKey(ENGINE, "a"), ConnectorKey("legacy", "b")


def test_a_system_without_a_reason_is_healthy() -> None:
    found = verdict.reasons(WELL)
    assert (found, verdict.overall(found)) == ([], "ok")
    said = "Index, 1 connector, 2 tasks, 2 workers, 3 brokers and 2 Celery workers are healthy."
    assert verdict.healthy_sentence(WELL, found) == said
    assert verdict.healthy_parts(WELL) == ["index 0.4 s behind", "2 workers", "3 brokers", "2 Celery workers"]


CASES: list[tuple[dict[str, Any], str, str]] = [
    ({"broker": AWAY}, "failing", "Kafka does not respond."),
    ({"connect": GONE}, "failing", "The engine does not respond."),
    (
        {"connect": (ClusterResponse(reachable=False, at=None, body={}, trouble="The engine rejected the token."),)},
        "failing",
        "The engine rejected the token.",
    ),
    ({"has_redis": False, "queues": [queue("celery", 0)]}, "failing", "Redis does not respond."),
    (
        {"queues": [queue("celery"), queue("replays", 0)]},
        "failing",
        "No Celery worker serves the queue replays (jobs).",
    ),
    ({"queues": [queue("celery", 1, "celery@b")]}, "degraded", "The Celery worker celery@b ended without notice."),
    (
        {"scheduler": SchedulerHealth(alive=False, seen_at=None)},
        "failing",
        "Celery beat has not started a periodic task yet.",
    ),
    (
        {"scheduler": SchedulerHealth(alive=False, seen_at="2026-11-21T03:07:30.000Z")},
        "failing",
        "Celery beat does not start periodic tasks.",
    ),
    (
        {"indexed_at": {"local": NOW - timedelta(minutes=5)}},
        "failing",
        "The indexer has not been active since 2026-11-21T03:07:30.000Z.",
    ),
    (
        {"indexed_at": {"local": NOW + timedelta(hours=1)}},
        "failing",
        "The indexer was last active in the future, at 2026-11-21T04:12:30.000Z: a clock is or was wrong.",
    ),
    (
        {"indexed_at": {"eu": NOW}},
        "degraded",
        "The state of the indexer is unknown: it has not read any topic yet.",
    ),
    ({"shown": {**RUNS, A: state("RUNNING", "RUNNING", "FAILED")}}, "failing", "a: 1 of 2 tasks failed."),
    ({"shown": {**RUNS, A: state("FAILED")}}, "failing", "a: the connector failed."),
    ({"shown": {**RUNS, A: state("PAUSED", "PAUSED")}}, "degraded", "a: paused by an unknown person."),
    ({"shown": {**RUNS, A: state("STOPPED")}}, "degraded", "a: stopped by an unknown person."),
    ({"shown": {**RUNS, A: state("RUNNING", "UNASSIGNED")}}, "degraded", "a: 1 of 1 task waits for a worker."),
    ({"shown": {**RUNS, A: state("RUNNING")}}, "degraded", "a: the connector has no tasks."),
    ({"lag": lag(40.0, 12)}, "degraded", "The index is 12 records and 40 s behind."),
    ({"lag": IndexLag([], TextLag(3, 31.0))}, "degraded", "The word search is 31 s behind."),
    (
        {"audit": TrailHealth(unsealed_seconds=61.0, unshipped=0, shipping_trouble="")},
        "degraded",
        "New entries of the audit trail are not being sealed.",
    ),
    (
        {"audit": TrailHealth(unsealed_seconds=0.0, unshipped=1, shipping_trouble="refused")},
        "degraded",
        "The audit trail cannot be sent: refused",
    ),
]


@pytest.mark.parametrize(("changed", "status", "text"), CASES)
def test_nothing_is_called_healthy_while_a_part_is_not(changed: dict[str, Any], status: str, text: str) -> None:
    now = facts(**changed)
    found = verdict.reasons(now)
    assert [reason.text for reason in found] == [text]
    assert verdict.overall(found) == status
    assert verdict.healthy_sentence(now, found) == ""


def test_the_reasons_for_failing_come_first() -> None:
    found = verdict.reasons(facts(shown={A: state("PAUSED", "PAUSED"), B: state("FAILED")}))
    assert [reason.status for reason in found] == ["failing", "degraded"]


def test_a_task_may_wait_for_a_worker_for_a_minute() -> None:
    waiting = state("RUNNING", "UNASSIGNED")
    young = msgspec.structs.replace(waiting, since="2026-11-21T03:12:00.000Z")
    old = msgspec.structs.replace(waiting, since="2026-11-21T03:11:00.000Z")
    assert verdict.reasons(facts(shown={B: young})) == []
    assert len(verdict.reasons(facts(shown={B: old}))) == 1


@pytest.mark.parametrize(
    ("changed", "kinds"),
    [
        ({}, []),
        ({"broker": AWAY}, ["broker_down"]),
        ({"connect": GONE}, ["engine_down"]),
        ({"has_redis": False, "queues": [queue("celery", 0)]}, ["redis_down"]),
        ({"queues": [queue("celery", 0), queue("replays", 0)]}, ["worker_down", "worker_down"]),
        ({"scheduler": SchedulerHealth(alive=False, seen_at=None)}, ["worker_down"]),
        ({"indexed_at": {"local": NOW - timedelta(minutes=5)}}, ["indexer_down"]),
        ({"indexed_at": {}}, ["indexer_down"]),
        ({"indexed_at": {}, "followed": 0}, []),
    ],
)
def test_each_part_that_is_down_is_a_finding(changed: dict[str, Any], kinds: list[str]) -> None:
    assert [row.kind for row in attention.parts(facts(**changed))] == kinds


def test_connectors_and_tasks_are_counted_by_state() -> None:
    rows = [
        state("RUNNING", "RUNNING", "RUNNING"),
        state("RUNNING", "RUNNING", "FAILED"),
        state("PAUSED", "PAUSED"),
        state("RUNNING"),
        state("RUNNING", "RUNNING", reachable=False),
    ]
    counts = connector_counts(rows)
    assert (counts.total, counts.running, counts.failed, counts.paused, counts.no_tasks, counts.unknown) == (
        *(5, 1, 1, 1, 1),
        1,
    )
    tasks = task_totals(rows)
    assert (tasks.total, tasks.running, tasks.failed, tasks.paused, tasks.unknown) == (6, 3, 1, 1, 1)
