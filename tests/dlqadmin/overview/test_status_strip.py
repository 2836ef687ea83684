from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from rest_framework.test import APIClient

from dlqadmin.connectors.connect_clusters import ENGINE
from dlqadmin.connectors.models import EngineAnswer
from dlqadmin.metrics.models import TaskSnapshot
from dlqadmin.overview.attention import replays
from dlqadmin.replays.models import Replay, ReplayEvent, ReplayStatus
from tests.dlqadmin.conftest import signed_in
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.overview.world import NOW
from tests.dlqadmin.replays.world import World

pytestmark = pytest.mark.sql

URL = "/api/v1/metrics/attention"
TRACE = "OperationalError: the database refuses the connection\n  at SqlSink"


@pytest.fixture
def three(db: None, engine: FakeEngine) -> FakeEngine:
    """A failed connector, a paused one, and one that runs."""
    engine.add("stations-to-sql", {"topics": "usgs.stations"})
    engine.connectors["stations-to-sql"]["status"]["tasks"][0] |= {"state": "FAILED", "trace": TRACE}
    engine.add("local-file-sink", {"topics": "connect-test"}, state="PAUSED")
    engine.add("usgs-to-sql", {"topics": "usgs.earthquakes"}, tasks=2)
    TaskSnapshot.objects.create(
        connector="stations-to-sql",
        task=0,
        state="FAILED",
        state_since=NOW,
        reported_at=NOW,
        status={"lag": 12, "topics": ["usgs.stations"]},
    )
    return engine


def pause(client: APIClient, reason: str = "Disk is being replaced.") -> None:
    client.post("/api/v1/connectors/local-file-sink/pause", {"reason": reason})


def strip(client: APIClient) -> Any:
    return client.get(URL).json()["strip"]


def test_the_strip_shows_failed_and_held_connectors_and_the_rest(as_operator: APIClient, three: FakeEngine) -> None:
    pause(as_operator)
    found = strip(as_operator)
    (failed,), (held,) = found["failed"], found["held"]
    assert found["failed_tasks"] == 1
    assert failed["failed_tasks"] == [
        {
            "task": 0,
            "since": "2026-11-21T03:12:30.000Z",
            "error": "OperationalError: the database refuses the connection",
        }
    ]
    assert (failed["connector"], failed["running"], failed["tasks"]) == ("stations-to-sql", 0, 1)
    assert (failed["lag"], failed["actions"]) == (12, ["restart_task", "restart"])
    assert (failed["error"], failed["since"]) == (failed["failed_tasks"][0]["error"], "2026-11-21T03:12:30.000Z")
    assert (held["connector"], held["by"], held["reason"]) == (
        "local-file-sink",
        "operator-1",
        "Disk is being replaced.",
    )
    assert (held["state"], held["actions"], held["href"]) == (
        "paused",
        ["resume"],
        "/connectors/engine/local-file-sink",
    )
    assert found["rest"]["text"] == "usgs-to-sql, 2 of 2 tasks"
    assert found["rest"]["detail"] == "1 worker"


def test_viewers_have_no_actions(as_viewer: APIClient, three: FakeEngine) -> None:
    assert [row["actions"] for row in (*strip(as_viewer)["failed"], *strip(as_viewer)["held"])] == [[], []]


def test_a_pause_by_a_person_is_no_finding_and_one_by_nobody_known_is(
    as_operator: APIClient, three: FakeEngine
) -> None:
    body = as_operator.get(URL).json()
    assert body["not_listed"] == []
    (item,) = [item for item in body["items"] if item["kind"] == "connector_held"]
    assert (item["title"], item["action"], item["severity"]) == ("local-file-sink is paused", "resume", "low")
    pause(as_operator)
    body = as_operator.get(URL).json()
    assert "connector_held" not in [item["kind"] for item in body["items"]]
    assert body["not_listed"] == [
        {
            "subject": "local-file-sink",
            "text": "paused by operator-1: “Disk is being replaced.”",
            "href": "/connectors/engine/local-file-sink",
        }
    ]
    assert (body["status"], body["ok"]) == ("failing", "")
    assert "stations-to-sql: 1 of 1 task failed." in body["reasons"]
    assert "local-file-sink: paused by operator-1." in body["reasons"]


def test_health_counts_connectors_and_tasks(as_viewer: APIClient, three: FakeEngine) -> None:
    body = as_viewer.get("/api/v1/health").json()
    assert body["connectors"] == {
        "total": 3, "running": 1, "failed": 1, "paused": 1, "stopped": 0, "unassigned": 0, "no_tasks": 0, "unknown": 0,
        "finished": 0
    }  # fmt: skip
    assert body["tasks"] == {
        "total": 4, "running": 2, "failed": 1, "paused": 1, "stopped": 0, "unassigned": 0, "unknown": 0
    }  # fmt: skip
    assert body["indexers"] == [{"cluster": "local", "alive": None, "seen_at": None}]


def test_while_the_engine_is_away_all_states_are_unknown(as_viewer: APIClient) -> None:
    status = {"connector": {"state": "RUNNING"}, "tasks": [{"id": 0, "state": "FAILED"}]}
    now = timezone.now()
    EngineAnswer.objects.create(cluster=ENGINE, body={"c": {"info": {}, "status": status}}, at=now)
    body = as_viewer.get(URL).json()
    (waiting,) = body["strip"]["waiting"]
    assert (waiting["state"], waiting["text"]) == (
        "unknown",
        "Unknown, because the engine does not respond. Last known: 1 of 1 task failed",
    )
    assert "failed_task" not in [item["kind"] for item in body["items"]]
    health = as_viewer.get("/api/v1/health").json()
    assert (health["connectors"]["unknown"], health["tasks"]["unknown"], health["connect"][0]["workers"]) == (1, 1, 0)


def test_prometheus_has_a_row_for_each_state(as_viewer: APIClient, three: FakeEngine) -> None:
    text = as_viewer.get("/metrics").content.decode()
    assert 'dlqadmin_connector_state{connect_cluster="engine",connector="stations-to-sql",state="failed"} 1.0' in text
    assert 'dlqadmin_connector_state{connect_cluster="engine",connector="stations-to-sql",state="running"} 0.0' in text
    assert 'dlqadmin_connector_state{connect_cluster="engine",connector="local-file-sink",state="paused"} 1.0' in text


def test_a_replay_that_a_person_paused_is_no_finding(operator: User, engine: FakeEngine) -> None:
    world = World(engine)
    Replay.objects.update(status=ReplayStatus.PAUSED, started_at=NOW)
    ReplayEvent.objects.create(replay=world.replay, at=NOW, actor="operator-1", kind="pause", text="paused")
    body = signed_in(operator).get(URL).json()
    assert [item for item in body["items"] if item["kind"].startswith(("replay", "canary"))] == []
    page = f"/replays/{world.replay.pk}"
    assert body["not_listed"] == [{"subject": str(world.replay), "text": "paused by operator-1", "href": page}]


def test_a_canary_that_paused_a_replay_says_what_it_waits_for() -> None:
    replay = Replay(
        pk=23, status=ReplayStatus.PAUSED, trouble="2 of 10 canary records have an unknown outcome", heartbeat=NOW
    )
    (row,) = replays([(replay, 10, 0)], {23: 37})
    assert (row.kind, row.title, row.text) == (
        "canary_paused",
        "R-23: 2 of 10 canary records have an unknown outcome",
        "37 records queued",
    )
