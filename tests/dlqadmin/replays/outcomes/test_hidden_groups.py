"""Outcomes in a foreign group while Kafka does not describe another one, which may read or write for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest

from dlqadmin.broker.groups import GroupOnTopic
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.models import GroupHistory, ItemOutcome, ReplayItem
from dlqadmin.replays.outcomes.decision import WATCHED_FOR
from dlqadmin.replays.outcomes.foreign_groups import GAP
from dlqadmin.replays.outcomes.watcher import SLOWLY
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.replays.world import BASE, CONNECTOR, DLQ, TOPIC, Build, World, past

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
SETTLE = timedelta(seconds=60)
G, X, RETRY = "billing", "audit", f"{TOPIC}-retry-1000"
Observe = Callable[..., World]
Hide = Callable[..., None]


@pytest.fixture
def hide(monkeypatch: pytest.MonkeyPatch) -> Hide:
    """A group that Kafka does not describe is among all groups of any topic; with `why` empty it is not any more."""

    def make(world: World, why: str = "not authorized", *, passing: bool = False, name: str = X) -> None:
        told = type(world.cluster).groups_on
        hidden = GroupOnTopic(name, "unknown", "unknown", 0, {}, frozenset(), why, passing)

        def groups_on(topics: Sequence[str], named: Sequence[str] | None = None) -> list[GroupOnTopic]:
            return told(world.cluster, topics, named) + ([hidden] if named is None and why else [])

        monkeypatch.setattr(world.cluster, "groups_on", groups_on)

    return make


@pytest.fixture
def observe(build: Build, engine: FakeEngine) -> Observe:
    """Items that are watched in one group, whose member has the partition and is past them all."""

    def make(items: int = 1) -> World:
        world = build(items, watch=[G])
        engine.connectors.clear()
        ReplayItem.objects.update(watched=f"group:{G}")
        DeadLetter.objects.update(connector="")
        world.cluster.joins(G, BASE)
        world.watch()
        world.cluster.joins(G, BASE + 50)
        return world

    return make


def retries(world: World) -> World:
    """Its dead letters name it, and records wait in a retry topic, of which another group is done with all."""
    DeadLetter.objects.update(connector=G)
    world.cluster.topics[RETRY], world.cluster.end_of[RETRY], world.cluster.begin_of[RETRY] = 1, 7, 0
    world.cluster.joins("other", 7, topic=RETRY)
    return world


def looked_at(world: World) -> str:
    """The outcome when the settle time is over."""
    world.watch(after=SLOWLY)
    world.watch(after=SETTLE)
    return world.outcome()


def test_a_retry_topic_that_an_undescribed_group_may_read_is_not_watched(observe: Observe, hide: Hide) -> None:
    world = retries(observe())
    hide(world)
    assert looked_at(world) == "unknown(retry_topics_unwatched)"
    said = f"Kafka can't describe {X}, which may read the retry topic {RETRY}"
    assert world.item().evidence == f"{G} committed past the record, but {said}"
    hide(world, "")
    assert looked_at(world) == "passed(observed)"


def test_while_the_reader_of_a_retry_topic_may_be_described_soon_the_record_waits(observe: Observe, hide: Hide) -> None:
    world = retries(observe())
    hide(world, passing=True)
    assert looked_at(world) == "sent(waiting)"
    hide(world, "")
    assert looked_at(world) == "passed(observed)"


def test_nobody_else_is_asked_for_where_the_group_itself_commits_in_its_retry_topic(
    observe: Observe, hide: Hide
) -> None:
    world = retries(observe())
    world.cluster.joins(G, 7, topic=RETRY)
    hide(world, passing=True)
    assert looked_at(world) == "passed(observed)"


def test_a_retry_topic_that_holds_nothing_needs_no_reader(observe: Observe, hide: Hide) -> None:
    world = retries(observe())
    world.cluster.begin_of[RETRY] = 7
    hide(world)
    assert looked_at(world) == "passed(observed)"


def test_a_group_that_is_not_described_may_read_the_topic_and_no_more_is_said(observe: Observe, hide: Hide) -> None:
    world = observe()
    hide(world)
    assert looked_at(world) == "unknown(no_dead_letter_path)"
    said = f"dead letters in {DLQ} name no group, and {X}, which Kafka can't describe, may read {TOPIC}"
    assert world.item().evidence == f"{G} committed past the record, but {said}"


def test_a_group_that_is_seen_to_read_the_topic_is_named_before_one_that_is_not_described(
    observe: Observe, hide: Hide
) -> None:
    world = observe()
    world.cluster.joins("reader", BASE)
    hide(world, passing=True)
    assert looked_at(world) == "unknown(no_dead_letter_path)"
    assert world.item().evidence.endswith(f"and reader reads {TOPIC} too")


@pytest.mark.parametrize("name", [G, f"connect-{CONNECTOR}"])
def test_the_group_itself_and_the_engines_are_no_other_writers(observe: Observe, hide: Hide, name: str) -> None:
    world = observe()
    world.engine.add(CONNECTOR, {"topics": "another"})
    hide(world, name=name)
    assert looked_at(world) == "passed(observed)"


def test_while_it_may_be_described_soon_the_record_waits_and_its_history_goes_on(observe: Observe, hide: Hide) -> None:
    world = observe()
    since = GroupHistory.objects.get(group=G).since
    hide(world, passing=True)
    for _ in range(3):
        world.watch(after=GAP)
    assert (world.outcome(), GroupHistory.objects.get(group=G).since) == ("sent(waiting)", since)
    hide(world, "")
    assert looked_at(world) == "passed(observed)"


def test_a_trouble_that_does_not_pass_keeps_no_record_longer_than_it_is_watched(observe: Observe, hide: Hide) -> None:
    world = observe(2)
    ReplayItem.objects.filter(ordinal=0).update(sent_at=world.now + 2 * SLOWLY - WATCHED_FOR)
    hide(world, "it was not described within 20 s", passing=True)
    world.watch(after=2 * SLOWLY)
    assert (world.outcome(0), world.outcome(1)) == ("sent(waiting)",) * 2
    world.watch(after=SLOWLY)
    assert (world.outcome(0), world.outcome(1)) == ("unknown(watch_timeout)", "sent(waiting)")
    why = f"{G} on {TOPIC} could not be read: Kafka can't describe {X}: it was not described within 20 s"
    assert world.item().evidence == f"24 hours after it was sent: {why}"
    hide(world, "")
    world.watch(after=SLOWLY)
    world.watch(after=SETTLE)
    assert (world.outcome(0), world.outcome(1)) == ("unknown(watch_timeout)", "passed(observed)")


def test_nor_does_it_keep_the_outcome_in_a_further_group(build: Build, hide: Hide) -> None:
    world = past(build(watch=[G]))
    DeadLetter.objects.update(connector="")
    world.cluster.joins(G, BASE)
    world.watch()
    world.cluster.joins(G, BASE + 50)
    ReplayItem.objects.update(sent_at=world.now + 2 * SLOWLY - WATCHED_FOR)
    hide(world, passing=True)
    world.watch(after=2 * SLOWLY)
    assert ItemOutcome.objects.get().state == "sent"
    world.watch(after=SLOWLY)
    assert ItemOutcome.objects.get().state == "unknown"
