"""Mappings for people of a team: those that cover their topics, without the topics of others."""

from __future__ import annotations

from typing import Any

import pytest
from rest_framework.test import APIClient

from dlqadmin.teams.models import Team
from tests.dlqadmin.conftest import member, signed_in, team
from tests.dlqadmin.deadletters.letters import index, letter
from tests.dlqadmin.dialects.test_mappings import body

pytestmark = pytest.mark.django_db
API = "/api/v1/dialects"
TOPICS = {
    "payments": ["payments.dlq", "payments-*"],
    "stations": ["stations.retry", "*.dlq"],
    "shared": ["payments.old", "stations.*"],
}


@pytest.fixture(autouse=True)
def mappings(as_admin: APIClient) -> None:
    index([letter(0, topic="stations.dlq", connector="stations-to-sql")])
    index([letter(0, topic="payments.dlq", connector="payments-to-sql")])
    for name, topics in TOPICS.items():
        saved = as_admin.put(f"{API}/mappings/{name}", body(name=name, topics=topics), format="json")
        assert saved.status_code == 200, saved.content


@pytest.fixture
def stations() -> Team:
    return team("stations", ["stations.*"])


@pytest.fixture
def client(stations: Team) -> APIClient:
    return signed_in(member("sam", {stations: ("viewer",)}))


def listed(client: APIClient) -> dict[str, list[str]]:
    return {row["name"]: row["topics"] for row in client.get(API).json()["mappings"]}


def test_mappings_are_listed_with_the_topics_of_the_team(client: APIClient, as_viewer: APIClient) -> None:
    assert listed(client) == {"stations": ["stations.retry", "*.dlq"], "shared": ["stations.*"]}
    assert listed(as_viewer) == TOPICS


def test_versions_and_yaml_name_no_topic_of_others(client: APIClient, as_viewer: APIClient) -> None:
    [version] = client.get(f"{API}/mappings/shared").json()["versions"]
    assert version["mapping"]["topics"] == ["stations.*"]
    assert "payments" not in client.get(f"{API}/mappings/shared/yaml").content.decode()
    assert "payments.old" in as_viewer.get(f"{API}/mappings/shared/yaml").content.decode()


@pytest.mark.parametrize("path", ["", "/yaml"])
def test_a_mapping_of_others_is_not_found(client: APIClient, as_viewer: APIClient, path: str) -> None:
    assert client.get(f"{API}/mappings/payments{path}").status_code == 404
    assert as_viewer.get(f"{API}/mappings/payments{path}").status_code == 200


@pytest.mark.parametrize(("topic", "status"), [("stations.dlq", 503), ("payments.dlq", 404)])  # no Kafka here
def test_a_mapping_is_tried_on_topics_whose_payloads_the_team_reads(stations: Team, topic: str, status: int) -> None:
    payments = team("payments", ["payments.*"])
    client: Any = signed_in(member("kim", {stations: ("viewer", "payload reader"), payments: ("viewer",)}))
    tried = client.post(f"{API}/try", {"topic": topic, "mapping": body()["mapping"], "letter": 0}, format="json")
    assert tried.status_code == status, tried.content
