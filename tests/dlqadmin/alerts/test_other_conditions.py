"""Conditions about tasks, connectors, topics and replays: they fire, end, and stay within the rule's team."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from dlqadmin.alerts.evaluation import RuleEvaluator
from dlqadmin.alerts.facts import AlertFactReader
from dlqadmin.alerts.models import AlertFiring
from dlqadmin.broker.retention import TopicRetention
from dlqadmin.deadletters.models import Group, IndexPosition
from dlqadmin.metrics.models import TaskSnapshot
from dlqadmin.notifications.models import ChannelDelivery
from dlqadmin.replays.models import Replay, ReplayStatus, SelectionSource
from tests.dlqadmin.alerts.rigs import events, rule, tick
from tests.dlqadmin.conftest import team
from tests.dlqadmin.deadletters.letters import HOUR_MS, NOW, index, letter
from tests.dlqadmin.deadletters.records.test_expiry import FakeBroker
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.replays.planned import planned

pytestmark = pytest.mark.django_db
OWN, OTHER = "stations-to-sql", "payments-to-sql"
TOPICS = {OWN: "stations.dlq", OTHER: "payments.dlq"}
LATER = NOW + timedelta(minutes=2)
World = Callable[[str, bool], None]  # makes the condition of one connector's parts hold, or end


def states(engine: FakeEngine, state: str, connector: str) -> None:
    engine.add(connector, {"topics": "in"}, state=state)
    if state == "PAUSED":  # its task still runs
        engine.connectors[connector]["status"]["tasks"][0]["state"] = "PAUSED"


def budget_left(engine: FakeEngine, left: int, connector: str) -> None:
    engine.add(connector, {"topics": "in", "errors.tolerance.rate.duration": "day"})
    TaskSnapshot.objects.update_or_create(
        connector=connector,
        task=0,
        defaults={"state": "RUNNING", "reported_at": NOW, "status": {"tolerance": {"limit": 10, "used": 10 - left}}},
    )


def index_behind(is_behind: bool, connector: str) -> None:
    IndexPosition.objects.update_or_create(
        cluster="local",
        topic=TOPICS[connector],
        partition=0,
        defaults={
            "position": 3,
            "end_offset": 9 if is_behind else 3,
            "updated_at": NOW,
            "last_record_at": NOW - timedelta(minutes=10),
        },
    )


@pytest.mark.parametrize("kind", ["task_failed", "connector_paused", "index_behind", "budget"])
def test_a_condition_fires_ends_and_sees_only_the_rules_team(engine: FakeEngine, kind: str) -> None:
    makes: dict[str, World] = {
        "task_failed": lambda name, on: states(engine, "FAILED" if on else "RUNNING", name),
        "connector_paused": lambda name, on: states(engine, "PAUSED" if on else "RUNNING", name),
        "index_behind": lambda name, on: index_behind(on, name),
        "budget": lambda name, on: budget_left(engine, 1 if on else 9, name),
    }
    fields = {"index_behind": {"seconds": 60}, "budget": {"percent": 20}}
    condition: dict[str, Any] = {"kind": kind, **fields.get(kind, {})}
    stations = rule(condition, name="stations", team=team("stations", ["stations.*"], ["stations-*"]))
    rule(condition, name="everything", tells=())
    for name in TOPICS:
        makes[kind](name, True)
    assert tick() == 1
    assert AlertFiring.objects.filter(ended_at=None).count() == 3
    own = AlertFiring.objects.get(rule=stations)
    assert "stations" in own.subject_key
    for name in TOPICS:
        makes[kind](name, False)
    assert tick(LATER) == 1
    assert AlertFiring.objects.filter(ended_at=None).count() == 0
    assert events() == ["alert.opened", "alert.resolved"]
    assert not ChannelDelivery.objects.filter(body__contains="payments").exists()


def test_a_topic_whose_dead_letters_kafka_deletes_soon_fires_and_ends() -> None:
    week = TopicRetention(frozenset({"delete"}), 7 * 24 * HOUR_MS, -1)
    broker = FakeBroker(**dict.fromkeys(TOPICS.values(), week))
    at = NOW + timedelta(days=7) - timedelta(hours=2)
    own = rule({"kind": "retention", "hours": 6}, team=team("stations", ["stations.*"], ["stations-*"]))
    for name, topic in TOPICS.items():
        index([letter(0, topic=topic, connector=name)])
        index_behind(False, name)
    assert tick(at, RuleEvaluator(AlertFactReader(broker))) == 1
    assert AlertFiring.objects.get(rule=own).subject_key == "stations.dlq"
    Group.objects.update(status="resolved")
    assert tick(at + timedelta(minutes=2), RuleEvaluator(AlertFactReader(broker))) == 1
    assert events() == ["alert.opened", "alert.resolved"]


def test_a_replay_that_needs_a_person_is_told_to_the_team_that_owns_all_of_it() -> None:
    replay = planned()
    for name, patterns in (("quakes", ["usgs.*"]), ("stations", ["stations.*"])):
        rule({"kind": "replay_needs_person"}, name=name, team=team(name, patterns))
    SelectionSource.objects.create(
        selection=replay.selection, cluster="local", topic="usgs.earthquakes.dlq", connector="usgs-to-sql"
    )
    Replay.objects.filter(pk=replay.pk).update(status=ReplayStatus.PAUSED, trouble="Kafka did not respond")
    assert tick() == 1
    assert [(row.rule_name, row.subject_key) for row in AlertFiring.objects.all()] == [("quakes", str(replay.pk))]
    Replay.objects.filter(pk=replay.pk).update(status=ReplayStatus.DONE, trouble="")
    assert tick(LATER) == 1
    assert events() == ["alert.opened", "alert.resolved"]
