"""Clusters for people of a team: no answer names a topic of others."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.cache import caches
from pytest_django import Settings
from rest_framework.test import APIClient

from dlqadmin.broker.availability import KafkaAvailability
from dlqadmin.clusters import index_progress, topic_rules
from dlqadmin.deadletters.index.followed_topics import followed_topics
from dlqadmin.deadletters.models import DeadLetter, IndexPosition, QueuedDecoding, TopicRule
from dlqadmin.overview.index_lag import IndexLag, PartitionLag
from dlqadmin.replays.items.forbidden_topics import dead_letter_topics
from dlqadmin.teams.models import Team
from dlqadmin.teams.reach import Reach, of_teams, reaching
from tests.dlqadmin.conftest import member, signed_in, team
from tests.dlqadmin.deadletters.letters import NOW, index, letter

pytestmark = pytest.mark.django_db
TOPICS = {"stations.dlq": 1, "payments.dlq": 1, "stations-errors": 1, "payments-errors": 1, "stations.new.dlq": 2}


@pytest.fixture(autouse=True)
def indexed(settings: Settings) -> None:
    settings.DLQ_TOPICS = [r"stations\..*dlq", "payments.dlq"]
    settings.DLQ_TOPIC_CANDIDATES = [".*-errors"]
    index([letter(0, topic="stations.dlq", connector="stations-to-sql")])
    index([letter(n, topic="payments.dlq", connector="payments-to-sql") for n in range(2)])
    for topic in ("stations.old", "payments.old"):
        TopicRule.objects.create(cluster="local", topic=topic, is_excluded=False, actor="a", reason="", at=NOW)


@pytest.fixture
def stations() -> Team:
    return team("stations", ["stations*"], ["stations-*"])


def reach(of: Team) -> Reach:
    return of_teams(frozenset({of.pk}))


def shown(client: APIClient) -> Any:
    return client.get("/api/v1/clusters").json()["index"]


def test_topics_patterns_and_rules_are_those_of_the_team(stations: Team, as_viewer: APIClient) -> None:
    mine, all_of_it = shown(signed_in(member("sam", {stations: ("viewer",)}))), shown(as_viewer)
    assert [row["topic"] for row in mine["topics"]] == ["stations.dlq"]
    assert [row["topic"] for row in mine["rules"]] == ["stations.old"]  # a rule may be about a topic without an index
    assert mine["patterns"] == [r"stations\..*dlq"]
    assert len(all_of_it["topics"]) == len(all_of_it["rules"]) == len(all_of_it["patterns"]) == 2


def test_topics_without_an_index_and_lookalikes_are_those_of_the_team(stations: Team) -> None:
    broker, followed = KafkaAvailability(reachable=False, brokers=1, topics=TOPICS), followed_topics()
    with reaching(reach(stations)):
        found = index_progress.progress(IndexLag([]), broker, followed)
        lookalikes = index_progress.unfollowed_topics(broker, followed)
    assert [row.topic for row in found] == ["stations.dlq", "stations.new.dlq"]
    assert lookalikes == ["stations-errors"]
    assert index_progress.unfollowed_topics(broker, followed) == ["payments-errors", "stations-errors"]


def test_samples_of_a_reach_are_not_those_of_another(stations: Team) -> None:
    """The first sample of a reach has only its topics, so another reach would find no rate of the others."""
    broker = KafkaAvailability(reachable=False, brokers=1, topics=TOPICS)
    lag = IndexLag([PartitionLag("stations.dlq", 0, 1, 9, NOW, 0.0)])
    with reaching(reach(stations)):
        index_progress.progress(lag, broker, followed_topics())
    assert caches["shared"].get("clusters:local:positions") is None


def test_values_that_are_not_decoded_count_for_their_team(stations: Team, as_viewer: APIClient) -> None:
    for row in DeadLetter.objects.all():
        QueuedDecoding.objects.create(dead_letter=row, due_at=NOW, reason=f"no schema for {row.topic}")
    mine = shown(signed_in(member("sam", {stations: ("viewer",)})))
    assert (mine["undecoded"], mine["undecoded_reason"]) == (1, "no schema for stations.dlq")
    assert shown(as_viewer)["undecoded"] == 3


@pytest.mark.slow
def test_a_connection_test_names_no_topic_of_others(stations: Team) -> None:
    client = signed_in(member("sam", {stations: ("operator",)}))
    answer = client.post("/api/v1/clusters/local/test")
    assert (answer.status_code, "payments" in answer.text) == (200, False)


def test_rules_of_all_teams_protect_topics_from_replays(stations: Team) -> None:
    """A team's replay must not write to a dead letter topic of others, though the team cannot see the topic."""
    with reaching(reach(stations)):
        assert followed_topics().is_dead_letter_topic("payments.old")
        assert "payments.dlq" in dead_letter_topics()
        assert [row.topic for row in topic_rules.rules()] == ["stations.old"]
        assert set(IndexPosition.objects.values_list("topic", flat=True)) == {"stations.dlq"}
