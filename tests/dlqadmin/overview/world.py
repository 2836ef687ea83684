"""Facts of a system in which everything works, to be changed by a test."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from dlqadmin.audit.documents import TrailHealth
from dlqadmin.broker.availability import KafkaAvailability
from dlqadmin.connectors.cluster_responses import ClusterResponse
from dlqadmin.connectors.connect_clusters import ENGINE, ConnectorKey
from dlqadmin.connectors.documents import ShownState
from dlqadmin.connectors.states import ReportedStates, shown_state
from dlqadmin.overview.documents import SchedulerHealth, WorkerQueueHealth
from dlqadmin.overview.facts import SystemFacts
from dlqadmin.overview.index_lag import IndexLag, PartitionLag

NOW = datetime(2026, 11, 21, 3, 12, 30, tzinfo=UTC)
AWAY = KafkaAvailability(reachable=False, brokers=0, topics={})
USGS = ConnectorKey(ENGINE, "usgs-to-sql")
BODY = {"usgs-to-sql": {"status": {"connector": {"worker_id": "w1"}, "tasks": [{"id": 0, "worker_id": "w2"}]}}}


def state(connector: str, *tasks: str, **more: Any) -> ShownState:
    told = ReportedStates(connector, dict(enumerate(tasks)))
    return shown_state(told, (), None, **{"reachable": True, "as_of": NOW, **more})


def queue(name: str, alive: int = 1, *silent: str) -> WorkerQueueHealth:
    return WorkerQueueHealth(queue=name, purpose="jobs", alive=alive, silent=list(silent), seen_at=None)


def lag(seconds: float = 0.4, records: int = 0) -> IndexLag:
    return IndexLag([PartitionLag("usgs.earthquakes.dlq", 0, 10, 10 + records, NOW, seconds)])


WELL = SystemFacts(
    now=NOW,
    broker=KafkaAvailability(reachable=True, brokers=3, topics={"usgs.earthquakes.dlq": 1}),
    connect=(ClusterResponse(reachable=True, at=NOW, body=BODY),),
    shown={USGS: state("RUNNING", "RUNNING", "RUNNING")},
    figures={},
    lag=lag(),
    queues=[queue("celery"), queue("replays")],
    scheduler=SchedulerHealth(alive=True, seen_at=None),
    has_redis=True,
    audit=TrailHealth(unsealed_seconds=0.0, unshipped=0, shipping_trouble=""),
    indexed_at={"local": NOW - timedelta(seconds=2)},
    followed=1,
)


def facts(**changed: Any) -> SystemFacts:
    """Return the facts of the healthy system with these changes."""
    return replace(WELL, **changed)
