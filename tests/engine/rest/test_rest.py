"""Kafka Connect's paths, bodies and status codes, over a herder that only remembers what it was asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

from engine.config.topic import TargetState, TaskEntry, commit_record, connector_record, fold_all, task_record
from engine.errors import BadRequest, ConfigError, NotLeading, RequestConflict, RetriableError
from engine.herder.snapshot import HerderSnapshot
from engine.rest import bodies
from engine.rest.app import build_app
from engine.rest.forwarding import LeaderForwarder
from tests.engine.rest.herder import PARTITION, PROPERTIES, Herder, examine


def test_the_root_names_the_version(client: TestClient) -> None:
    assert set(client.get("/").json()) == {"version", "commit", "kafka_cluster_id"}
    assert client.get("/").json()["commit"] == ""  # by which the dashboard tells it from Kafka Connect


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
        "connector": {"state": "RUNNING", "worker_id": "w:1", "version": "0.1.0"},
        "tasks": [{"id": 0, "state": "RUNNING", "worker_id": "w:1", "version": "0.1.0"}],
        "type": "sink",
        "delivery": "at_least_once",
    }


@pytest.mark.parametrize(("most", "idle"), [("1", None), ("4", 3)])
def test_status_tells_how_many_tasks_have_no_partition(
    client: TestClient, herder: Herder, most: str, idle: int | None
) -> None:
    properties = {**PROPERTIES, "tasks.max": most}
    records = [task_record("c", 0, TaskEntry(2, properties, (PARTITION,))), commit_record("c", 1, 2)]
    herder.config = fold_all(herder.config, [connector_record("c", properties), *records])
    note = client.get("/connectors/c/status").json()["connector"].get("note")
    sentence = f"idle tasks: {idle}, because tasks.max is {most} and the number of partitions is 1"
    assert note == (sentence if idle else None)


def test_a_running_task_that_can_not_commit_shows_why(client: TestClient, herder: Herder) -> None:
    herder.trouble = "the commit timed out"
    [task] = client.get("/connectors/c/status").json()["tasks"]
    assert (task["state"], task["parked_reason"]) == ("RUNNING", "the commit timed out")
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


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"x"', b'{"name": 1}', b'{"name": "n"}', b'{"colour": "red"}'])
def test_a_malformed_body_is_500_with_a_message_as_in_kafka_connect(client: TestClient, body: bytes) -> None:
    answer = client.post("/connectors", content=body)
    assert answer.status_code == 500
    assert answer.json()["error_code"] == 500
    assert answer.json()["message"].endswith(".")


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


def test_health_is_kafka_connects_and_the_details_are_ours(client: TestClient) -> None:
    answer = client.get("/health")
    assert (answer.status_code, answer.json()["status"]) == (200, "healthy")
    assert client.get("/health/details").json()["status"] == "ok"


@pytest.mark.parametrize(
    ("view", "status", "code"),
    [
        (HerderSnapshot("w:1"), "starting", 503),
        (HerderSnapshot("w:1", standby=True), "starting", 503),
        (HerderSnapshot("w:1", standby=True, leader_url="http://o:1"), "healthy", 200),
        (HerderSnapshot("w:1", ready=True), "healthy", 200),
        (HerderSnapshot("w:1", ready=True, trouble="the brokers are away"), "unhealthy", 500),
    ],
)
def test_health_tells_starting_from_ready_and_from_broken(view: HerderSnapshot, status: str, code: int) -> None:
    body = bodies.health(view)
    assert (body["status"], bodies.HEALTH_CODES[body["status"]]) == (status, code)


def test_a_connector_is_created_in_its_initial_state(client: TestClient, herder: Herder) -> None:
    body = {"name": " d ", "config": {"topics": "t"}, "initial_state": "stopped"}
    answer = client.post("/connectors", json=body)
    assert (answer.status_code, answer.headers["location"]) == (201, "http://testserver/connectors/d")
    assert herder.asked == [("put", "d", {"topics": "t"}, True, TargetState.STOPPED)]
    assert client.post("/connectors", json={**body, "initial_state": "asleep"}).status_code == 500


def test_a_patch_is_handed_on_with_its_nulls(client: TestClient, herder: Herder) -> None:
    assert client.patch("/connectors/c/config", json={"tasks.max": 2, "topics": None}).status_code == 200
    assert herder.asked == [("patch", "c", {"tasks.max": "2", "topics": None})]
    assert client.patch("/connectors/x/config", json={}).status_code == 404


def test_the_topics_of_no_connector_are_none(client: TestClient, herder: Herder) -> None:
    assert client.get("/connectors/x/topics").json() == {"x": {"topics": []}}
    assert client.put("/connectors/x/topics/reset").status_code == 202
    assert herder.asked == [("reset topics", "x")]


def test_a_stopped_connector_shows_no_tasks(client: TestClient, herder: Herder) -> None:
    client.put("/connectors/c/stop")
    assert client.get("/connectors/c/status").json()["tasks"] == []
    assert client.get("/connectors/c/tasks").json() == []
    assert client.post("/connectors/c/tasks/0/restart").status_code == 409


def test_a_restart_shows_what_it_restarts(client: TestClient, herder: Herder) -> None:
    def states(query: str) -> tuple[str, list[str]]:
        body = client.post(f"/connectors/c/restart?{query}").json()
        return body["connector"]["state"], [task["state"] for task in body["tasks"]]

    assert states("includeTasks=true") == ("RESTARTING", ["RESTARTING"])
    assert states("onlyFailed=true") == ("RUNNING", ["RUNNING"])
    herder.failed = True
    assert states("includeTasks=true&onlyFailed=true") == ("RUNNING", ["RESTARTING"])


def test_loggers_are_set_in_this_worker_or_in_the_cluster(client: TestClient, herder: Herder) -> None:
    name = "tests.of.levels"
    assert client.put(f"/admin/loggers/{name}", json={"level": "debug"}).json() == [name]
    assert client.put(f"/admin/loggers/{name}", json={"level": "DEBUG"}).json() == []
    assert client.get(f"/admin/loggers/{name}").json()["level"] == "DEBUG"
    assert client.get("/admin/loggers").json()[name]["last_modified"] > 0
    assert client.put(f"/admin/loggers/{name}?scope=cluster", json={"level": "WARN"}).status_code == 204
    assert herder.asked == [("log level", name, "WARN")]
    assert client.put(f"/admin/loggers/{name}", json={}).status_code == 400
    assert client.put(f"/admin/loggers/{name}", json={"level": "LOUD"}).status_code == 404
    assert client.get("/admin/loggers/tests.of.nothing").status_code == 404


@pytest.mark.parametrize(("accept", "status"), [("text/plain", 406), ("text/html, */*;q=0.1", 200), ("", 200)])
def test_a_client_that_accepts_no_json_gets_406(client: TestClient, accept: str, status: int) -> None:
    assert client.get("/connectors", headers={"accept": accept}).status_code == status


def test_paths_end_with_a_slash_or_without_and_tell_their_methods(client: TestClient) -> None:
    assert client.get("/connectors/").json() == ["c"]
    answer = client.options("/connectors/c/config")
    assert answer.headers["allow"] == "GET,HEAD,OPTIONS,PATCH,PUT"
    assert client.post("/connectors/c/config").status_code == 405


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


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 400),
        ({"offsets": []}, 400),
        ({"offsets": 1}, 500),
        ({"offsets": [1]}, 500),
        ({"offsets": [{"offset": {}}]}, 400),
        ({"offsets": [{"partition": {}, "colour": "red"}]}, 500),
    ],
)
def test_offsets_of_another_form_are_refused(
    client: TestClient, herder: Herder, body: dict[str, Any], status: int
) -> None:
    assert client.patch("/connectors/c/offsets", json=body).status_code == status
    assert herder.asked == []


def test_why_offsets_were_not_changed_is_told(client: TestClient, herder: Herder) -> None:
    herder.later = RetriableError("it could not be fenced")
    answer = client.delete("/connectors/c/offsets")
    assert (answer.status_code, answer.json()["message"]) == (503, "it could not be fenced")
    herder.refusal = BadRequest("it must be STOPPED")
    assert client.delete("/connectors/c/offsets").status_code == 400


@pytest.mark.parametrize("status", [401, 421, 0])
def test_a_worker_whose_leader_does_not_let_it_in_sends_its_clients_there(herder: Herder, status: int) -> None:
    def leader(_request: httpx2.Request) -> httpx2.Response:
        if status == 0:
            raise httpx2.ConnectError("no way")
        return httpx2.Response(status)

    client = standing_by(herder, leader)
    for method, path in (("GET", "/connectors"), ("PUT", "/connectors/a%20b/config"), ("DELETE", "/connectors/c")):
        answer = client.request(method, f"{path}?x=1", follow_redirects=False)
        assert (answer.status_code, answer.headers["location"]) == (307, f"http://other:8083{path}?x=1")


def test_a_worker_that_stands_by_forwards_requests_once(herder: Herder) -> None:
    sent: list[httpx2.Request] = []

    def leader(request: httpx2.Request) -> httpx2.Response:
        sent.append(request)
        headers = {"location": "http://other:8083/connectors/d", "server": "s"}
        return httpx2.Response(201, json={"name": "d"}, headers=headers)

    client = standing_by(herder, leader)
    headers = {"authorization": "Bearer t", "cookie": "x=y"}
    answer = client.post("/connectors?a=1&forward=true", json={"name": "d", "config": {}}, headers=headers)
    assert (answer.status_code, answer.json()) == (201, {"name": "d"})
    assert answer.headers["location"] == "http://other:8083/connectors/d"
    assert "server" not in answer.headers
    [request] = sent
    assert (request.method, str(request.url)) == ("POST", "http://other:8083/connectors?a=1&forward=false")
    assert (request.headers["authorization"], "cookie" in request.headers) == ("Bearer t", False)
    assert request.content == b'{"name":"d","config":{}}'
    assert client.get("/connectors?forward=false").status_code == 409
    assert len(sent) == 1


@pytest.mark.parametrize(
    ("path", "forwarded"),
    [
        ("/connectors/c", "/connectors/c"),
        ("/connectors/a%3Fb", "/connectors/a%3Fb"),
        ("/connectors/a%23b", "/connectors/a%23b"),
        ("/connectors/a%20%C3%A4", "/connectors/a%20%C3%A4"),
        ("/connectors/a%2Fpause", "/connectors/a/pause"),  # the API reads both alike
    ],
)
def test_a_forwarded_request_has_the_name_that_was_asked_for(herder: Herder, path: str, forwarded: str) -> None:
    sent: list[bytes] = []

    def leader(request: httpx2.Request) -> httpx2.Response:
        sent.append(request.url.raw_path)
        return httpx2.Response(204)

    standing_by(herder, leader).request("PUT" if path.endswith("pause") else "DELETE", path)
    assert sent == [f"{forwarded}?forward=false".encode()]


def test_a_worker_that_stands_by_answers_itself_what_is_no_matter_of_the_leader(
    client: TestClient, herder: Herder
) -> None:
    herder.standby = "http://other:8083"
    assert client.get("/health/details").json()["status"] == "standby"
    assert client.get("/connector-plugins").status_code == 200


def test_a_worker_that_knows_no_leader_says_so(client: TestClient, herder: Herder) -> None:
    herder.standby = ""
    answer = client.get("/connectors", follow_redirects=False)
    assert (answer.status_code, answer.json()["error_code"]) == (409, 409)


def test_what_was_seen_last_is_shown_while_nobody_leads(client: TestClient, herder: Herder) -> None:
    herder.standby = "nobody"
    assert client.get("/connectors").json() == ["c"]
    assert client.delete("/connectors/c").status_code == 409


def test_a_worker_that_lost_the_leadership_meanwhile_says_so(client: TestClient, herder: Herder) -> None:
    herder.refusal = NotLeading()
    assert client.delete("/connectors/c").status_code == 409


def standing_by(herder: Herder, leader: Callable[[httpx2.Request], httpx2.Response]) -> TestClient:
    """A worker that stands by, with a leader that answers so."""
    herder.standby = "http://other:8083"
    forwarder = LeaderForwarder(httpx2.MockTransport(leader))
    return TestClient(build_app(herder, examine, forwarder=forwarder), raise_server_exceptions=False)
