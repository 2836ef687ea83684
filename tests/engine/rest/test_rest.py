"""Kafka Connect's paths, bodies and status codes, over a herder that only remembers what it was asked."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from engine.config.topic import TargetState
from engine.errors import BadRequest, ConfigError, NotLeading, RequestConflict, RetriableError
from tests.engine.rest.herder import Herder


def test_the_root_names_the_version(client: TestClient) -> None:
    assert set(client.get("/").json()) == {"version", "commit", "kafka_cluster_id"}


def test_connectors_are_listed_by_name_and_expanded_on_request(client: TestClient) -> None:
    assert client.get("/connectors").json() == ["c"]
    expanded = client.get("/connectors?expand=status&expand=info").json()
    assert set(expanded["c"]) == {"status", "info"}


def test_info_has_masked_config_tasks_and_type(client: TestClient) -> None:
    body = client.get("/connectors/c").json()
    assert body["tasks"] == [{"connector": "c", "task": 0}]
    assert body["type"] == "sink"
    assert "hidden" not in client.get("/connectors/c").text


def test_secrets_appear_nowhere(client: TestClient) -> None:
    paths = ["", "/config", "/status", "/tasks", "/topics", "/metrics"]
    assert not [path for path in paths if "hidden" in client.get(f"/connectors/c{path}").text]


def test_status_is_kafka_connects_with_the_delivery_guarantee(client: TestClient) -> None:
    assert client.get("/connectors/c/status").json() == {
        "name": "c",
        "connector": {"state": "RUNNING", "worker_id": "w:1"},
        "tasks": [{"id": 0, "state": "RUNNING", "worker_id": "w:1"}],
        "type": "sink",
        "delivery": "at_least_once",
    }


def test_a_running_task_that_can_not_commit_shows_why(client: TestClient, herder: Herder) -> None:
    herder.trouble = "the commit timed out"
    [task] = client.get("/connectors/c/status").json()["tasks"]
    assert task == {"id": 0, "state": "RUNNING", "worker_id": "w:1", "parked_reason": "the commit timed out"}
    assert 'kafka_connect_task_retrying{connector="c",task="0"} 1.0' in client.get("/metrics").text
    herder.trouble = None
    assert 'kafka_connect_task_retrying{connector="c",task="0"} 0.0' in client.get("/metrics").text


def test_a_failed_task_shows_its_trace(client: TestClient, herder: Herder) -> None:
    herder.failed = True
    [task] = client.get("/connectors/c/status").json()["tasks"]
    assert (task["state"], task["trace"]) == ("FAILED", "Traceback …")
    assert client.get("/connectors/c/tasks/0/status").json() == task


def test_metrics_have_positions_ends_and_lag(client: TestClient) -> None:
    [task] = client.get("/connectors/c/metrics").json()["tasks"]
    assert (task["positions"], task["ends"], task["lag"]) == ({"t-0": 5}, {"t-0": 12}, 7)
    assert task["metrics"]["records-consumed"] == 7
    assert task["delivery"] == "at_least_once"


def test_prometheus_has_the_kips_names(client: TestClient) -> None:
    text = client.get("/metrics").text
    assert 'kafka_connect_task_error_metrics_total_record_failures_total{connector="c",task="0"} 2.0' in text
    stage = '{class="Json:x",connector="c",index="1",stage="VALUE_CONVERTER",task="0"} 2.0'
    assert f"kafka_connect_task_error_metrics_stage_failures_total{stage}" in text
    assert 'kafka_connect_task_lag{connector="c",task="0"} 7.0' in text


def test_creating_answers_201_and_changing_200(client: TestClient, herder: Herder) -> None:
    created = client.post("/connectors", json={"name": "d", "config": {"topics": "t", "tasks.max": 2, "x": True}})
    assert created.status_code == 201
    assert created.json()["name"] == "d"
    assert herder.asked == [("put", "d", {"topics": "t", "tasks.max": "2", "x": "true"}, True)]
    assert client.put("/connectors/d/config", json={"topics": "u"}).status_code == 200
    assert client.put("/connectors/e/config", json={"topics": "u"}).status_code == 201


@pytest.mark.parametrize(
    ("method", "path", "expected", "asked"),
    [
        ("PUT", "/connectors/c/pause", 202, ("target", "c", TargetState.PAUSED)),
        ("PUT", "/connectors/c/resume", 202, ("target", "c", TargetState.STARTED)),
        ("PUT", "/connectors/c/stop", 204, ("target", "c", TargetState.STOPPED)),
        ("DELETE", "/connectors/c", 204, ("delete", "c")),
        ("POST", "/connectors/c/restart", 204, ("restart", "c", False, False)),
        ("POST", "/connectors/c/restart?includeTasks=true", 202, ("restart", "c", True, False)),
        ("POST", "/connectors/c/restart?includeTasks=true&onlyFailed=true", 202, ("restart", "c", True, True)),
        ("POST", "/connectors/c/tasks/0/restart", 204, ("restart", "c", 0)),
    ],
)
def test_requests_reach_the_herder(
    client: TestClient, herder: Herder, method: str, path: str, expected: int, asked: tuple[Any, ...]
) -> None:
    assert client.request(method, path).status_code == expected
    assert herder.asked == [asked]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/connectors/x"),
        ("GET", "/connectors/x/status"),
        ("PUT", "/connectors/x/pause"),
        ("POST", "/connectors/x/restart"),
        ("DELETE", "/connectors/x"),
        ("GET", "/connectors/c/tasks/9/status"),
        ("GET", "/nowhere"),
    ],
)
def test_what_is_not_there_is_404_with_a_message(client: TestClient, method: str, path: str) -> None:
    answer = client.request(method, path)
    assert answer.status_code == 404
    assert answer.json()["error_code"] == 404
    assert answer.json()["message"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"x"', b'{"name": 1}', b'{"config": {}}', b'{"name": "n"}'])
def test_a_wrong_body_is_400_with_a_message(client: TestClient, body: bytes) -> None:
    answer = client.post("/connectors", content=body)
    assert answer.status_code == 400
    assert answer.json()["error_code"] == 400


def test_a_wrong_config_is_400_with_every_problem(client: TestClient, herder: Herder) -> None:
    herder.refusal = ConfigError((("a", "1", "is wrong"), ("b", None, "is required")))
    answer = client.put("/connectors/c/config", json={})
    assert answer.status_code == 400
    assert "a: is wrong" in answer.json()["message"]
    assert "b: is required" in answer.json()["message"]


def test_a_taken_name_is_409(client: TestClient, herder: Herder) -> None:
    herder.refusal = RequestConflict("Connector c already exists")
    answer = client.post("/connectors", json={"name": "c", "config": {}})
    assert (answer.status_code, answer.json()["message"]) == (409, "Connector c already exists")


def test_health_tells_starting_from_ready(client: TestClient) -> None:
    assert client.get("/health").json()["status"] == "ok"


ROW = {"partition": {"kafka_topic": "t", "kafka_partition": 0}, "offset": {"kafka_offset": 5}}


def test_offsets_are_kafka_connects(client: TestClient) -> None:
    assert client.get("/connectors/c/offsets").json() == {"offsets": [ROW]}
    assert client.get("/connectors/x/offsets").status_code == 404


def test_offsets_are_altered_and_reset(client: TestClient, herder: Herder) -> None:
    answer = client.patch("/connectors/c/offsets", json={"offsets": [ROW, {"partition": {"a": 1}, "offset": None}]})
    assert (answer.status_code, "altered successfully" in answer.json()["message"]) == (200, True)
    assert herder.asked == [("offsets", "c", [(ROW["partition"], ROW["offset"]), ({"a": 1}, None)])]
    answer = client.delete("/connectors/c/offsets")
    assert (answer.status_code, "reset successfully" in answer.json()["message"]) == (200, True)
    assert herder.asked[-1] == ("offsets", "c", None)


@pytest.mark.parametrize("body", [{}, {"offsets": []}, {"offsets": 1}, {"offsets": [1]}, {"offsets": [{"offset": {}}]}])
def test_offsets_of_another_form_are_refused(client: TestClient, herder: Herder, body: dict[str, Any]) -> None:
    assert client.patch("/connectors/c/offsets", json=body).status_code == 400
    assert herder.asked == []


def test_why_offsets_were_not_changed_is_told(client: TestClient, herder: Herder) -> None:
    herder.later = RetriableError("it could not be fenced")
    answer = client.delete("/connectors/c/offsets")
    assert (answer.status_code, answer.json()["message"]) == (503, "it could not be fenced")
    herder.refusal = BadRequest("it must be STOPPED")
    assert client.delete("/connectors/c/offsets").status_code == 400


def test_a_worker_that_stands_by_sends_its_clients_to_the_leader(client: TestClient, herder: Herder) -> None:
    herder.standby = "http://other:8083"
    for method, path in (("GET", "/connectors"), ("PUT", "/connectors/a%20b/config"), ("DELETE", "/connectors/c")):
        answer = client.request(method, f"{path}?x=1", follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (307, f"http://other:8083{path}?x=1")
    assert client.get("/health").json()["status"] == "standby"
    assert client.get("/connector-plugins").status_code == 200


def test_a_worker_that_knows_no_leader_says_so(client: TestClient, herder: Herder) -> None:
    herder.standby = ""
    answer = client.get("/connectors", follow_redirects=False)
    assert (answer.status_code, answer.json()["error_code"]) == (503, 503)


def test_what_was_seen_last_is_shown_while_nobody_leads(client: TestClient, herder: Herder) -> None:
    herder.standby = "nobody"
    assert client.get("/connectors").json() == ["c"]
    assert client.delete("/connectors/c").status_code == 503


def test_a_worker_that_lost_the_leadership_meanwhile_says_so(client: TestClient, herder: Herder) -> None:
    herder.refusal = NotLeading()
    assert client.delete("/connectors/c").status_code == 503
