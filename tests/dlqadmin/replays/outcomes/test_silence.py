"""Records of which Kafka does not tell what is needed: they wait for it, but no longer than records are watched."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.models import ItemOutcome, ReplayItem
from dlqadmin.replays.outcomes.decision import WATCHED_FOR
from dlqadmin.replays.outcomes.watcher import SLOWLY
from tests.dlqadmin.replays.world import BASE, CONNECTOR, DLQ, OUTCOMES, TOPIC, Build, World, past

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
SECOND = timedelta(seconds=1)
G = "billing"
SILENCES = {
    "Kafka": "Kafka",
    f"connect-{CONNECTOR}": f"{CONNECTOR} on {TOPIC}",
    TOPIC: TOPIC,
    f"id of {TOPIC}": TOPIC,
    DLQ: DLQ,
    f"partitions of {DLQ}": DLQ,
    f"partitions of {OUTCOMES}": OUTCOMES,
}


def overdue(world: World, *ordinals: int) -> None:
    """These were sent just as long ago as records are watched."""
    ReplayItem.objects.filter(ordinal__in=ordinals).update(sent_at=world.now - WATCHED_FOR)


@pytest.mark.parametrize("what", SILENCES)
def test_what_never_answers_is_waited_for_no_longer_than_records_are_watched(build: Build, what: str) -> None:
    world = past(build(2))
    world.cluster.report(world.item(1), "delivered")
    overdue(world, 0)
    world.cluster.away = {what}
    assert world.watch() == 0
    world.watch(after=SECOND)
    assert (world.outcome(0), world.outcome(1)) == ("unknown(watch_timeout)", "sent")
    why = f"{SILENCES[what]} could not be read: {{'{what}'}} does not respond"
    assert world.item().evidence == f"24 hours after it was sent: {why}"
    world.cluster.away = set()
    world.watch(after=SLOWLY)
    assert (world.outcome(0), world.outcome(1)) == ("unknown(watch_timeout)", "passed")


def test_nor_is_a_partition_whose_records_can_not_be_read(build: Build) -> None:
    world = past(build(2), None)
    overdue(world, 0)
    world.cluster.away = {f"records of {TOPIC}"}
    world.watch(after=SECOND)
    assert (world.outcome(0), world.outcome(1)) == ("unknown(watch_timeout)", "sent")
    assert world.item().evidence.startswith(f"24 hours after it was sent: {TOPIC} / 0 could not be read: ")


def test_nor_is_a_foreign_group(build: Build) -> None:
    world = past(build(watch=[G]))
    DeadLetter.objects.update(connector="")
    world.cluster.joins(G, BASE)
    world.watch()
    overdue(world, 0)
    world.cluster.away = {G}
    world.watch()
    assert ItemOutcome.objects.get().state == "sent"
    world.watch(after=SECOND)
    found = ItemOutcome.objects.get()
    assert (found.state, found.reason) == ("unknown", "watch_timeout")
    assert found.evidence.startswith(f"24 hours after it was sent: {G} on {TOPIC} could not be read: ")


def test_nobody_is_said_to_read_nothing_while_kafka_does_not_list_its_groups(build: Build) -> None:
    world = build(2)
    world.engine.add(CONNECTOR, {"topics": "other"})
    ReplayItem.objects.update(watched="")
    overdue(world, 0)
    world.cluster.joins(G, BASE)
    world.cluster.away = {"groups"}
    world.watch(after=SECOND)
    assert (world.outcome(0), world.outcome(1)) == ("unknown(watch_timeout)", "sent")
    assert world.item().evidence.startswith(f"24 hours after it was sent: the consumer groups of {TOPIC} are unknown: ")
    world.cluster.away = set()
    world.watch(after=SLOWLY)
    assert (world.outcome(1), world.item(1).watched) == ("sent(waiting)", f"group:{G}")


def test_a_failure_is_known_whatever_else_is_not(build: Build) -> None:
    world = past(build())
    world.cluster.away = {f"connect-{CONNECTOR}"}
    world.fails(BASE)
    world.watch()
    assert world.outcome() == "failed_again"


def test_a_failure_by_its_place_waits_for_the_topic_s_id_and_holds_nobody_up(build: Build) -> None:
    world = past(build(2))
    world.engine.add("other-to-sql", {"topics": "other", "errors.deadletterqueue.topic.name": DLQ})
    ReplayItem.objects.filter(ordinal=1).update(target_topic="other", watched="other-to-sql")
    world.cluster.topics["other"], world.cluster.end_of["other"] = 1, BASE + 50
    world.cluster.report(world.item(1), "delivered", connector="other-to-sql", topic="other")
    world.cluster.away = {f"id of {TOPIC}"}
    world.fails(BASE)
    world.indexed(11)
    world.watch()
    assert (world.outcome(0), world.outcome(1)) == ("sent", "passed")
    world.cluster.away = set()
    world.watch()
    assert world.outcome(0) == "failed_again"


def test_reports_that_can_not_be_read_delay_no_foreign_group(build: Build) -> None:
    world = build(watch=[G])
    DeadLetter.objects.update(connector=G)
    ReplayItem.objects.update(watched=f"group:{G}")
    world.cluster.away = {f"partitions of {OUTCOMES}"}
    world.cluster.joins(G, BASE)
    world.watch()
    world.cluster.joins(G, BASE + 50)
    world.watch(after=SLOWLY)
    assert world.outcome() == "sent(settling)"


def test_who_reads_several_topics_is_asked_for_at_once(build: Build) -> None:
    world = build(2, watch=[G])
    other = "usgs.volcanoes"
    world.cluster.topics[other], world.cluster.end_of[other], world.cluster.begin_of[other] = 1, BASE + 100, 0
    DeadLetter.objects.update(connector="")
    ReplayItem.objects.update(watched=f"group:{G}")
    ReplayItem.objects.filter(ordinal=1).update(target_topic=other)
    DeadLetter.objects.filter(pk=world.item(1).dead_letter_id).update(origin_topic=other)
    world.cluster.joins(G, BASE)
    world.cluster.joins(G, BASE, topic=other)
    world.watch()
    assert world.cluster.listed_of == [[TOPIC, other]] * 2  # the second answer is the first one, kept
