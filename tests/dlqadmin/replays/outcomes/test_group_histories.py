"""Commits past a record while nobody looked: both looks and the commit itself tell who made them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.conf import settings

from dlqadmin.broker import clusters
from dlqadmin.broker.groups import GroupOnTopic
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.models import ReplayItem
from dlqadmin.replays.outcomes.clock_jumps import ClockJumps
from dlqadmin.replays.outcomes.foreign_groups import GAP, note, put_clock_ahead
from dlqadmin.replays.outcomes.offset_evidence import LOOK_MAY_TAKE
from dlqadmin.replays.outcomes.watcher import SLOWLY
from dlqadmin.rest.times import iso
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.replays.world import BASE, SENT_AT, TOPIC, Build, World

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
G = "billing"


@pytest.fixture
def world(build: Build, engine: FakeEngine) -> World:
    """A record that was sent for the group, which nobody has looked at yet."""
    made = build(watch=[G])
    engine.connectors.clear()
    ReplayItem.objects.update(watched="")
    DeadLetter.objects.update(connector=G)
    return made


def later(world: World, gap: timedelta, members: int, *, consumed: bool = False) -> str:
    """Look after the gap, in which the group has committed past the record. Return the outcome."""
    world.cluster.groups.clear()
    world.cluster.joins(G, BASE + 50, members=members, consumed=consumed)
    world.watch(after=gap)
    return world.outcome()


@pytest.mark.parametrize("before", [0, 1])
@pytest.mark.parametrize("after", [0, 1])
@pytest.mark.parametrize("gap", [SLOWLY, MINUTE, GAP])
def test_a_consumers_commit_between_two_looks_is_a_members_whoever_is_seen(
    world: World, before: int, after: int, gap: timedelta
) -> None:
    """The reader was cut off too, so one look or both see nobody."""
    world.cluster.joins(G, BASE, members=before)
    world.watch()
    assert later(world, gap, after, consumed=True) == "sent(settling)"


@pytest.mark.parametrize(("before", "after"), [(0, 0), (0, 1), (1, 0)])
@pytest.mark.parametrize(
    ("gap", "reason"), [(SLOWLY, "offset_moved_by_hand"), (LOOK_MAY_TAKE + SECOND, "not_observed")]
)
def test_another_commit_counts_only_if_both_looks_saw_an_owner(
    world: World, before: int, after: int, gap: timedelta, reason: str
) -> None:
    world.cluster.joins(G, BASE, members=before)
    world.watch(after=LOOK_MAY_TAKE)  # so the look after a short gap is too late for an owner who may have come since
    assert later(world, gap, after) == f"unknown({reason})"


def test_a_long_gap_says_when_nobody_looked(world: World) -> None:
    world.cluster.joins(G, BASE)
    world.watch()
    began = world.now
    assert later(world, GAP + SECOND, 1, consumed=True) == "unknown(not_observed)"
    assert world.item().evidence == (
        f"{G} committed past the record between {iso(began)} and {iso(world.now)}, "
        "while the dashboard could not look at the group"
    )


@pytest.mark.parametrize(
    ("members", "consumed", "most"), [(1, False, LOOK_MAY_TAKE), (1, True, GAP), (0, True, GAP), (0, False, None)]
)
def test_a_first_look_counts_for_records_that_were_sent_shortly_before(
    world: World, members: int, consumed: bool, most: timedelta | None
) -> None:
    sent = world.now - SENT_AT
    if most is not None:
        assert later(world, most - sent, members, consumed=consumed) == "sent(settling)"
        world.add(1)
        world.now = SENT_AT
        type(world.replay).objects.update(status="watching")
        return
    assert later(world, SECOND, members, consumed=consumed) == "unknown(offset_moved_by_hand)"


@pytest.mark.parametrize(
    ("members", "consumed", "most"), [(1, False, LOOK_MAY_TAKE), (1, True, GAP), (0, True, GAP), (0, False, MINUTE)]
)
def test_a_first_look_that_comes_later_says_so(world: World, members: int, consumed: bool, most: timedelta) -> None:
    sent = world.now - SENT_AT
    assert later(world, most - sent + SECOND, members, consumed=consumed) == "unknown(not_observed)"
    assert world.item().evidence == (
        f"{G} committed past the record between its sending and {iso(world.now)}, "
        "while the dashboard could not look at the group"
    )


def test_an_offset_that_was_moved_by_hand_stays_so_after_a_time_in_which_nobody_looked(world: World) -> None:
    world.cluster.joins(G, BASE, members=0)
    world.watch()
    assert later(world, SLOWLY, 0) == "unknown(offset_moved_by_hand)"
    evidence = world.item().evidence
    world.cluster.joins(G, BASE + 60)
    world.watch(after=GAP + SLOWLY)
    assert (world.outcome(), world.item().evidence) == ("unknown(offset_moved_by_hand)", evidence)


def test_an_owner_who_comes_after_the_offset_was_moved_has_not_read_the_record(world: World) -> None:
    world.cluster.joins(G, BASE + 50, members=0)
    world.watch()
    assert world.outcome() == "unknown(offset_moved_by_hand)"
    world.cluster.joins(G, BASE + 50)
    world.watch(after=SLOWLY)
    assert world.outcome() == "unknown(offset_moved_by_hand)"


def test_a_group_that_nobody_was_in_for_a_while_has_read_what_its_next_member_commits(world: World) -> None:
    for members in (1, 0, 1):
        world.cluster.groups.clear()
        world.cluster.joins(G, BASE, members=members)
        world.watch(after=MINUTE)
    assert later(world, SLOWLY, 1) == "sent(settling)"


def test_groups_of_the_same_name_on_two_clusters_have_histories_of_their_own(world: World) -> None:
    def look(name: str, committed: int) -> int | None:
        group = GroupOnTopic(G, "stable", "classic", 1, {(TOPIC, 0): committed}, frozenset({(TOPIC, 0)}))
        with clusters.on(name):
            return note(group, TOPIC, 1, world.now)[0].committed_then

    assert [look("", 7), look("dr", 900), look(settings.CLUSTER, 8), look("dr", 901)] == [7, 900, 7, 900]


def test_a_clock_that_is_put_ahead_is_no_gap(world: World) -> None:
    hour = timedelta(hours=1)
    clocks = iter([world.now, world.now + hour + 2 * SECOND, world.now + hour + MINUTE])
    running = iter([timedelta(0), 2 * SECOND, MINUTE])
    jumps = ClockJumps(lambda: next(clocks), lambda: next(running))
    assert jumps.ahead() == timedelta(0)
    world.cluster.joins(G, BASE)
    world.watch()
    ahead = jumps.ahead()
    assert ahead == hour
    put_clock_ahead(ahead)
    assert later(world, hour + 2 * SECOND, 1) == "sent(settling)"
    assert jumps.ahead() == timedelta(0)


def test_a_clock_that_is_put_back_is_no_gap(world: World) -> None:
    world.cluster.joins(G, BASE)
    world.watch()
    assert later(world, -timedelta(hours=1), 1) == "sent(settling)"
