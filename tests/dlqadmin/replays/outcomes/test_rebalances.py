"""Outcomes in a foreign group whose members share its partitions out anew while it is looked at."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import msgspec
import pytest

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.models import ReplayItem
from dlqadmin.replays.outcomes.foreign_groups import GAP
from dlqadmin.replays.outcomes.watcher import SLOWLY
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.replays.world import BASE, Build, World

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
MINUTE = timedelta(minutes=1)
STATES = ["preparing_rebalancing", "completing_rebalancing", "unknown"]  # the last of a KIP-848 group
G = "billing"


@pytest.fixture
def observe(build: Build, engine: FakeEngine) -> Callable[[], World]:
    """A record that was sent a minute ago, and since then a member that has not read it."""

    def make() -> World:
        world = build(watch=[G])
        engine.connectors.clear()
        ReplayItem.objects.update(watched="")
        DeadLetter.objects.update(connector=G)
        world.cluster.joins(G, BASE)
        world.watch()
        world.watch(after=MINUTE)
        return world

    return make


def rebalances(world: World, committed: int, state: str = STATES[0]) -> None:
    """Members are there, and none of them has a partition."""
    world.cluster.joins(G, committed, state=state)
    world.cluster.groups[G] = msgspec.structs.replace(world.cluster.groups[G], owned=frozenset())


@pytest.mark.parametrize("state", STATES)
def test_who_committed_before_a_rebalance_was_seen_had_read_the_record(
    observe: Callable[[], World], state: str
) -> None:
    world = observe()
    rebalances(world, BASE + 50, state)
    world.watch(after=SLOWLY)
    assert world.outcome() == "sent(settling)"


@pytest.mark.parametrize("state", STATES)
def test_who_committed_after_it_and_before_an_owner_was_seen_had_read_it_too(
    observe: Callable[[], World], state: str
) -> None:
    world = observe()
    rebalances(world, BASE, state)
    world.watch(after=SLOWLY)
    assert (world.outcome(), world.item().evidence) == ("sent(waiting)", "lag 100")
    world.cluster.joins(G, BASE + 50)
    world.watch(after=SLOWLY)
    assert world.outcome() == "sent(settling)"


def test_a_rebalance_after_a_long_time_without_a_look_tells_of_no_owner(observe: Callable[[], World]) -> None:
    world = observe()
    rebalances(world, BASE + 50)
    world.watch(after=GAP + SLOWLY)
    assert world.outcome() == "unknown(not_observed)"


def test_a_group_without_members_shares_out_nothing_whatever_its_state(observe: Callable[[], World]) -> None:
    world = observe()
    world.cluster.joins(G, BASE + 50, members=0, state=STATES[0])
    world.watch(after=SLOWLY)
    assert world.outcome() == "unknown(offset_moved_by_hand)"
