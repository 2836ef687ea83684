"""Connectors of people of a team: they see and configure only their own, with topics of their own."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone
from rest_framework.test import APIClient

from dlqadmin.connectors.models import EngineAnswer
from dlqadmin.connectors.queries import dead_letter_topics
from dlqadmin.metrics.models import TaskSnapshot
from dlqadmin.teams.models import Team
from dlqadmin.teams.reach import of_teams, reaching
from tests.dlqadmin.conftest import member, signed_in, team
from tests.dlqadmin.fakes import FakeEngine

pytestmark = pytest.mark.django_db
API = "/api/v1/connectors"
OWN, OTHER = "stations-to-sql", "quakes-to-sql"
SINK = {"connector.class": "SqlSink", "topics": "stations.in"}
DLQ = "errors.deadletterqueue.topic.name"
MIRROR = "org.apache.kafka.connect.mirror"
REASON = {"reason": "for the test"}


@pytest.fixture
def stations() -> Team:
    return team("stations", ["stations.*"], ["stations-*"])


@pytest.fixture
def client(stations: Team) -> APIClient:
    """An operator of the stations who may read payloads."""
    return signed_in(member("sam", {stations: ("operator", "payload reader")}))


@pytest.fixture(autouse=True)
def connectors(engine: FakeEngine) -> None:
    engine.add(OWN, {**SINK, DLQ: "stations.dlq"}, tasks=2)
    engine.add(OTHER, {"topics": "quakes.in", DLQ: "quakes.errors"}, tasks=3)


def create(client: APIClient, name: str = "stations-new", **config: str) -> Any:
    return client.post(API, {"name": name, "config": {"connector.class": "SqlSink", **config}, **REASON}, "json")


def options(refused: Any) -> list[str]:
    return [row["parameter"] for row in refused.json()["errors"]]


def test_a_list_has_the_connectors_of_the_team(client: APIClient) -> None:
    assert [row["name"] for row in client.get(API).json()["results"]] == [OWN]
    health = client.get("/api/v1/health").json()
    assert (health["connectors"]["total"], health["tasks"]["total"]) == (1, 2)


def test_a_global_viewer_still_sees_all(as_viewer: APIClient) -> None:
    assert [row["name"] for row in as_viewer.get(API).json()["results"]] == [OTHER, OWN]


@pytest.mark.parametrize("path", ["", "/config"])
def test_a_connector_of_others_is_not_found(client: APIClient, path: str) -> None:
    assert client.get(f"{API}/{OWN}{path}").status_code == 200
    assert client.get(f"{API}/{OTHER}{path}").status_code == 404
    assert client.get(f"{API}/{OTHER}{path}?cluster=engine").status_code == 404


@pytest.mark.parametrize("path", ["pause", "resume", "stop", "restart", "tasks/0/restart", "delete"])
def test_a_connector_of_others_is_not_controlled(client: APIClient, engine: FakeEngine, path: str) -> None:
    assert client.post(f"{API}/{OTHER}/{path}", REASON, "json").status_code == 404
    assert engine.calls == []
    assert client.post(f"{API}/{OWN}/{path}", REASON, "json").status_code == 202


def test_who_only_views_a_team_does_not_control_its_connector(stations: Team, engine: FakeEngine) -> None:
    quakes = team("quakes", ["quakes.*"], ["quakes-*"])
    client = signed_in(member("kim", {stations: ("viewer",), quakes: ("operator",)}))
    assert len(client.get(API).json()["results"]) == 2
    assert client.post(f"{API}/{OWN}/pause", {}, "json").status_code == 404
    assert client.post(f"{API}/{OTHER}/pause", {}, "json").status_code == 202


def test_the_stored_answer_keeps_the_connectors_of_all_teams(client: APIClient, stations: Team) -> None:
    client.get(API)
    assert set(EngineAnswer.objects.get().body) == {OWN, OTHER}
    with reaching(of_teams(frozenset({stations.pk}))):
        assert dead_letter_topics() == {"stations.dlq", "quakes.errors"}


def test_a_pattern_of_a_cluster_means_the_kafka_cluster(engine: FakeEngine) -> None:
    here, elsewhere = team("here", [], ["local/stations-*"]), team("elsewhere", [], ["engine/*"])
    assert [r["name"] for r in signed_in(member("h", {here: ("viewer",)})).get(API).json()["results"]] == [OWN]
    assert signed_in(member("e", {elsewhere: ("viewer",)})).get(API).json()["results"] == []


def test_a_new_connector_has_a_name_of_the_team(client: APIClient, engine: FakeEngine) -> None:
    refused = create(client, "quakes-new", topics="stations.in")
    assert (refused.status_code, engine.calls) == (403, [])
    assert "owns the name quakes-new" in refused.json()["detail"]


@pytest.mark.parametrize(
    "config",
    [
        {"topics": "stations.in,stations.more"},
        {"topics.regex": r"stations\..*"},
        {"topics.regex": r"^stations[.]in$"},
        {"topics": "stations.in", DLQ: "stations.dlq", "topics.dir": "lake"},
        {"topics": "stations.in", "connector.class": "KafkaSink", "topic": "stations.copy"},
        {"topic.prefix": "stations.", "topic.creation.default.partitions": "3", "topic.creation.enable": "true"},
    ],
)
def test_a_connector_with_topics_of_the_team_is_created(
    client: APIClient, engine: FakeEngine, config: dict[str, str]
) -> None:
    engine.answer = (201, {"name": "stations-new", "config": {}})
    assert create(client, **config).status_code == 201


@pytest.mark.parametrize(
    ("config", "option"),
    [
        ({"topics": "stations.in,quakes.in"}, "topics"),
        ({"topics": "stations.*"}, "topics"),  # the class may read it as an expression
        ({"topics": "${file:/etc/topics:all}"}, "topics"),
        ({"topics.regex": ".*"}, "topics.regex"),
        ({"topics.regex": r"stations.*"}, "topics.regex"),  # the team owns only `stations.` and more
        ({"topics.regex": r"stations\.in|quakes\.in"}, "topics.regex"),
        ({"topics": "stations.in", DLQ: "quakes.in"}, DLQ),
        ({"topics": "stations.in", "errors.dlq.topic.name": "quakes.in"}, "errors.dlq.topic.name"),
        ({"topics": "stations.in", "sinks": "s", "sinks.s.topic": "quakes.in"}, "sinks.s.topic"),
        ({"topic.prefix": "stations"}, "topic.prefix"),
        ({"kafkaTopic": "quakes.in"}, "kafkaTopic"),
        ({"topic": "stations.in", "transforms": "r", "transforms.r.type": "a.b.RegexRouter"}, "transforms.r.type"),
        ({"file": "/data"}, "topics"),
        ({"topics": "stations.in", "connector.class": f"{MIRROR}.MirrorSourceConnector"}, "connector.class"),
        ({"topics": "stations.in", "connector.class": "MirrorSinkConnector"}, "connector.class"),
        ({"topics": "stations.in", "connector.class": "mirror"}, "connector.class"),
        ({"topics": "stations.in", "connector.class": "KafkaSink"}, "topic"),
        ({"topics": "stations.in", "connector.class": "KafkaSink", "topic": "quakes.in"}, "topic"),
    ],
)  # fmt: skip
def test_a_connector_with_topics_of_others_is_refused(
    client: APIClient, engine: FakeEngine, config: dict[str, str], option: str
) -> None:
    refused = create(client, **config)
    assert (refused.status_code, options(refused)) == (400, [option])
    assert engine.calls == []


def test_a_change_does_not_add_a_topic_of_others(client: APIClient, engine: FakeEngine) -> None:
    opened = client.get(f"{API}/{OWN}/config").json()["config"]
    body = {"config": {**opened, "topics": "stations.in,quakes.in"}, "opened": opened, **REASON}
    refused = client.put(f"{API}/{OWN}/config", body, "json")
    assert (refused.status_code, options(refused), engine.calls) == (400, ["topics"], [])


def test_a_global_operator_uses_any_topic(as_operator: APIClient, engine: FakeEngine) -> None:
    engine.answer = (201, {"name": "any", "config": {}})
    assert create(as_operator, "any", **{"topics.regex": ".*"}).status_code == 201


def test_values_behind_masks_of_others_are_not_used(client: APIClient) -> None:
    body = {"config": {"topics": "quakes.in"}, "connector": OTHER}
    assert client.post("/api/v1/connector-plugins/SqlSink/validate", body, "json").status_code == 404


def test_figures_of_others_are_left_out(client: APIClient) -> None:
    for name in (OWN, OTHER):
        TaskSnapshot.objects.create(connector=name, task=0, state="RUNNING", reported_at=timezone.now())
    balance = client.get("/api/v1/metrics/balance").json()
    assert [row["name"] for row in balance["connectors"]] == [OWN]
