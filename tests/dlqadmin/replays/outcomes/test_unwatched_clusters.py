"""A cluster that is taken out of the settings while outcomes on it are awaited."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from dlqadmin.broker import clusters
from dlqadmin.replays.models import ItemOutcome, Replay, ReplayItem
from dlqadmin.replays.outcomes.unwatched_clusters import end_waits
from dlqadmin.replays.outcomes.watcher import SLOWLY
from tests.dlqadmin.replays.world import BASE, Build, World

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
G = "billing"
SENTENCE = "sent to cluster dr, whose consumer groups are not watched"
DR = {"bootstrap.servers": "dr:9092", "dead.letter.topics": "orders.dlq"}


@pytest.fixture
def world(build: Build, settings: Any) -> World:
    """Two records that were sent to the cluster dr for a group, which has read neither."""
    settings.OTHER_CLUSTERS = {"dr": DR}
    made = build(2, target_cluster="dr", watch=[G])
    ReplayItem.objects.update(watched=f"group:{G}")
    made.cluster.joins(G, BASE)
    with clusters.on("dr"):
        made.watch()
    return made


def test_nothing_ends_while_the_cluster_is_indexed(world: World) -> None:
    assert end_waits(world.now) == 0
    assert (world.outcome(), Replay.objects.get().status) == ("sent(waiting)", "watching")


@pytest.mark.parametrize("left", [{}, {"dr": {"bootstrap.servers": "dr:9092"}}])
def test_a_wait_ends_with_a_sentence_that_names_the_cluster(world: World, settings: Any, left: dict[str, Any]) -> None:
    settings.OTHER_CLUSTERS = left
    assert end_waits(world.now) == 2
    assert (world.outcome(), world.item().evidence) == ("unknown(cluster_unwatched)", SENTENCE)
    assert Replay.objects.get().status == "done"
    assert end_waits(world.now) == 0


def test_a_wait_in_a_further_group_ends_too(world: World, settings: Any) -> None:
    outcome = {"group": "group:audit", "state": "sent", "reason": "waiting", "state_at": world.now}
    ItemOutcome.objects.create(item=world.item(), **outcome)
    settings.OTHER_CLUSTERS = {}
    assert end_waits(world.now) == 3
    found = ItemOutcome.objects.get()
    assert (found.state, found.reason, found.evidence) == ("unknown", "cluster_unwatched", SENTENCE)


def test_records_of_a_replay_that_is_still_sent_end_too_and_it_goes_on(world: World, settings: Any) -> None:
    Replay.objects.update(status="paused")
    settings.OTHER_CLUSTERS = {}
    assert end_waits(world.now) == 2
    assert Replay.objects.get().status == "paused"


def test_outcomes_on_the_own_cluster_are_awaited_as_before(build: Build, settings: Any) -> None:
    own = build()
    settings.OTHER_CLUSTERS = {}
    assert (end_waits(own.now), own.outcome()) == (0, "sent")


def test_a_cluster_that_comes_back_decides_them(world: World, settings: Any) -> None:
    settings.OTHER_CLUSTERS = {}
    end_waits(world.now)
    settings.OTHER_CLUSTERS = {"dr": DR}
    world.cluster.joins(G, BASE + 50)
    with clusters.on("dr"):
        world.watch(after=SLOWLY + timedelta(seconds=1))
    assert world.outcome() == "unknown(no_dead_letter_path)"  # it has read the record, and its failures are not indexed
