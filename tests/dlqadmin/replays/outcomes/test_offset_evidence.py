"""Outcomes in consumer groups that report nothing: all that is known of them is what can be seen from outside."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from dlqadmin.broker.groups import GroupOnTopic
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.models import GroupHistory, ItemOutcome, Replay, ReplayItem
from dlqadmin.replays.outcomes.foreign_groups import RARELY_S, SOON_S
from dlqadmin.replays.outcomes.watcher import SLOWLY
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.replays.world import BASE, CONNECTOR, DLQ, TOPIC, Build, World, carrying, past

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
SETTLE = timedelta(seconds=60)
G = "billing"


@pytest.fixture
def observe(build: Build, engine: FakeEngine) -> Build:
    """A world without a connector: one group, in which one member has the partition and is not there yet."""

    def make(items: int = 1, **replay: Any) -> World:
        world = build(items, **replay)
        engine.connectors.clear()
        ReplayItem.objects.update(watched="")
        DeadLetter.objects.update(connector="")
        world.cluster.joins(G, BASE)
        return world

    return make


def passes(world: World) -> World:
    """The group goes past all items, and the settle time is over."""
    world.watch()
    world.cluster.joins(G, BASE + 50)
    world.watch(after=timedelta(seconds=2))
    assert world.outcome() == "sent(settling)"
    world.watch(after=SETTLE)
    return world


def test_committed_past_by_its_member_and_nothing_came_back_is_passed_and_only_observed(observe: Build) -> None:
    world = passes(observe())
    assert (world.outcome(), world.item().watched) == ("passed(observed)", f"group:{G}")
    assert world.item().evidence == f"observed: {G} committed past the record, and no dead letter arrived within 60 s"
    assert Replay.objects.get().status == "done"


def test_a_group_that_kafka_does_not_describe_is_unknown_until_it_does(observe: Build) -> None:
    world = observe(watch=[G])
    world.watch()
    since = GroupHistory.objects.get(group=G).since
    (known,) = world.cluster.groups.values()
    refused = "Group authorization failed"
    world.cluster.groups[G] = GroupOnTopic(G, "unknown", "unknown", 0, {}, frozenset(), refused)
    world.watch(after=SLOWLY)
    assert (world.outcome(), GroupHistory.objects.get(group=G).since) == ("unknown(group_unknown)", since)
    assert world.item().evidence == f"Kafka can't describe {G}: Group authorization failed"
    world.cluster.groups[G] = known
    world.watch(after=SLOWLY)
    world.cluster.joins(G, BASE + 50)
    world.watch(after=SLOWLY)
    assert world.outcome() == "sent(settling)"


def test_letters_that_name_no_group_prove_nothing_of_one_of_several_readers(observe: Build) -> None:
    world = observe(watch=[G])
    world.cluster.joins("audit", BASE)
    world.watch()
    world.cluster.joins(G, BASE + 50)
    world.watch(after=timedelta(seconds=2))
    assert world.outcome() == "unknown(no_dead_letter_path)"
    said = f"dead letters in {DLQ} name no group, and audit reads {TOPIC} too"
    assert world.item().evidence == f"{G} committed past the record, but {said}"


@pytest.mark.parametrize("known", [{"members": 0}, {"topic": "elsewhere"}])
def test_a_group_that_nobody_is_in_or_that_reads_elsewhere_wrote_no_letters(
    observe: Build, known: dict[str, Any]
) -> None:
    world = observe(watch=[G])
    world.cluster.joins("audit", BASE, **known)
    assert passes(world).outcome() == "passed(observed)"


def test_a_letter_that_names_the_group_is_its_own_whoever_else_reads(observe: Build) -> None:
    world = observe(watch=[G])
    DeadLetter.objects.update(connector=G)
    world.cluster.joins("audit", BASE)
    assert passes(world).outcome() == "passed(observed)"


def test_a_letter_whose_header_names_another_group_is_no_path_of_this_one(observe: Build) -> None:
    world = observe(watch=[G])
    world.watch()
    DeadLetter.objects.update(consumer_group="audit")
    world.cluster.joins(G, BASE + 50)
    world.watch(after=timedelta(seconds=2))
    assert world.item().evidence == (
        f"{G} committed past the record, but no indexed topic contains dead letters of {G}"
    )


def test_all_groups_are_asked_for_soon_only_while_nobody_is_known_to_read(observe: Build) -> None:
    world = observe(2)
    world.watch()
    world.watch()
    assert world.item().watched == f"group:{G}"
    assert world.cluster.listed[0] == SOON_S
    assert set(world.cluster.listed[1:]) == {RARELY_S}


def test_nobody_asks_for_all_groups_where_it_is_known_whose_outcome_counts(build: Build) -> None:
    world = build(watch=[G])
    world.cluster.joins(G, BASE)
    world.watch()
    assert world.cluster.listed == []


def test_it_waits_with_its_lag_until_it_is_committed_past(observe: Build) -> None:
    world = observe()
    world.watch()
    assert (world.outcome(), world.item().evidence) == ("sent(waiting)", "lag 100")


def test_it_settles_for_as_long_as_the_setting_says(observe: Build, settings: Any) -> None:
    settings.OBSERVED_SETTLE_S = 5.0
    world = observe()
    world.watch()
    world.cluster.joins(G, BASE + 50)
    world.watch(after=timedelta(seconds=1))
    world.watch(after=timedelta(seconds=4))
    assert world.outcome() == "sent(settling)"
    world.watch(after=timedelta(seconds=1))
    assert world.item().evidence == f"observed: {G} committed past the record, and no dead letter arrived within 5 s"


def test_a_dead_letter_within_the_settle_time_is_its_failure(observe: Build) -> None:
    world = observe()
    world.watch()
    world.cluster.joins(G, BASE + 50)
    world.watch()
    dead = world.fails(BASE, headers=carrying(world.item()), connector="")
    world.indexed(11)
    world.watch(after=SETTLE)
    assert (world.outcome(), world.item().refailure) == ("failed_again", dead)


def test_one_that_comes_after_the_settle_time_turns_it_round(observe: Build) -> None:
    world = passes(observe())
    dead = world.fails(BASE, headers=carrying(world.item()), connector="")
    world.watch(after=SETTLE)
    assert (world.outcome(), world.item().refailure) == ("failed_again", dead)
    assert [row["state"] for row in world.item().history] == ["passed"]


def test_after_the_settle_time_the_index_must_have_read_what_was_written_in_it(observe: Build) -> None:
    world = observe()
    world.watch()
    world.cluster.joins(G, BASE + 50)
    world.watch()
    world.cluster.end_of[DLQ] = 12
    world.watch(after=SETTLE)
    assert world.outcome() == "sent(settling)"
    world.indexed(12)
    world.watch()
    assert world.outcome() == "passed(observed)"


def test_an_owner_who_took_over_before_the_record_was_committed_past_has_read_it(observe: Build) -> None:
    world = observe()
    world.now += timedelta(minutes=2)
    world.watch()
    world.cluster.joins(G, BASE + 50)
    world.watch(after=SLOWLY)
    assert world.outcome() == "sent(settling)"


def test_what_is_unknown_settles_when_its_reader_comes_back(observe: Build) -> None:
    world = observe()
    world.cluster.groups.clear()
    world.cluster.joins(G, BASE, members=0)
    world.watch()
    assert (world.outcome(), Replay.objects.get().status) == ("unknown(group_empty)", "done")
    world.cluster.joins(G, BASE)
    world.watch(after=SLOWLY)
    world.cluster.joins(G, BASE + 50)
    world.watch(after=SLOWLY)
    assert (world.outcome(), Replay.objects.get().status) == ("sent(settling)", "watching")
    world.watch(after=SETTLE)
    assert (world.outcome(), Replay.objects.get().status) == ("passed(observed)", "done")


def test_a_record_in_a_retry_topic_is_in_retry_until_that_is_empty(observe: Build) -> None:
    world = observe()
    retry = f"{TOPIC}-retry-1000"
    world.cluster.topics[retry], world.cluster.end_of[retry], world.cluster.begin_of[retry] = 1, 7, 0
    world.cluster.joins(f"{G}-retry", 6, topic=retry)
    world.watch()
    world.cluster.joins(G, BASE + 50)
    world.watch()
    assert (world.outcome(), world.item().evidence) == ("sent(in_retry)", f"{retry} still contains records")
    world.cluster.joins(f"{G}-retry", 7, topic=retry)
    world.watch(after=SLOWLY)
    world.watch(after=SETTLE)
    assert world.outcome() == "passed(observed)"


def test_the_delays_in_the_names_of_retry_topics_make_the_settle_time_longer(observe: Build) -> None:
    world = observe()
    for delay in (60_000, 120_000):
        retry = f"{TOPIC}-retry-{delay}"
        world.cluster.topics[retry] = 1
    world.watch()
    world.cluster.joins(G, BASE + 50)
    world.watch()
    world.watch(after=SETTLE)
    assert world.outcome() == "sent(settling)"
    world.watch(after=2 * SETTLE)
    assert world.item().evidence.endswith("no dead letter arrived within 180 s")


def test_a_group_that_was_asked_for_counts_beside_the_connector_and_is_kept_apart(build: Build) -> None:
    world = past(build(watch=[G]))
    world.cluster.joins(G, BASE)
    DeadLetter.objects.update(connector="")
    world.watch()
    other = ItemOutcome.objects.get()
    assert (world.outcome(), Replay.objects.get().status) == ("passed", "watching")
    assert (other.group, other.state, other.reason) == (f"group:{G}", "sent", "waiting")
    world.cluster.joins(G, BASE + 1)
    world.watch(after=SLOWLY)
    world.watch(after=SETTLE)
    other.refresh_from_db()
    assert (other.state, other.evidence) == (
        "passed",
        (f"observed: {G} committed past the record, and no dead letter arrived within 60 s"),
    )
    assert Replay.objects.get().status == "done"


def test_a_dead_letter_of_one_reader_is_the_failure_in_its_group_and_downstream_of_the_other(
    build: Build, engine: FakeEngine
) -> None:
    world = past(build())
    engine.add("usgs-to-file", {"topics": TOPIC, "errors.deadletterqueue.topic.name": DLQ})
    dead = world.fails(BASE, headers=carrying(world.item()), connector="usgs-to-file")
    world.indexed(11)
    world.watch()
    other = ItemOutcome.objects.get()
    assert (world.outcome(), world.item().refailure) == ("passed", dead)
    assert world.item().evidence.endswith(f"failed downstream: {dead}")
    assert (other.group, other.state) == ("usgs-to-file", "failed_again")


def test_one_reader_alone_has_no_rows_of_its_own(build: Build) -> None:
    world = past(build())
    world.watch()
    assert ItemOutcome.objects.count() == 0


def test_a_connector_that_reads_the_topic_counts_where_nobody_was_named(build: Build) -> None:
    world = past(build())
    ReplayItem.objects.update(watched="")
    world.watch()
    assert (world.outcome(), world.item().watched) == ("passed", CONNECTOR)


def test_a_late_dead_letter_of_a_further_reader_turns_its_outcome_with_history(
    build: Build, engine: FakeEngine
) -> None:
    world = past(build())
    engine.add("usgs-to-file", {"topics": TOPIC, "errors.deadletterqueue.topic.name": DLQ})
    world.cluster.report(world.item(), "delivered", connector="usgs-to-file")
    world.watch()
    assert (world.outcome(), ItemOutcome.objects.get().state) == ("passed", "passed")
    world.now += SETTLE
    world.fails(BASE, headers=carrying(world.item()), connector="usgs-to-file")
    world.watch()
    other = ItemOutcome.objects.get()
    assert (world.outcome(), other.state) == ("passed", "failed_again")
    assert [row["state"] for row in other.history] == ["passed"]


def test_a_dead_letter_in_a_topic_made_anew_turns_no_outcome_of_a_further_reader(
    build: Build, engine: FakeEngine
) -> None:
    world = past(build())
    engine.add("usgs-to-file", {"topics": TOPIC, "errors.deadletterqueue.topic.name": DLQ})
    world.cluster.report(world.item(), "delivered", connector="usgs-to-file")
    world.watch()
    assert ItemOutcome.objects.get().state == "passed"
    world.now += SETTLE
    world.cluster.ids = {TOPIC: "id-2"}
    world.fails(BASE, connector="usgs-to-file")
    world.watch()
    assert ItemOutcome.objects.get().state == "passed"
