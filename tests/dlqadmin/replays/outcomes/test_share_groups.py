"""Share groups, which the client neither lists nor describes: the broker's dead letters name them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.models import ItemOutcome, ReplayItem
from dlqadmin.replays.outcomes.share_groups import SAMPLE
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.replays.world import BASE, TOPIC, Build, World

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
SHARE = "scanners"
WHY = f"{SHARE} is a share group: its committed offsets do not say which records it has processed"


@pytest.fixture
def build_shared(build: Build, engine: FakeEngine) -> Build:
    """A world without a connector, whose records failed in a share group."""

    def make(items: int = 1, **replay: object) -> World:
        world = build(items, **replay)
        engine.connectors.clear()
        ReplayItem.objects.update(watched="")
        shared = {"connector": "", "dialect": "share-groups", "consumer_group": SHARE}
        DeadLetter.objects.update(origin_topic=TOPIC, **shared)
        return world

    return make


@pytest.mark.parametrize("watch", [[], [SHARE]])
def test_a_share_group_is_named_instead_of_no_group(build_shared: Build, watch: list[str]) -> None:
    world = build_shared(watch=watch)
    world.watch()
    assert (world.outcome(), world.item().watched, world.item().evidence) == (
        "unknown(share_group)",
        f"group:{SHARE}",
        WHY,
    )


def test_a_record_that_fails_again_in_a_share_group_is_not_unknown(build_shared: Build) -> None:
    world = build_shared()
    world.watch()
    world.fails(BASE, connector="")
    DeadLetter.objects.update(consumer_group=SHARE)
    world.watch(after=timedelta(seconds=20))
    assert world.outcome() == "failed_again"


def test_beside_another_group_the_share_group_has_an_outcome_of_its_own(build_shared: Build) -> None:
    world = build_shared()
    world.cluster.joins("billing", BASE)
    world.watch()
    other = ItemOutcome.objects.get()
    assert (world.outcome(), world.item().watched) == ("sent(waiting)", "group:billing")
    assert (other.group, other.state, other.reason, other.evidence) == (
        f"group:{SHARE}",
        "unknown",
        "share_group",
        WHY,
    )


def test_a_share_group_of_another_topic_does_not_read_this_one(build_shared: Build) -> None:
    world = build_shared(watch=[SHARE])
    DeadLetter.objects.update(origin_topic="another")
    world.watch()
    assert (world.outcome(), world.item().evidence) == (
        "unknown(no_group)",
        f"consumer group {SHARE} does not exist",
    )


def test_newer_dead_letters_of_others_do_not_hide_that_a_replayed_group_shares(build_shared: Build) -> None:
    world = build_shared(SAMPLE + 2)
    DeadLetter.objects.exclude(pk=world.item().dead_letter_id).update(dialect="connect-headers", consumer_group=None)
    DeadLetter.objects.filter(pk=world.item().dead_letter_id).update(failed_at=world.now - timedelta(days=1))
    world.watch()
    assert world.outcome() == "unknown(share_group)"
