"""Outcomes in a sink of Kafka Connect: it commits as `connect-<name>`, and its dead letters name the connector."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.models import ReplayItem
from dlqadmin.replays.outcomes.watcher import SLOWLY
from tests.dlqadmin.replays.world import BASE, CONNECTOR, Build, World, carrying, past

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
NAME = "jdbc-orders"
GROUP = f"connect-{NAME}"
SETTLE = timedelta(seconds=60)


def read_by_kafka_connect(build: Build) -> World:
    """A record that only this sink reads, and commits past. The engine does not know the sink."""
    world = build()
    world.engine.connectors.clear()
    ReplayItem.objects.update(watched="")
    DeadLetter.objects.update(connector=NAME)
    world.cluster.joins(GROUP, BASE)
    world.watch()
    world.cluster.joins(GROUP, BASE + 50)
    return world


def test_a_sink_that_commits_past_a_record_has_let_it_pass(build: Build) -> None:
    world = read_by_kafka_connect(build)
    assert world.item().watched == f"group:{GROUP}"
    world.watch(after=SLOWLY)
    world.watch(after=SETTLE)
    assert world.outcome() == "passed(observed)"


def test_a_dead_letter_that_names_the_connector_is_a_failure_in_its_group(build: Build) -> None:
    world = read_by_kafka_connect(build)
    dead = world.fails(BASE, headers=carrying(world.item()), connector=NAME)
    world.watch(after=SLOWLY)
    assert (world.outcome(), world.item().refailure) == ("failed_again", dead)


@pytest.mark.parametrize("named", [{"connector": NAME}, {"connector": "", "consumer_group": GROUP}])
def test_a_failure_in_a_further_group_is_known_by_the_connector_s_or_the_group_s_name(
    build: Build, named: dict[str, str]
) -> None:
    world = build(watch=[GROUP])
    world.cluster.joins(GROUP, BASE)
    past(world).watch()
    assert world.outcome() == "passed"
    dead = world.fails(BASE, headers=carrying(world.item()))
    DeadLetter.objects.filter(pk=dead.pk).update(**named)
    world.watch(after=SLOWLY)
    assert world.outcome() == "passed"
    assert [(row.group, row.state) for row in world.item().outcomes.all()] == [(f"group:{GROUP}", "failed_again")]


def test_a_connector_of_the_engine_is_not_judged_by_a_dead_letter_of_another_framework(build: Build) -> None:
    world = past(build())
    dead = world.fails(BASE, headers=carrying(world.item()), connector="")
    assert dead.dialect == "connect-headers"  # the engine writes error contexts
    world.watch()
    assert (world.outcome(), world.item().watched, world.item().refailure) == ("passed", CONNECTOR, dead)
