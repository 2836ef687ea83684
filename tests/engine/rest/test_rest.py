"""Kafka Connect's paths, bodies and status codes, over a herder that only remembers what it was asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

import pytest
from starlette.testclient import TestClient

from engine.config.masking import MASK
from engine.config.options import Option
from engine.config.topic import (
    ConfigState,
    TargetState,
    TaskEntry,
    commit_record,
    connector_record,
    fold_all,
    target_record,
    task_record,
)
from engine.errors import BadRequest, ConfigError, Conflict, EngineError, NotLeading, RetriableError
from engine.herder.fold import fold_config
from engine.herder.offset_changes import OffsetRow
from engine.herder.state import Figures, HerderState
from engine.herder.view import ConnectorFacts, View
from engine.record.record import TopicPartition
from engine.record.stage import Stage, StageType
from engine.rest.app import build_app

T = TypeVar("T")
PROPERTIES = {"name": "c", "topics": "t", "connection.url": "postgresql://u:hidden@h/d", "db.password": "hidden"}
PARTITION = TopicPartition("t", 0)


class Herder:
    def __init__(self) -> None:
        self.config = fold_all(
            ConfigState(),
            [
                connector_record("c", PROPERTIES),
                task_record("c", 0, TaskEntry(1, PROPERTIES, (PARTITION,))),
                commit_record("c", 1, 1),
            ],
        )
        self.asked: list[tuple[Any, ...]] = []
        self.refusal: EngineError | None = None
        self.later: EngineError | None = None  # what becomes of a change of offsets that was taken on
        self.standby: str | None = None
        self.failed = False

    def view(self) -> View:
        state = fold_config(HerderState(epoch=1), self.config, 0)
        figures = Figures({"records-consumed": 7, "total-record-failures": 2}, {"1:VALUE_CONVERTER:Json:x": 2}, {})
        tasks = {
            key: type(task)(
                task.config,
                task.target,
                positions={PARTITION: 5},
                figures=figures,
                trace="Traceback …" if self.failed else None,
            )
            for key, task in state.tasks.items()
        }
        facts = {"c": ConnectorFacts(stages=(Stage(StageType.TASK_PUT, "SqlSink"),))}
        state = HerderState(1, tasks)
        if self.standby == "nobody":
            return View("w:1", standby=True, config=self.config, state=state)
        if self.standby is not None:
            return View("w:1", standby=True, leader_url=self.standby)
        return View("w:1", ready=True, config=self.config, state=state, ends={PARTITION: 12}, facts=facts, slots=8)

    def put(self, name: str, properties: Mapping[str, str], *, create: bool = False) -> Future[bool]:
        def change() -> bool:
            new = self.view().connector(name) is None
            self.config = fold_all(self.config, [connector_record(name, properties)])
            return new

        return self._ask(("put", name, dict(properties), create), change)

    def delete(self, name: str) -> Future[None]:
        return self._ask(("delete", name), lambda: None)

    def set_target(self, name: str, target: TargetState) -> Future[None]:
        def change() -> None:
            self.config = fold_all(self.config, [target_record(name, target)])

        return self._ask(("target", name, target), change)

    def restart(self, name: str, *, tasks: bool = False, only_failed: bool = False) -> Future[None]:
        return self._ask(("restart", name, tasks, only_failed), lambda: None)

    def restart_task(self, name: str, task: int) -> Future[None]:
        return self._ask(("restart", name, task), lambda: None)

    def offsets(self, name: str) -> list[OffsetRow]:
        return [({"kafka_topic": "t", "kafka_partition": 0}, {"kafka_offset": 5})]

    def change_offsets(self, name: str, rows: Sequence[OffsetRow] | None) -> Future[Future[None]]:
        done: Future[None] = Future()
        if self.later is None:
            done.set_result(None)
        else:
            done.set_exception(self.later)
        return self._ask(("offsets", name, rows), lambda: done)

    def _ask(self, what: tuple[Any, ...], call: Callable[[], T]) -> Future[T]:
        self.asked.append(what)
        future: Future[T] = Future()
        if self.refusal:
            future.set_exception(self.refusal)
        else:
            future.set_result(call())
        return future


def examine(properties: Mapping[str, str]) -> None:
    if "tasks.max" in properties and not properties["tasks.max"].isdecimal():
        raise ConfigError((("tasks.max", properties["tasks.max"], "is no number"), ("topics", None, "is required")))


@pytest.fixture
def herder() -> Herder:
    return Herder()


@pytest.fixture
def client(herder: Herder) -> TestClient:
    return TestClient(build_app(herder, examine), raise_server_exceptions=False)


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


def test_status_is_kafka_connects(client: TestClient) -> None:
    assert client.get("/connectors/c/status").json() == {
        "name": "c",
        "connector": {"state": "RUNNING", "worker_id": "w:1"},
        "tasks": [{"id": 0, "state": "RUNNING", "worker_id": "w:1"}],
        "type": "sink",
    }


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
    herder.refusal = Conflict("Connector c already exists")
    answer = client.post("/connectors", json={"name": "c", "config": {}})
    assert (answer.status_code, answer.json()["message"]) == (409, "Connector c already exists")


def test_validation_answers_a_row_per_option(client: TestClient) -> None:
    body = client.put("/connector-plugins/SqlSink/config/validate", json={"tasks.max": "x"}).json()
    rows = {row["value"]["name"]: row for row in body["configs"]}
    assert body["error_count"] == 2
    assert rows["tasks.max"]["value"]["errors"] == ["is no number"]
    assert rows["topics"]["value"]["errors"] == ["is required"]
    assert rows["name"]["definition"]["required"] is True


class Salted:
    """A transform with a secret."""

    OPTIONS = (Option("salt", "string", "", "A secret.", secret=True, aliases=("pepper",)),)

    def configure(self, configs: Mapping[str, str]) -> None: ...
    def apply(self, record: Any) -> Any: ...


def test_validation_shows_no_secret_of_a_step_or_of_the_connector(client: TestClient) -> None:
    body = {
        "name": "c", "topics": "t", "connection.url": "hush", "transforms": "x,y", "tasks.max": "x",
        "transforms.x.type": f"{__name__}.Salted", "transforms.x.salt": "hush", "transforms.y.type": "DropHeaders",
        "transforms.y.headers": "shown", "value.converter.auth.token": "hush",
    }  # fmt: skip
    answer = client.put("/connector-plugins/SqlSink/config/validate", json=body)
    assert answer.status_code == 200
    assert "hush" not in answer.text
    assert {row["value"]["value"] for row in answer.json()["configs"]} >= {MASK, "shown"}


def test_validation_shows_no_secret_of_a_stream_s_processor(client: TestClient) -> None:
    body = {
        "topics": "t", "processors": "p", "processors.p.type": f"{__name__}.Salted", "processors.p.salt": "hush",
        "processors.p.pepper": "hush", "processors.q.salt": "shown",
    }  # fmt: skip
    answer = client.put("/connector-plugins/stream/config/validate", json=body)
    assert (answer.status_code, "hush" in answer.text, "shown" in answer.text) == (200, False, True)


@pytest.mark.parametrize(
    ("path", "given", "status"),
    [
        ("FileStreamSink", "SqlSink", 400), ("FileStreamSink", "no.Such", 400), ("SqlSink", "FileStreamSource", 400),
        ("FileStreamSink", "FileStreamSink", 200),
        ("FileStreamSink", "org.apache.kafka.connect.file.FileStreamSinkConnector", 200),
        ("org.apache.kafka.connect.file.FileStreamSinkConnector", "FileStreamSink", 200),
    ],
)  # fmt: skip
def test_validation_is_of_the_class_in_the_path(client: TestClient, path: str, given: str, status: int) -> None:
    answer = client.put(f"/connector-plugins/{path}/config/validate", json={"connector.class": given})
    assert answer.status_code == status
    assert status == 200 or answer.json()["message"] == f"connector.class is {given}, but the request is about {path}"


def test_definitions_have_kafka_connect_s_types_and_defaults_as_text(client: TestClient) -> None:
    rows: dict[str, Any] = {}
    for plugin in ("SqlSink", "FileStreamSource", "stream"):
        rows |= {row["name"]: row for row in client.get(f"/connector-plugins/{plugin}/config").json()}
    known = {"BOOLEAN", "STRING", "INT", "SHORT", "LONG", "DOUBLE", "LIST", "CLASS", "PASSWORD"}
    assert {row["type"] for row in rows.values()} <= known
    assert {type(row["default_value"]) for row in rows.values()} == {str, type(None)}
    assert rows["tasks.max"]["default_value"] == "1"
    assert rows["topics"]["default_value"] == ""
    assert rows["name"]["default_value"] is None
    assert rows["errors.log.enable"]["default_value"] == "false"


def test_plugins_are_listed_with_kafka_connects_words(client: TestClient) -> None:
    connectors = client.get("/connector-plugins").json()
    assert {"class": "SqlSink", "type": "sink", "version": "0.1.0"} in connectors
    assert {row["type"] for row in connectors} <= {"sink", "source", "stream"}
    every = client.get("/connector-plugins", params={"connectorsOnly": "false"}).json()
    assert {"class": "RecordIsTombstone", "type": "predicate", "version": "0.1.0"} in every
    assert {row["class"] for row in connectors} < {row["class"] for row in every}


def test_a_plugin_tells_its_own_options_beside_the_common_ones(client: TestClient) -> None:
    rows = {row["name"]: row for row in client.get("/connector-plugins/SqlSink/config").json()}
    assert (rows["table.name"]["required"], rows["errors.retry.limit"]["default_value"]) == (True, "0")
    answer = client.get("/connector-plugins/SqlSnik/config")
    assert (answer.status_code, answer.json()["message"]) == (404, "Unknown connector plugin: SqlSnik")


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
