"""Several Connect clusters: ours and Java's, their connectors and secrets, and one that is away."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.audit.models import AuditEntry
from dlqadmin.connectors import client, cluster_responses, connect_clusters
from dlqadmin.connectors.connect_clusters import ENGINE, ConnectorKey
from dlqadmin.connectors.models import EngineAnswer
from dlqadmin.connectors.queries import dead_letter_topics
from dlqadmin.metrics.models import TaskSnapshot
from dlqadmin.replays.outcomes import target_readers
from dlqadmin.replays.rehearsals.inputs import CannotRehearse, properties
from engine.config.masking import MASK
from tests.dlqadmin.fakes import FakeEngine

CONNECTORS = "/api/v1/connectors"
JAVA_ROOT = {"version": "4.1.1", "commit": "be816b82d25370ce", "kafka_cluster_id": "k"}
CLASS = "connector.class"
SINK = {
    "connector.class": "com.example.JdbcSink",
    "topics": "orders",
    "errors.deadletterqueue.topic.name": "orders.dlq",
    "connection.phrase": "hush hush",
    "ssl.phrase": "${file:/secrets:phrase}",
}


def definitions(body: Any) -> Any:
    """Return the validation of a Java worker whose plugin has two secret options that no name betrays."""
    kinds = {"connection.phrase": "PASSWORD", "ssl.phrase": "PASSWORD", "topics": "LIST"}
    return {
        "configs": [
            {"definition": {"name": name, "type": kind}, "value": {"name": name, "value": body.get(name), "errors": []}}
            for name, kind in kinds.items()
        ]
    }


@pytest.fixture
def java(engine: FakeEngine, settings: Settings) -> Iterator[FakeEngine]:
    """A Java worker of the cluster `legacy`, beside our engine."""
    with FakeEngine() as running:
        running.root, running.respond = JAVA_ROOT, definitions
        settings.CONNECT_CLUSTERS = {"legacy": {"url": running.url}}
        yield running


def written(fake: FakeEngine) -> list[tuple[str, str]]:
    """Return the writes without validations, which write nothing."""
    return [call for call in fake.calls if not call[1].endswith("/validate")]


def test_the_connectors_of_all_clusters_are_listed_with_what_their_cluster_is(
    as_viewer: APIClient, engine: FakeEngine, java: FakeEngine
) -> None:
    engine.add("a", {"topics": "t"})
    java.add("a", SINK)
    java.add("b", SINK, state="PAUSED")
    body = as_viewer.get(CONNECTORS).json()
    assert [(row["cluster"], row["name"], row["has_figures"]) for row in body["results"]] == [
        ("engine", "a", True),
        ("legacy", "a", False),
        ("legacy", "b", False),
    ]
    assert [(one["name"], one["software"], one["version"]) for one in body["clusters"]] == [
        ("engine", "dlqadmin", "0.1.0"),
        ("legacy", "kafka_connect", "4.1.1"),
    ]
    assert dead_letter_topics() == {"orders.dlq"}


def test_a_task_has_the_figures_of_its_own_cluster_alone(
    as_viewer: APIClient, engine: FakeEngine, java: FakeEngine
) -> None:
    TaskSnapshot.objects.create(
        connector="a", task=0, state="RUNNING", reported_at="2026-11-21T00:00Z", metrics={"records-consumed": 9}
    )
    engine.add("a", {"topics": "t"})
    java.add("a", SINK)
    ours, theirs = as_viewer.get(CONNECTORS).json()["results"]
    assert (ours["metrics"], theirs["metrics"]) == ({"records-consumed": 9}, {})
    assert (theirs["lag"], theirs["tasks"][0]["budget"]["risk"]) == (None, "unknown")


def test_a_cluster_that_is_away_hides_no_other(
    as_viewer: APIClient, engine: FakeEngine, java: FakeEngine, settings: Settings
) -> None:
    engine.add("a", {"topics": "t"})
    java.add("b", SINK)
    as_viewer.get(CONNECTORS)
    settings.CONNECT_CLUSTERS = {"legacy": {"url": "http://127.0.0.1:1"}}
    body = as_viewer.get(CONNECTORS).json()
    assert [one["trouble"] for one in body["clusters"]] == [None, "The Connect cluster legacy does not respond."]
    assert [row["shown"]["state"] for row in body["results"]] == ["running", "unknown"]
    assert "because the Connect cluster legacy does not respond" in body["results"][1]["shown"]["text"]
    health = as_viewer.get("/api/v1/health").json()
    assert [one["reachable"] for one in health["connect"]] == [True, False]
    assert "The Connect cluster legacy does not respond." in health["reasons"]
    items = as_viewer.get("/api/v1/metrics/attention").json()["items"]
    assert "The Connect cluster legacy does not respond" in [item["title"] for item in items]


def test_a_control_goes_to_the_cluster_of_the_connector(
    as_operator: APIClient, engine: FakeEngine, java: FakeEngine
) -> None:
    engine.add("a", {"topics": "t"})
    java.add("b", SINK)
    as_operator.get(CONNECTORS)
    answer = as_operator.post(f"{CONNECTORS}/b/restart", {"reason": "r", "only_failed": True}, format="json")
    assert (answer.status_code, answer.json()["cluster"]) == (202, "legacy")
    assert (engine.calls, written(java)) == (
        [],
        [("POST", "/connectors/b/restart?includeTasks=true&onlyFailed=true")],
    )
    [row] = as_operator.get("/api/v1/audit").json()["results"]
    assert row["sentence"] == "restarted connector b of Connect cluster legacy, failed parts only"
    assert row["href"] == "/connectors/legacy/b"


def test_a_name_that_two_clusters_have_needs_its_cluster(
    as_operator: APIClient, engine: FakeEngine, java: FakeEngine
) -> None:
    engine.add("a", {"topics": "t"})
    java.add("a", SINK)
    as_operator.get(CONNECTORS)
    refused = as_operator.post(f"{CONNECTORS}/a/pause", {"reason": "r"})
    assert refused.status_code == 400
    assert refused.json()["errors"] == [
        {"parameter": "cluster", "message": "is required: several clusters have a connector a: engine, legacy"}
    ]
    assert as_operator.post(f"{CONNECTORS}/a/pause?cluster=nowhere").status_code == 404
    assert as_operator.post(f"{CONNECTORS}/a/pause?cluster=legacy").status_code == 202
    assert (engine.calls, written(java)) == ([], [("PUT", "/connectors/a/pause")])
    assert as_operator.get(f"{CONNECTORS}/a?cluster=engine").json()["topics"] == ["t"]
    assert as_operator.get(f"{CONNECTORS}/a?cluster=legacy").json()["topics"] == ["orders"]


def test_who_paused_a_connector_is_told_for_its_cluster_alone(
    as_operator: APIClient, engine: FakeEngine, java: FakeEngine
) -> None:
    engine.add("a", {"topics": "t"}, state="PAUSED")
    java.add("a", SINK, state="PAUSED")
    as_operator.post(f"{CONNECTORS}/a/pause?cluster=legacy", {"reason": "r"})
    ours, theirs = as_operator.get(CONNECTORS).json()["results"]
    assert (ours["shown"]["by"], theirs["shown"]["by"]) == (None, "operator-1")


def test_secrets_of_a_java_worker_are_masked_by_their_type(
    as_operator: APIClient, engine: FakeEngine, java: FakeEngine
) -> None:
    java.add("b", SINK)
    shown = {"connection.phrase": MASK, "ssl.phrase": "${file:/secrets:phrase}"}
    [row] = as_operator.get(CONNECTORS).json()["results"]
    opened = as_operator.get(f"{CONNECTORS}/b/config?cluster=legacy").json()
    for config in (
        row["config"],
        opened["config"],
        EngineAnswer.objects.get(cluster="legacy").body["b"]["info"]["config"],
    ):
        assert {name: config[name] for name in shown} == shown
    assert opened["hidden"] == ["connection.phrase"]
    assert "hush" not in str(java.bodies)  # a question about definitions holds no secret


def test_a_masked_value_is_written_back_as_the_stored_one(
    as_operator: APIClient, engine: FakeEngine, java: FakeEngine
) -> None:
    java.add("b", SINK)
    opened = as_operator.get(f"{CONNECTORS}/b/config?cluster=legacy").json()["config"]
    java.respond = lambda body: {"name": "b", "config": body}
    body = {"config": {**opened, "topics": "orders,returns"}, "opened": opened, "reason": "returns too"}
    answer = as_operator.put(f"{CONNECTORS}/b/config?cluster=legacy", body, format="json")
    assert (answer.status_code, answer.json()["config"]["connection.phrase"]) == (200, MASK)
    assert java.bodies[-1] == {**SINK, "name": "b", "topics": "orders,returns"}
    entry = AuditEntry.objects.get()
    assert (entry.detail["cluster"], "hush" in str(entry.detail)) == ("legacy", False)
    assert entry.detail["changed"] == {"topics": {"before": "orders", "after": "orders,returns"}}


VALIDATE = "/api/v1/connector-plugins/com.example.JdbcSink/validate?cluster=legacy"


@pytest.mark.parametrize("option", ["mq.connection.name.list", "couchbase.seed.nodes", "phone.home", CLASS])
def test_a_stored_secret_goes_to_no_address_that_a_person_chose(
    as_operator: APIClient, engine: FakeEngine, java: FakeEngine, option: str
) -> None:
    """A Java worker connects while it validates, so a validation could send the secret too."""
    java.add("b", {**SINK, option: "one.example"})
    opened = as_operator.get(f"{CONNECTORS}/b/config?cluster=legacy").json()["config"]
    config = {**opened, option: "elsewhere.example"}
    text = "A stored secret is not sent to another address. Enter the secret again: connection.phrase."
    body = {"config": config, "opened": opened, "reason": "move", "connector": "b"}
    for answer in (
        as_operator.put(f"{CONNECTORS}/b/config?cluster=legacy", body, format="json"),
        as_operator.post(VALIDATE, body, format="json"),
    ):
        assert (answer.status_code, answer.json()["errors"]) == (400, [{"parameter": option, "message": text}])
    assert "hush" not in str(java.bodies)
    entered = {"config": {**config, "connection.phrase": "new"}, "connector": "b"}
    assert as_operator.post(VALIDATE, entered, format="json").status_code == 200


def test_a_stored_secret_is_not_sent_to_another_class(
    as_operator: APIClient, engine: FakeEngine, java: FakeEngine
) -> None:
    java.add("b", SINK)
    config = as_operator.get(f"{CONNECTORS}/b/config?cluster=legacy").json()["config"]
    url = "/api/v1/connector-plugins/com.example.HttpSink/validate?cluster=legacy"
    answer = as_operator.post(url, {"config": config, "connector": "b"}, format="json")
    assert [error["parameter"] for error in answer.json()["errors"]] == [CLASS]
    assert "hush" not in str(java.bodies)


@pytest.mark.parametrize("option", ["topics", "table.name.format", "tasks.max", "transforms.Route.regex", "batch.size"])
def test_a_change_of_what_is_no_address_keeps_the_stored_secret(
    as_operator: APIClient, engine: FakeEngine, java: FakeEngine, option: str
) -> None:
    java.add("b", {**SINK, "batch.size": "5"})
    config = as_operator.get(f"{CONNECTORS}/b/config?cluster=legacy").json()["config"]
    body = {"config": {**config, option: "7"}, "connector": "b"}
    assert as_operator.post(VALIDATE, body, format="json").status_code == 200
    assert java.bodies[-1]["connection.phrase"] == SINK["connection.phrase"]


def test_a_failed_validation_shows_no_stored_secret(
    as_operator: APIClient, engine: FakeEngine, java: FakeEngine
) -> None:
    java.add("b", SINK)
    config = as_operator.get(f"{CONNECTORS}/b/config?cluster=legacy").json()["config"]
    java.respond, java.answer = None, (500, {"message": "can't sign in with hush hush"})
    answer = as_operator.post(VALIDATE, {"config": config, "connector": "b"}, format="json")
    assert f"can't sign in with {MASK}" in answer.json()["detail"]


def test_values_are_hidden_while_nobody_tells_which_are_secret(
    as_operator: APIClient, engine: FakeEngine, java: FakeEngine
) -> None:
    java.add("b", {**SINK, "batch.size": "5"})
    java.respond, java.answer = None, (500, {"message": "no such plugin"})
    config = as_operator.get(f"{CONNECTORS}/b/config?cluster=legacy").json()["config"]
    assert (config["batch.size"], config["connection.phrase"]) == (MASK, MASK)
    assert (config["topics"], config["errors.deadletterqueue.topic.name"]) == ("orders", "orders.dlq")


def test_a_cluster_that_answers_no_question_about_a_class_is_not_asked_about_the_next(
    as_operator: APIClient, engine: FakeEngine, java: FakeEngine
) -> None:
    for number in range(3):
        java.add(f"b{number}", {**SINK, CLASS: f"com.example.Sink{number}"})
    java.respond = lambda _: b"no JSON"
    rows = as_operator.get(CONNECTORS).json()["results"]
    assert [row["config"]["connection.phrase"] for row in rows] == [MASK] * 3
    assert java.calls == [("PUT", "/connector-plugins/com.example.Sink0/config/validate")]
    as_operator.get(CONNECTORS)
    assert len(java.calls) == 1


@pytest.mark.parametrize("body", [{"configs": 5}, {}, 5])
def test_an_answer_without_definitions_hides_values(
    as_operator: APIClient, engine: FakeEngine, java: FakeEngine, body: Any
) -> None:
    java.add("b", SINK)
    java.respond = lambda _: body
    [row] = as_operator.get(CONNECTORS).json()["results"]
    assert row["config"]["connection.phrase"] == MASK
    assert as_operator.post(VALIDATE, {"config": {}}, format="json").json()["options"] == []


def test_a_message_of_a_java_worker_shows_no_stored_secret(
    as_operator: APIClient, engine: FakeEngine, java: FakeEngine
) -> None:
    java.add("b", SINK)
    opened = as_operator.get(f"{CONNECTORS}/b/config?cluster=legacy").json()["config"]
    message = (
        "Connector configuration is invalid and contains the following 2 error(s):\n"
        "Invalid value x for configuration tasks.max: Not a number of type INT\n"
        "Invalid value hush hush for configuration connection.phrase: too short\n"
    )
    java.respond, java.answer = None, (400, {"error_code": 400, "message": message})
    body = {"config": {**opened, "tasks.max": "x"}, "opened": opened, "reason": "r"}
    answer = as_operator.put(f"{CONNECTORS}/b/config?cluster=legacy", body, format="json")
    assert answer.json()["errors"] == [
        {"parameter": "tasks.max", "message": "Invalid value x for configuration tasks.max: Not a number of type INT"},
        {
            "parameter": "connection.phrase",
            "message": f"Invalid value {MASK} for configuration connection.phrase: too short",
        },
    ]
    assert "hush" not in str(AuditEntry.objects.get().detail)


def test_classes_and_options_are_those_of_the_chosen_cluster(
    as_operator: APIClient, engine: FakeEngine, java: FakeEngine
) -> None:
    java.plugins = [{"class": "com.example.JdbcSink", "type": "sink", "version": "1"}]
    listed = as_operator.get("/api/v1/connector-plugins?cluster=legacy").json()["results"]
    assert listed == [{"class": "com.example.JdbcSink", "type": "sink"}]
    url = "/api/v1/connector-plugins/com.example.JdbcSink/validate?cluster=legacy"
    options = as_operator.post(url, {"config": {}}, format="json").json()["options"]
    assert [one["type"] for one in options] == ["password", "password", "list"]
    java.answer, java.respond = (201, {"name": "n", "config": SINK}), None
    made = as_operator.post(f"{CONNECTORS}?cluster=legacy", {"name": "n", "config": SINK, "reason": "r"}, format="json")
    assert (made.status_code, made.json()["cluster"], engine.calls) == (201, "legacy", [])


def test_each_cluster_gets_its_own_credentials(
    as_viewer: APIClient, engine: FakeEngine, java: FakeEngine, settings: Settings, tmp_path: Any
) -> None:
    (tmp_path / "password").write_text("sesame\n")
    settings.ENGINE_TOKEN = "of-the-engine"
    settings.CONNECT_CLUSTERS = {
        "legacy": {"url": java.url, "user": "me", "password_file": str(tmp_path / "password")},
    }
    as_viewer.get(CONNECTORS)
    assert set(engine.given) == {"Bearer of-the-engine"}
    assert set(java.given) == {"Basic bWU6c2VzYW1l"}
    java.redirect = engine.url
    [_, legacy] = as_viewer.get(CONNECTORS).json()["clusters"]
    assert legacy["trouble"].startswith("The Connect cluster legacy redirects to")
    assert "which is not in CONNECT_CLUSTERS.legacy.urls" in legacy["trouble"]
    assert set(engine.given) == {"Bearer of-the-engine"}


def test_another_worker_answers_for_one_that_refuses_connections(java: FakeEngine, settings: Settings) -> None:
    settings.CONNECT_CLUSTERS = {"legacy": {"url": "http://127.0.0.1:1", "urls": [java.url]}}
    java.add("b", SINK)
    [cluster] = [one for one in connect_clusters.configured() if one.name == "legacy"]
    assert set(client.get(cluster, client.CONNECTORS)) == {"b"}


def test_connectors_of_other_clusters_are_foreign_readers_and_not_rehearsed(
    db: None, engine: FakeEngine, java: FakeEngine
) -> None:
    engine.add("a", {"topics": "t"})
    java.add("b", SINK)
    assert list(target_readers.look().by_name) == ["a"]
    assert properties("a")["topics"] == "t"
    with pytest.raises(CannotRehearse, match="b runs on the Connect cluster legacy, which can't rehearse records"):
        properties("b")


def test_a_java_worker_at_the_engines_address_is_found_out(db: None, engine: FakeEngine) -> None:
    engine.root, engine.respond = JAVA_ROOT, definitions
    engine.add("b", SINK)
    [response] = cluster_responses.fetch_connectors()
    assert (response.software, response.has_figures) == ("kafka_connect", False)
    assert response.body["b"]["info"]["config"]["connection.phrase"] == MASK


@pytest.mark.parametrize(
    ("clusters", "problem"),
    [
        ({"a b": {"url": "http://h"}}, "'a b' is not a name"),
        ({ENGINE: {"url": "http://h"}}, "is the cluster of ENGINE_URL"),
        ({"a": "http://h"}, "must be an object"),
        ({"a": {}}, "needs 'url'"),
        ({"a": {"url": "h:8083"}}, "needs 'url'"),
        ({"a": {"url": "http://me:hush@h"}}, "needs 'url'"),
        ({"a": {"url": "http://h", "urls": "http://i"}}, "must be a list"),
        ({"a": {"url": "http://h", "pasword": "hush"}}, "unknown option 'pasword'"),
        ({"a": {"url": "http://h", "user": 3}}, "must be text"),
        ({"a": {"url": "http://h", "password_file": "/f"}}, "needs a.user"),
    ],
)
def test_a_fault_in_the_settings_is_one_sentence(settings: Settings, clusters: Any, problem: str) -> None:
    settings.CONNECT_CLUSTERS = clusters
    [found] = connect_clusters.problems()
    assert problem in found
    assert "hush" not in found


def test_without_an_engine_the_other_clusters_are_enough(settings: Settings) -> None:
    settings.ENGINE_URL, settings.CONNECT_CLUSTERS = "", {"a": {"url": "http://h/", "urls": ["http://i"]}}
    assert [(one.name, one.urls) for one in connect_clusters.configured()] == [("a", ("http://h", "http://i"))]
    assert list(connect_clusters.problems()) == []


@pytest.mark.django_db
def test_the_dashboard_works_without_any_connect_cluster(settings: Settings, as_viewer: APIClient) -> None:
    settings.ENGINE_URL, settings.CONNECT_CLUSTERS = "", {}
    assert list(connect_clusters.problems()) == []
    assert as_viewer.get(CONNECTORS).json()["clusters"] == []
    answer = as_viewer.get(f"{CONNECTORS}/any/config")
    assert answer.status_code == 404
    assert "No Connect cluster is configured" in answer.json()["detail"]


def test_only_connectors_of_other_clusters_are_named_with_their_cluster() -> None:
    assert [str(ConnectorKey(cluster, "c")) for cluster in (ENGINE, "legacy")] == ["c", "legacy/c"]
