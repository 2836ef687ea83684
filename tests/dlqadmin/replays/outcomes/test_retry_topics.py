"""Records that are sent to a retry topic, instead of their origin topic."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.models import ReplayItem
from dlqadmin.replays.outcomes.retry_topics import onward, parse
from dlqadmin.replays.outcomes.watcher import SLOWLY
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.replays.world import BASE, TOPIC, Build, World

SETTLE = timedelta(seconds=60)
G, FIRST, SECOND = "billing", f"{TOPIC}-retry-0", f"{TOPIC}-retry-1"


@pytest.fixture
def world(build: Build, engine: FakeEngine) -> World:
    """One item in the first of two retry topics. Its dead letter names the group of the origin topic."""
    world = build()
    engine.connectors.clear()
    ReplayItem.objects.update(watched="", target_topic=FIRST)
    DeadLetter.objects.update(connector="", consumer_group=G)
    world.cluster.topics |= {FIRST: 1, SECOND: 1}
    world.cluster.end_of |= {FIRST: BASE + 1, SECOND: 7}
    world.cluster.joins(f"{G}-retry-0", BASE, topic=FIRST)
    world.cluster.joins(f"{G}-retry-1", 7, topic=SECOND)
    world.watch()
    world.cluster.joins(f"{G}-retry-0", BASE + 1, topic=FIRST)
    return world


@pytest.mark.django_db
@pytest.mark.sql
def test_a_record_of_a_retry_topic_is_in_retry_while_a_later_one_holds_records(world: World) -> None:
    world.cluster.end_of[SECOND] = 8
    world.watch(after=SLOWLY)
    assert (world.outcome(), world.item().evidence) == ("sent(in_retry)", f"{SECOND} still contains records")
    world.cluster.joins(f"{G}-retry-1", 8, topic=SECOND)
    world.watch(after=SLOWLY)
    assert world.outcome() == "sent(settling)"


@pytest.mark.django_db
@pytest.mark.sql
def test_dead_letters_that_name_the_group_of_the_origin_stand_beside_those_of_its_retry_topics(world: World) -> None:
    world.watch(after=SLOWLY)
    world.watch(after=SETTLE)
    assert world.outcome() == "passed(observed)"
    assert world.item().watched == f"group:{G}-retry-0"


@pytest.mark.django_db
@pytest.mark.sql
def test_dead_letters_of_another_group_are_no_path(world: World) -> None:
    DeadLetter.objects.update(consumer_group="audit")
    world.watch(after=SLOWLY)
    assert world.outcome() == "unknown(no_dead_letter_path)"


@pytest.mark.django_db
@pytest.mark.sql
def test_a_marker_at_the_end_of_a_retry_topic_is_no_record(world: World) -> None:
    world.cluster.end_of[SECOND] = 8
    world.cluster.compacted.add(7)
    world.watch(after=SLOWLY)
    assert world.outcome() == "sent(settling)"


THERE = ("a", "a-retry-0", "a-retry-1", "a.b", "a.b-retry-1000", "a.b-retry-30000", "a.b-retry-1000-dlt", "c-retry")


@pytest.mark.parametrize(
    ("topic", "found"),
    [
        ("a", ["a-retry-0", "a-retry-1"]),
        ("a-retry-0", ["a-retry-0", "a-retry-1"]),
        ("a-retry-1", ["a-retry-1"]),
        ("a.b-retry-30000", ["a.b-retry-30000"]),
        ("a-retry-7", []),  # deleted
        ("c", ["c-retry"]),
        ("c-retry", []),  # the topic `c` does not exist, so the name says nothing
    ],
)
def test_a_record_may_wait_in_the_later_retry_topics(topic: str, found: list[str]) -> None:
    assert onward(topic, THERE) == found


@pytest.mark.parametrize(
    ("topic", "group", "origin"),
    [
        ("a-retry-0", "billing-retry-0", "billing"),
        ("a-retry-0", "billing-retry-1", ""),
        ("a-retry-0", "-retry-0", ""),
        ("a-retry-0", "billing", ""),
    ],
)
def test_the_group_of_a_retry_topic_has_its_suffix(topic: str, group: str, origin: str) -> None:
    found = parse(topic, THERE)
    assert found is not None
    assert found.group_of_origin(group) == origin
