from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import connection
from django.test.utils import CaptureQueriesContext
from msgspec.structs import replace
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.audit.models import AuditEntry
from dlqadmin.broker import cluster_settings
from dlqadmin.clusters import topic_dialects
from dlqadmin.clusters.documents import TopicReading
from dlqadmin.deadletters.models import TopicRule
from tests.dlqadmin.conftest import person, signed_in, token_of
from tests.dlqadmin.deadletters.letters import NOW_MS, index, letter, plain

SECRET = "hunter2-is-no-password"
OWN = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.username": "dash", "sasl.password": SECRET}


@pytest.fixture
def secured(settings: Settings) -> None:
    settings.KAFKA_SECURITY = OWN
    settings.OTHER_CLUSTERS = {"dr": {"bootstrap.servers": "127.0.0.1:1,127.0.0.1:2"}}


@pytest.mark.usefixtures("secured")
def test_clusters_are_listed_without_their_secrets(as_viewer: APIClient) -> None:
    answer = as_viewer.get("/api/v1/clusters")
    own, other = answer.json()["results"]
    assert (own["name"], own["own"], own["environment"], own["is_read_only"]) == ("local", True, "LOCAL", False)
    assert own["sasl"] == {"mechanism": "PLAIN", "username": "dash"}
    assert own["tls"] == {"ca": None, "checks_host_name": True, "certificate": None}
    assert own["principal"] == "User:dash"
    assert (other["name"], other["bootstrap_servers"]) == ("dr", ["127.0.0.1:1", "127.0.0.1:2"])
    assert (other["security_protocol"], other["sasl"], other["tls"]) == ("PLAINTEXT", None, None)
    assert SECRET not in answer.text


def test_the_index_is_shown_topic_by_topic(as_viewer: APIClient) -> None:
    index([letter(1), letter(2)])
    found = as_viewer.get("/api/v1/clusters").json()["index"]
    (row,) = found["topics"]
    assert (row["topic"], row["records_behind"], row["eta_s"]) == ("usgs.earthquakes.dlq", 0, 0)
    assert (found["patterns"], found["start"], found["reachable"]) == ([r".*[.-]dlq$"], "earliest", False)


@pytest.mark.slow
@pytest.mark.usefixtures("secured")
def test_a_connection_that_fails_says_why_and_what_is_needed(as_operator: APIClient, settings: Settings) -> None:
    answer = as_operator.post("/api/v1/clusters/dr/test")
    found = answer.json()
    assert (found["reached"], found["kind"], found["verdict"]) == (
        False,
        "refused",
        "No process listens at this address and port.",
    )
    assert {row["verdict"] for row in found["permissions"]} == {"not_checked"}
    own = as_operator.post("/api/v1/clusters/local/test")
    assert own.json()["principal"] == "User:dash"
    assert SECRET not in answer.text + own.text


def test_an_unknown_cluster_is_not_found(as_operator: APIClient) -> None:
    answer = as_operator.post("/api/v1/clusters/nowhere/test")
    assert (answer.status_code, answer.json()["detail"]) == (404, "There is no cluster nowhere.")


def test_a_viewer_may_not_test(as_viewer: APIClient) -> None:
    answer = as_viewer.post("/api/v1/clusters/local/test")
    assert (answer.status_code, answer.json()["detail"]) == (403, "This needs the role operator.")


@pytest.mark.slow
def test_a_read_only_cluster_can_be_tested(as_operator: APIClient, settings: Settings) -> None:
    settings.READ_ONLY = True
    assert as_operator.post("/api/v1/clusters/local/test").status_code == 200


def test_tests_are_limited_in_rate(as_operator: APIClient) -> None:
    cache.clear()
    answers = [as_operator.post("/api/v1/clusters/nowhere/test").status_code for _ in range(21)]
    assert (answers[0], answers[-1]) == (404, 429)


def rule(client: APIClient, topic: str, rule: str, reason: str = "INC-3") -> Any:
    return client.put(f"/api/v1/index/topics/{topic}", {"rule": rule, "reason": reason}, format="json")


@pytest.fixture
def administrator(db: None) -> APIClient:
    user = person("admin-1", None)
    User.objects.filter(pk=user.pk).update(is_superuser=True)
    return signed_in(User.objects.get(pk=user.pk))


def test_each_topic_tells_the_dialect_that_won_and_how_many_are_unreadable(as_operator: APIClient) -> None:
    index([letter(1), letter(2), plain(3, b"?")])
    index([replace(plain(4, b"?"), topic="usgs.earthquakes.dlq")])
    rows = as_operator.get("/api/v1/clusters").json()["index"]["topics"]
    assert {row["topic"]: row["reading"] for row in rows} == {
        "foreign.dlq": {"dialect": "Unreadable", "of": 1, "unreadable": 1},
        "usgs.earthquakes.dlq": {"dialect": "Kafka Connect", "of": 3, "unreadable": 1},
    }


@pytest.mark.sql
def test_many_topics_need_no_more_queries_than_one(as_operator: APIClient) -> None:
    counts = []
    for first, topics in ((0, 1), (1, 120)):
        index([letter(n, topic=f"{topic}.dlq") for topic in range(first, topics) for n in range(2)])
        cache.clear()
        cluster_settings.forget()
        with CaptureQueriesContext(connection) as seen:
            rows = as_operator.get("/api/v1/clusters").json()["index"]["topics"]
        counts.append(len(seen))
        assert [row["reading"]["of"] for row in rows] == [2] * topics
    assert counts[1] - counts[0] == 1  # two batches of topics
    with CaptureQueriesContext(connection) as seen:
        as_operator.get("/api/v1/clusters")
    assert not [row["sql"] for row in seen if '"dialect"' in row["sql"]]


@pytest.mark.sql
@pytest.mark.django_db
def test_only_the_newest_letters_of_each_topic_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topic_dialects, "NEWEST", 2)
    index([letter(n, at_ms=NOW_MS + n) for n in range(3)])
    index([replace(letter(3, at_ms=NOW_MS + 3), headers=())])
    index([letter(n, topic="b.dlq") for n in range(3)])
    assert topic_dialects.readings(["usgs.earthquakes.dlq", "b.dlq", "none.dlq"]) == {
        "usgs.earthquakes.dlq": TopicReading(dialect="Kafka Connect", of=2, unreadable=1),
        "b.dlq": TopicReading(dialect="Kafka Connect", of=2, unreadable=0),
    }


def test_an_administrator_excludes_a_topic_and_lets_the_setting_decide_again(administrator: APIClient) -> None:
    index([letter(1)])
    found = rule(administrator, "usgs.earthquakes.dlq", "excluded").json()
    assert found["topics"] == []
    (row,) = found["rules"]
    assert (row["topic"], row["rule"], row["by"], row["reason"]) == (
        "usgs.earthquakes.dlq",
        "excluded",
        "admin-1",
        "INC-3",
    )
    again = rule(administrator, "usgs.earthquakes.dlq", "default").json()
    assert (again["rules"], again["topics"][0]["pattern"]) == ([], r".*[.-]dlq$")
    entries = AuditEntry.objects.order_by("pk")
    assert [(one.action, one.object_id, one.detail["reason"]) for one in entries] == [
        ("exclude topic", "usgs.earthquakes.dlq", "INC-3"),
        ("reset topic", "usgs.earthquakes.dlq", "INC-3"),
    ]


def test_an_added_topic_is_shown_with_no_pattern(administrator: APIClient, db: None) -> None:
    index([letter(1, topic="parked.orders")])
    assert administrator.get("/api/v1/clusters").json()["index"]["topics"] == []
    TopicRule.objects.create(cluster="local", topic="parked.orders", is_excluded=False, actor="a", reason="r")
    (row,) = administrator.get("/api/v1/clusters").json()["index"]["topics"]
    assert (row["topic"], row["pattern"]) == ("parked.orders", None)


@pytest.mark.parametrize("topic", ["a b", "a" * 250, ".*dlq"])
def test_only_names_of_topics_are_rules(administrator: APIClient, topic: str) -> None:
    answer = rule(administrator, topic, "excluded")
    assert (answer.status_code, answer.json()["errors"][0]["parameter"]) == (400, "topic")


def test_a_topic_of_the_engine_is_not_added(administrator: APIClient, settings: Settings) -> None:
    answer = rule(administrator, settings.CONFIG_TOPIC, "added")
    assert answer.status_code in (400, 503)
    assert not TopicRule.objects.exists()


def test_only_administrators_change_the_topics(as_operator: APIClient, administrator: APIClient) -> None:
    user = User.objects.get(username="admin-1")
    with_token = APIClient(headers={"Authorization": f"Bearer {token_of(user)}"})
    for client in (as_operator, with_token):
        answer = rule(client, "a.dlq", "excluded")
        assert (answer.status_code, "administrator" in answer.json()["detail"]) == (403, True)
    assert rule(administrator, "a.dlq", "excluded", reason="").status_code == 400
    assert not TopicRule.objects.exists()
    assert administrator.get("/api/v1/session").json()["administrator"] is True
    assert as_operator.get("/api/v1/session").json()["administrator"] is False
