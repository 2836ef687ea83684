"""The open dead letters of teams, and topics without a team."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from rest_framework.test import APIClient

from dlqadmin.deadletters.models import IndexPosition
from tests.dlqadmin.conftest import member, signed_in, team
from tests.dlqadmin.deadletters.letters import index, letter

pytestmark = pytest.mark.django_db
FACTS = "/api/v1/teams/facts"


@pytest.fixture(autouse=True)
def letters() -> None:
    index([letter(n) for n in range(4)])
    index([letter(n, topic="stations.dlq", connector="stations-to-sql") for n in range(2)])


def test_each_team_has_the_open_dead_letters_of_its_topics_and_connectors(as_viewer: APIClient) -> None:
    teams = [team("earth", ["usgs.*"]), team("stations", [], ["stations-*"]), team("nobody")]
    facts = as_viewer.get(FACTS).json()
    assert {row["team"]: row["open"] for row in facts["open"]} == {
        teams[0].pk: 4,
        teams[1].pk: 2,
        teams[2].pk: 0,
    }


def test_indexed_topics_without_a_team_are_named_to_those_who_see_everything(as_viewer: APIClient) -> None:
    IndexPosition.objects.all().delete()
    for topic in ("stations.dlq", "connect-test"):
        IndexPosition.objects.create(cluster="local", topic=topic, partition=0, updated_at=timezone.now())
    stations = team("stations", ["stations.*"])
    assert as_viewer.get(FACTS).json()["unowned"] == [{"cluster": "local", "topic": "connect-test"}]
    sam: User = member("sam", {stations: ["viewer"]})
    facts = signed_in(sam).get(FACTS).json()
    assert (facts["unowned"], [row["open"] for row in facts["open"]]) == ([], [2])
