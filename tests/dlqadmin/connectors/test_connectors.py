from datetime import UTC, datetime
from typing import Any

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.audit.models import AuditEntry
from dlqadmin.connectors.models import EngineAnswer
from dlqadmin.connectors.queries import dead_letter_topics
from dlqadmin.metrics.models import TaskSnapshot
from tests.dlqadmin.fakes import FakeEngine

CONFIG = {
    "topics": "usgs.earthquakes",
    "connection.url": "postgresql://quakes:hunter2@db/quakes",
    "sasl.password": "hunter2",
    "errors.deadletterqueue.topic.name": "usgs.earthquakes.dlq",
}
WRITES = ["c/pause", "c/resume", "c/stop", "c/restart", "c/tasks/0/restart"]


@pytest.fixture
def reported(db: None) -> TaskSnapshot:
    return TaskSnapshot.objects.create(
        connector="c",
        task=0,
        state="RUNNING",
        reported_at=datetime(2026, 11, 21, tzinfo=UTC),
        metrics={"records-consumed": 9, "last-failure-timestamp": 1_795_230_750_000},
        status={
            "positions": {"usgs.earthquakes-0": 9},
            "ends": {"usgs.earthquakes-0": 12},
            "stages": [{"type": "TASK_PUT", "class": "SqlSink"}],
            "topics": ["usgs.earthquakes"],
            "tolerance": {"limit": 500, "used": 252},
            "parked_until": 1_795_230_750_000,
            "delivery": "at_least_once",
        },
    )


def test_a_connector_is_the_engines_answer_with_its_tasks_figures(
    as_viewer: APIClient, engine: FakeEngine, reported: TaskSnapshot
) -> None:
    engine.add("c", CONFIG, tasks=2)
    body = as_viewer.get("/api/v1/connectors").json()
    assert body["clusters"][0]["reachable"] is True
    (row,) = body["results"]
    assert (row["name"], row["state"], row["topics"]) == ("c", "RUNNING", ["usgs.earthquakes"])
    assert (row["dlq_topic"], row["lag"], row["metrics"]["records-consumed"]) == ("usgs.earthquakes.dlq", 3, 9)
    assert row["last_error_at"] == "2026-11-21T03:12:30.000Z"
    assert [task["lag"] for task in row["tasks"]] == [3, None]
    assert row["tasks"][0]["tolerance"] == {"limit": 500, "used": 252}
    assert row["tasks"][0]["parked_until"] == "2026-11-21T03:12:30.000Z"


def test_a_connector_that_never_reported_promises_nothing(as_viewer: APIClient, engine: FakeEngine) -> None:
    engine.add("c", CONFIG)
    assert as_viewer.get("/api/v1/connectors/c").json()["delivery"] is None


def test_a_connector_whose_tasks_never_reported_has_the_delivery_of_its_status(
    as_viewer: APIClient, engine: FakeEngine
) -> None:
    engine.add("c", CONFIG)
    engine.connectors["c"]["status"]["delivery"] = "exactly_once"
    assert as_viewer.get("/api/v1/connectors/c").json()["delivery"] == "exactly_once"


@pytest.mark.parametrize(
    ("config", "shown"),
    [
        ({}, "usgs.earthquakes.dlq"),
        ({"errors.deadletterqueue.enable": "true"}, "usgs.earthquakes.dlq"),
        ({"errors.deadletterqueue.enable": "false"}, None),
        ({"errors.dlq.enable": "False"}, None),
        ({"errors.deadletterqueue.enable": "perhaps"}, None),
    ],
)
def test_a_dead_letter_topic_is_shown_where_it_is_written_to(
    as_viewer: APIClient, engine: FakeEngine, config: dict[str, str], shown: str | None
) -> None:
    engine.add("c", {**CONFIG, **config})
    assert as_viewer.get("/api/v1/connectors/c").json()["dlq_topic"] == shown


def test_a_dead_letter_topic_that_is_no_longer_written_to_is_still_known_as_one(
    as_viewer: APIClient, engine: FakeEngine
) -> None:
    engine.add("c", {**CONFIG, "errors.deadletterqueue.enable": "false"})
    as_viewer.get("/api/v1/connectors")
    assert dead_letter_topics() == {"usgs.earthquakes.dlq"}


def test_no_door_shows_a_secret(as_viewer: APIClient, engine: FakeEngine) -> None:
    engine.add("c", CONFIG)
    for path in ("connectors", "connectors/c"):
        assert b"hunter2" not in as_viewer.get(f"/api/v1/{path}").content
    assert "hunter2" not in str(EngineAnswer.objects.get().body)


def test_an_engine_that_is_away_leaves_its_last_answer_with_its_age(
    as_viewer: APIClient, engine: FakeEngine, settings: Settings
) -> None:
    engine.add("c", CONFIG)
    first = as_viewer.get("/api/v1/connectors").json()
    settings.ENGINE_URL = "http://127.0.0.1:1"
    body = as_viewer.get("/api/v1/connectors").json()
    (cluster,) = body["clusters"]
    assert (cluster["reachable"], cluster["as_of"]) == (False, first["clusters"][0]["as_of"])
    assert cluster["trouble"] == "The engine does not respond."
    assert [row["name"] for row in body["results"]] == ["c"]


def test_an_engine_that_never_answered_has_no_connectors(as_viewer: APIClient) -> None:
    assert as_viewer.get("/api/v1/connectors").json() == {
        "clusters": [
            {
                "name": "engine",
                "software": None,
                "version": "",
                "reachable": False,
                "as_of": None,
                "trouble": "The engine does not respond.",
                "has_figures": True,
            }
        ],
        "nearest": [],
        "results": [],
    }


@pytest.mark.parametrize("answer", [b"not json", [], 3, {"c": 3}, {"c": {"status": [], "info": {"config": []}}}])
def test_a_strange_answer_of_the_engine_breaks_nothing(as_viewer: APIClient, engine: FakeEngine, answer: Any) -> None:
    engine.connectors = answer
    assert as_viewer.get("/api/v1/connectors").status_code == 200


@pytest.mark.parametrize("path", WRITES)
def test_a_viewer_controls_nothing(as_viewer: APIClient, anonymous: APIClient, engine: FakeEngine, path: str) -> None:
    for client, status in ((as_viewer, 403), (anonymous, 401)):
        response = client.post(f"/api/v1/connectors/{path}")
        assert response.status_code == status
        assert response["Content-Type"] == "application/problem+json"
    assert engine.calls == []


def test_an_operators_control_reaches_the_engine_and_the_audit_trail(
    as_operator: APIClient, engine: FakeEngine
) -> None:
    for path in WRITES:
        response = as_operator.post(f"/api/v1/connectors/{path}", {"reason": "3 a.m."})
        assert response.status_code == 202
    assert engine.calls == [
        ("PUT", "/connectors/c/pause"),
        ("PUT", "/connectors/c/resume"),
        ("PUT", "/connectors/c/stop"),
        ("POST", "/connectors/c/restart?includeTasks=true&onlyFailed=false"),
        ("POST", "/connectors/c/tasks/0/restart"),
    ]
    entries = list(AuditEntry.objects.order_by("id"))
    assert [entry.action for entry in entries][:2] == ["pause connector", "resume connector"]
    assert entries[0].detail == {"reason": "3 a.m.", "cluster": "engine", "outcome": "accepted"}


@pytest.mark.parametrize(
    ("answer", "expected"), [((404, {"message": "no c"}), 404), ((409, {}), 409), ((500, {}), 503)]
)
def test_the_engines_no_is_passed_on_and_audited(
    as_operator: APIClient, engine: FakeEngine, answer: Any, expected: Any
) -> None:
    engine.answer = answer
    response = as_operator.post("/api/v1/connectors/c/pause")
    assert response.status_code == expected
    assert AuditEntry.objects.get().detail["outcome"].startswith("refused")


def test_a_control_that_nobody_answered_is_audited_as_unknown(as_operator: APIClient) -> None:
    assert as_operator.post("/api/v1/connectors/c/stop").status_code == 503
    assert AuditEntry.objects.get().detail["outcome"].startswith("unknown")


def test_a_read_only_cluster_is_not_controlled(as_operator: APIClient, engine: FakeEngine, settings: Settings) -> None:
    settings.READ_ONLY = True
    response = as_operator.post("/api/v1/connectors/c/pause")
    assert (response.status_code, response.json()["detail"]) == (403, "This cluster is read-only.")


@pytest.mark.parametrize("name", ["%2e%2e", "..", "a%20b%3Fx%3D1", "%F0%9F%92%A9"])
def test_a_name_stays_one_segment_of_the_engines_address(as_operator: APIClient, engine: FakeEngine, name: str) -> None:
    as_operator.post(f"/api/v1/connectors/{name}/pause")
    assert all(
        path.startswith("/connectors/") and path.endswith("/pause") and path.count("/") == 3 for _, path in engine.calls
    )


@pytest.mark.parametrize("body", [b"[1", b"[]", b'{"reason": {}}', b'{"reason": "' + b"x" * 2000 + b'"}', b"\xff"])
def test_a_malformed_control_is_a_problem_and_reaches_nobody(
    as_operator: APIClient, engine: FakeEngine, body: Any
) -> None:
    response = as_operator.post("/api/v1/connectors/c/pause", body, content_type="application/json")
    assert response.status_code == 400
    assert response["Content-Type"] == "application/problem+json"
    assert engine.calls == []
