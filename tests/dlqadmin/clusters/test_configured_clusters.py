"""Clusters that administrators add, change and remove."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.audit.models import AuditEntry
from dlqadmin.broker import cluster_settings, clusters
from dlqadmin.broker.models import ConfiguredCluster
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.models import Replay, ReplayStatus
from tests.dlqadmin.conftest import member, person, signed_in, team
from tests.dlqadmin.deadletters.letters import index, letter
from tests.dlqadmin.replays.plans.making import plan

pytestmark = pytest.mark.django_db
PASSWORD = "hunter2-is-no-password"
BODY: dict[str, Any] = {"bootstrap_servers": "127.0.0.1:1"}
FULL = {
    **BODY,
    "dead_letter_topics": ["orders.dlq", ".*-dlt"],
    "is_read_only": True,
    "environment": "prod",
    "colour": "red",
}


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    cluster_settings.forget()
    yield
    cluster_settings.forget()


@pytest.fixture
def as_admin(db: None) -> APIClient:
    admin = person("root", None)
    User.objects.filter(pk=admin.pk).update(is_superuser=True)
    return signed_in(User.objects.get(pk=admin.pk))


def put(client: APIClient, name: str = "eu", /, **more: object) -> Any:
    return client.put(f"/api/v1/clusters/{name}", {**BODY, **more}, format="json")


def listed(client: APIClient) -> dict[str, Any]:
    return {row["name"]: row for row in client.get("/api/v1/clusters").json()["results"]}


def test_an_administrator_adds_changes_and_removes_a_cluster(as_admin: APIClient) -> None:
    answer = put(as_admin, **FULL)
    assert answer.status_code == 200
    own, eu = answer.json()["results"]
    assert (own["own"], own["is_fixed"], own["by"]) == (True, True, None)
    assert (eu["dead_letter_topics"], eu["is_indexed"]) == (["orders.dlq", ".*-dlt"], True)
    assert (eu["is_enabled"], eu["is_read_only"], eu["environment"], eu["colour"]) == (True, True, "PROD", "red")
    assert (eu["is_fixed"], eu["secret"], eu["by"]) == (False, "", "root")
    assert clusters.indexed() == ("local", "eu")

    assert put(as_admin, is_enabled=False).status_code == 200
    assert (listed(as_admin)["eu"]["is_enabled"], clusters.names()) == (False, ())

    assert as_admin.delete("/api/v1/clusters/eu").status_code == 204
    assert [*listed(as_admin)] == ["local"]
    assert as_admin.delete("/api/v1/clusters/eu").status_code == 404
    entries = AuditEntry.objects.order_by("pk")
    assert [(one.action, one.object_id) for one in entries] == [
        ("add cluster", "eu"),
        ("change cluster", "eu"),
        ("remove cluster", "eu"),
    ]
    assert entries[1].detail["before"]["colour"] == entries[0].detail["after"]["colour"] == "red"
    assert (entries[1].detail["after"]["is_enabled"], entries[2].detail["before"]["is_enabled"]) == (False, False)


def test_indexed_dead_letters_outlive_their_cluster(as_admin: APIClient) -> None:
    index([letter(1)])
    DeadLetter.objects.update(cluster="eu")
    put(as_admin, **FULL)
    assert as_admin.delete("/api/v1/clusters/eu").status_code == 204
    assert DeadLetter.objects.filter(cluster="eu").count() == 1


@pytest.mark.parametrize(
    ("name", "more", "field", "reason"),
    [
        ("e u", {}, "name", "must have letters"),
        ("eu", {"bootstrap_servers": ""}, "bootstrap_servers", "blank"),
        ("eu", {"secret": "nothing"}, "secret", "is not an entry of KAFKA_CLUSTER_SECRETS"),
        ("eu", {"secret": "shop"}, "secret", "may not be sent to 127.0.0.1:1"),
        ("eu", {"dead_letter_topics": ["("]}, "dead_letter_topics", "is not a regular expression"),
        ("eu", {"colour": "pink"}, "colour", "not a valid choice"),
        ("eu", {"security_protocol": "SSL", "ca_file": "/nowhere.pem"}, "ca_file", "does not exist"),
    ],
)
def test_settings_that_cannot_work_are_refused(
    as_admin: APIClient, settings: Settings, name: str, more: dict[str, object], field: str, reason: str
) -> None:
    settings.KAFKA_CLUSTER_SECRETS = {"shop": {"addresses": ["shop:9092"], "value": PASSWORD}}
    for answer in (put(as_admin, name, **more), tried(as_admin, name, **more)):
        (error,) = answer.json()["errors"]
        assert (answer.status_code, error["parameter"].split(".")[0]) == (400, field)
        assert reason in error["message"]
        assert PASSWORD not in answer.text
    assert not ConfiguredCluster.objects.exists()


def test_clusters_of_the_environment_cannot_be_changed(as_admin: APIClient, settings: Settings) -> None:
    settings.OTHER_CLUSTERS = {"dr": {"bootstrap.servers": "127.0.0.1:1"}}
    assert listed(as_admin)["dr"]["is_fixed"] is True
    for name, setting in (("dr", "OTHER_CLUSTERS"), ("local", "KAFKA_BOOTSTRAP_SERVERS")):
        for answer in (put(as_admin, name), as_admin.delete(f"/api/v1/clusters/{name}"), tried(as_admin, name)):
            found = (answer.status_code, answer.json()["detail"])
            assert found == (409, f"{setting} sets the cluster {name}. Change it there.")


def test_secrets_go_by_name(as_admin: APIClient, settings: Settings) -> None:
    settings.KAFKA_CLUSTER_SECRETS = {"eu": {"addresses": ["127.0.0.1:1"], "value": PASSWORD}}
    sasl = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanism": "PLAIN", "user": "dash", "secret": "eu"}
    answer = put(as_admin, **sasl)
    eu = answer.json()["results"][1]
    assert (answer.json()["secrets"], eu["secret"], eu["sasl"]["username"]) == (["eu"], "eu", "dash")
    assert clusters.client_options("eu")["sasl.password"] == PASSWORD
    trail = str(list(AuditEntry.objects.values_list("detail", flat=True)))
    assert PASSWORD not in answer.text + trail


@pytest.mark.parametrize("end", ["source_cluster", "target_cluster"])
def test_a_cluster_that_replays_use_stays(as_admin: APIClient, end: str) -> None:
    put(as_admin, **FULL)
    index([letter(1)])
    replay = plan(User.objects.get(username="root"))
    Replay.objects.update(status=ReplayStatus.PAUSED, **{end: "eu"})
    told = f"while replays use it: end or cancel R-{replay.pk} first."
    removal, change = as_admin.delete("/api/v1/clusters/eu"), put(as_admin, is_enabled=False)
    assert (removal.status_code, removal.json()["detail"]) == (409, f"eu can't be removed {told}")
    assert (change.status_code, change.json()["detail"]) == (409, f"eu can't be disabled {told}")
    assert put(as_admin, colour="blue").status_code == 200
    Replay.objects.update(status=ReplayStatus.DONE)
    assert as_admin.delete("/api/v1/clusters/eu").status_code == 204


def test_only_administrators_change_clusters(as_operator: APIClient, as_admin: APIClient) -> None:
    for answer in (put(as_operator), as_operator.delete("/api/v1/clusters/eu"), tried(as_operator)):
        assert (answer.status_code, "administrator" in answer.json()["detail"]) == (403, True)
    assert not ConfiguredCluster.objects.exists()


def test_people_of_a_team_see_no_patterns(as_admin: APIClient) -> None:
    put(as_admin, dead_letter_topics=["orders.dlq", "pay.dlq", "secret-.*"])
    sam = signed_in(member("sam", {team("orders", ["orders*"], []): ("viewer",)}))
    eu = listed(sam)["eu"]
    assert (eu["dead_letter_topics"], eu["is_indexed"]) == (["orders.dlq"], True)


def tried(client: APIClient, name: str = "eu", /, **more: object) -> Any:
    return client.post(f"/api/v1/clusters/{name}/test", {**BODY, **more}, format="json")


@pytest.mark.slow
def test_settings_are_tested_before_they_are_saved(as_admin: APIClient, as_operator: APIClient) -> None:
    answer = tried(as_admin, dead_letter_topics=["orders.dlq"])
    assert (answer.status_code, answer.json()["kind"]) == (200, "refused")
    assert {row["verdict"] for row in answer.json()["permissions"]} == {"not_checked"}
    assert not ConfiguredCluster.objects.exists()
    put(as_admin, is_enabled=False)
    saved = as_operator.post("/api/v1/clusters/eu/test")  # a disabled cluster, too
    assert (saved.status_code, saved.json()["kind"]) == (200, "refused")


def test_the_session_names_the_clusters_in_use(as_admin: APIClient, as_viewer: APIClient) -> None:
    put(as_admin, **FULL)
    put(as_admin, "us", is_enabled=False)
    own, eu = as_viewer.get("/api/v1/session").json()["clusters"]
    assert (own["name"], own["environment"], own["is_indexed"]) == ("local", "LOCAL", True)
    assert eu == {"name": "eu", "environment": "PROD", "colour": "red", "is_read_only": True, "is_indexed": True}
    assert APIClient().get("/api/v1/session").json()["clusters"] == []
