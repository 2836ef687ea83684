import pytest
from django.core.cache import cache
from pytest_django import Settings
from rest_framework.test import APIClient

from tests.dlqadmin.deadletters.letters import index, letter

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
    assert (own["name"], own["own"], own["environment"], own["read_only"]) == ("local", True, "LOCAL", False)
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
