"""Dead letters that are, or look like, a replayed record's failure: at once, late, and elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from importlib import import_module
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from dlqadmin.deadletters.index.column_values import key_hash
from dlqadmin.deadletters.models import DeadLetter, DeadLetterBody, Group, GroupActivity, ReplayMark
from dlqadmin.metrics import open_work
from dlqadmin.replays.items import item_states
from dlqadmin.replays.models import ItemState, Replay, ReplayEvent, ReplayItem, WatchPosition
from dlqadmin.replays.outcomes import watcher
from dlqadmin.replays.plans import lineage
from engine.record.record import Headers
from engine.record.replay import ATTEMPT, ITEM
from tests.dlqadmin.deadletters.letters import index, plain
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.replays.world import BASE, CONNECTOR, DLQ, TOPIC, Build, carrying, past
from tests.engine.dialects.foreign_letters import int4, int8, spring_exception

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
MINUTE = timedelta(minutes=1)


def test_a_dead_letter_of_exactly_the_record_is_its_failure_and_is_linked(build: Build) -> None:
    world = past(build(2), "dead_lettered")
    dead = world.fails(BASE, headers=carrying(world.item()))
    world.watch()
    item = world.item()
    assert (world.outcome(), item.refailure) == ("failed_again", dead)
    assert item.dead_letter.replay_state == "failed_again"
    assert world.outcome(1) == "unknown(offset_moved_by_hand)"
    entry = GroupActivity.objects.get(kind="failed_again")
    assert (entry.text, entry.group) == (f"failed again in {world.replay}", item.dead_letter.fingerprint.group)


def test_a_dead_letter_without_headers_is_known_by_its_place(build: Build) -> None:
    world = past(build(), "dead_lettered")
    dead = world.fails(BASE)
    world.watch()
    assert world.item().refailure == dead


def test_a_dead_letter_from_before_the_topic_was_made_anew_is_not_its_failure(build: Build) -> None:
    world = past(build())
    world.now -= timedelta(hours=1)
    world.fails(BASE)
    world.now += timedelta(hours=1)
    world.watch()
    assert world.outcome() == "passed"


def test_a_dead_letter_at_its_place_that_carries_another_item_is_not_its_failure(build: Build) -> None:
    world = past(build(2))
    world.fails(BASE, headers=carrying(world.item(1)))
    world.watch()
    assert world.outcome() == "passed"


def test_a_dead_letter_without_origin_is_known_by_item_and_attempt(build: Build) -> None:
    world = build(2)
    other = world.fails(None, headers=carrying(world.item(1), attempt=7))
    dead = world.fails(None, headers=carrying(world.item()))
    world.watch()
    assert (world.outcome(), world.item().refailure) == ("failed_again", dead)
    assert (world.outcome(1), other.replay_attempt) == ("sent(waiting)", 7)


def test_a_record_that_failed_downstream_passed_here(build: Build) -> None:
    world = past(build())
    dead = world.fails(3, headers=carrying(world.item()), topic="quakes.copy")
    world.watch()
    assert (world.outcome(), world.item().refailure) == ("passed", dead)
    assert world.item().evidence.endswith(f"failed downstream: {dead}")
    assert not GroupActivity.objects.filter(kind="failed_again").exists()


def test_a_dead_letter_with_its_key_and_no_origin_forbids_passed(build: Build) -> None:
    world = past(build())
    DeadLetter.objects.filter(pk=world.fails(None).pk).update(key_hash=key_hash(b"key 0"))
    world.watch()
    assert world.outcome() == "unknown(possible_match)"


@pytest.mark.parametrize(
    ("config", "topics"), [({"errors.deadletterqueue.topic.name": "quakes-rejected"}, {"quakes-rejected": 1}), ({}, {})]
)
def test_dead_letters_that_are_not_indexed_prove_nothing(
    build: Build, engine: FakeEngine, config: dict[str, str], topics: dict[str, int]
) -> None:
    world = past(build())
    world.cluster.topics |= topics
    elsewhere = {} if config else {"errors.deadletterqueue.producer.bootstrap.servers": "far:9092"}
    engine.add(CONNECTOR, {"topics": TOPIC, "errors.deadletterqueue.topic.name": DLQ} | config | elsewhere)
    world.watch()
    assert world.outcome() == "unknown(no_dead_letter_path)"


def test_a_late_dead_letter_turns_passed_round_with_its_history(build: Build) -> None:
    world = past(build())
    world.watch()
    assert Replay.objects.get().status == "done"
    Group.objects.update(status="resolved", resolved_at=world.now)
    world.now += 10 * MINUTE
    dead = world.fails(BASE, headers=carrying(world.item()), message="NOT NULL constraint failed: earthquakes.gap")
    assert world.watch() == 1
    item = world.item()
    assert (world.outcome(), item.refailure, item.dead_letter.replay_state) == ("failed_again", dead, "failed_again")
    (earlier,) = item.history
    assert (earlier["state"], earlier["evidence"][:7]) == ("passed", "proven:")
    assert Replay.objects.get().status == "done"
    assert ReplayEvent.objects.get(kind="turned").text == "1 record changed from passed to failed again"
    assert dead.fingerprint.group.status == "open"


def test_a_late_dead_letter_is_found_though_its_row_appears_behind_newer_ones(build: Build) -> None:
    world = past(build())
    world.watch()
    dead = world.fails(BASE, headers=carrying(world.item()))
    hidden = DeadLetter.objects.filter(pk=dead.pk)
    hidden.update(cluster="hidden")
    world.fails(5)
    world.watch()
    hidden.update(cluster="local")
    world.watch(after=MINUTE / 2)
    assert world.outcome() == "failed_again"


def test_the_search_for_late_dead_letters_moves_on_after_a_minute(build: Build) -> None:
    world = build()
    world.watch()
    assert WatchPosition.objects.get().dead_letter < DeadLetter.objects.earliest("pk").pk
    world.watch(after=2 * MINUTE)
    assert WatchPosition.objects.get().dead_letter == DeadLetter.objects.latest("pk").pk


def test_a_failure_that_was_only_reported_is_linked_once_its_dead_letter_is_indexed(build: Build) -> None:
    world = past(build(), "dead_lettered")
    world.watch()
    assert (world.outcome(), world.item().refailure) == ("failed_again", None)
    dead = world.fails(BASE, headers=carrying(world.item()))
    world.watch()
    assert world.item().refailure == dead
    assert world.item().history == []


def test_a_record_that_failed_again_is_open_work_once_as_its_newer_dead_letter(build: Build) -> None:
    world = past(build(), "dead_lettered")
    world.watch()
    assert (work(world.item()), open_now()) == ("open", 1)  # no dead letter of the failure is known
    dead = world.fails(BASE, headers=carrying(world.item()))
    world.watch()
    assert (work(world.item()), dead.work_state, open_now()) == ("set_aside", "open", 1)
    ReplayItem.objects.create(
        replay=world.replay, ordinal=1, dead_letter=dead, lineage=world.item().lineage, target_topic=TOPIC,
        state="sent", state_at=world.now, sent_at=world.now,
    )  # fmt: skip
    item_states.move([ReplayItem.objects.get(ordinal=1)], ItemState.SENT, ItemState.PASSED, world.now)
    assert open_now() == 0
    found = open_work.summary(world.now)
    assert (found.passed, found.set_aside) == (1, 1)


def test_the_migration_finds_records_that_a_newer_dead_letter_replaced(build: Build) -> None:
    world = past(build(2), "dead_lettered")
    world.fails(BASE, headers=carrying(world.item()))
    world.watch()
    item_states.move([world.item(1)], ItemState.UNKNOWN, ItemState.FAILED_AGAIN, world.now)
    ReplayMark.objects.update(state="failed_again")
    assert (work(world.item()), work(world.item(1))) == ("open", "open")
    migration = import_module("dlqadmin.deadletters.migrations.0014_work_changes")
    with connection.cursor() as cursor:
        cursor.execute(migration.REPLACED)
    assert (work(world.item()), work(world.item(1))) == ("set_aside", "open")


def work(item: ReplayItem) -> str:
    return DeadLetter.objects.select_related("mark").get(pk=item.dead_letter_id).work_state


def open_now() -> int:
    return open_work.summary(timezone.now()).open


@pytest.mark.parametrize("spell", [str.upper, lambda token: token.replace("-", "", 1), lambda token: token + " "])
def test_a_token_that_is_not_ours_to_the_letter_stops_nothing(build: Build, spell: Callable[[str], str]) -> None:
    world = past(build())
    world.fails(3, headers=((ITEM, spell(world.item().token).encode()), (ATTEMPT, b"1")), topic="other")
    world.watch()
    assert world.outcome() == "passed"


def test_a_dead_letter_that_another_connector_wrote_of_it_is_linked_and_not_counted(build: Build) -> None:
    world = past(build())
    dead = world.fails(BASE, headers=carrying(world.item()), connector="usgs-to-file")
    world.watch()
    assert (world.outcome(), world.item().refailure) == ("passed", dead)
    world.watch(after=MINUTE)
    assert world.outcome() == "passed"


def test_a_record_that_failed_again_at_two_hops_of_spring_failed_in_the_group_of_the_first(
    build: Build, engine: FakeEngine
) -> None:
    world = build(watch=["orders"])
    engine.connectors.clear()
    ReplayItem.objects.update(watched="group:orders")
    world.cluster.joins("orders", BASE + 50)
    hops = [spring_hop(TOPIC, BASE, "orders"), spring_hop(f"{TOPIC}-dlt", 3, "orders-dlt")]
    added = [header for hop in hops for header in hop]
    index([plain(0, b"v", headers=(*carrying(world.item()), *added, *spring_exception()))], world.now)
    world.watch()
    assert (world.outcome(), world.item().refailure) == ("failed_again", DeadLetter.objects.latest("pk"))


def spring_hop(topic: str, offset: int, group: str) -> Headers:
    """The headers that Spring's recoverer appends when this group failed at this record."""
    return (
        ("kafka_dlt-original-topic", topic.encode()),
        ("kafka_dlt-original-partition", int4(0)),
        ("kafka_dlt-original-offset", int8(offset)),
        ("kafka_dlt-original-consumer-group", group.encode()),
    )


def test_dead_letters_of_what_a_stream_job_made_of_it_keep_their_own_lineages(build: Build) -> None:
    world = build()
    copies = [world.fails(n, headers=carrying(world.item()), topic="copy") for n in (3, 4)]
    assert lineage.roots(copies) == {copies[0].pk: "copy/0/3", copies[1].pk: "copy/0/4"}


def test_the_failure_of_a_record_whose_place_was_lost_is_of_its_lineage(build: Build) -> None:
    world = build()
    ReplayItem.objects.update(sent_partition=None, sent_offset=None)
    dead = world.fails(BASE + 7, headers=carrying(world.item()))
    assert lineage.roots([dead]) == {dead.pk: world.item().lineage}


def test_a_dead_letter_at_the_same_place_on_another_cluster_is_of_another_record(build: Build) -> None:
    world = build(target_cluster="dr")
    dead = world.fails(BASE)
    assert lineage.roots([dead]) == {dead.pk: f"{TOPIC}/0/{BASE}"}
    assert lineage.roots([dead])[dead.pk] != world.item().lineage


@pytest.mark.parametrize("settled", [True, False])
def test_a_dead_letter_at_its_place_in_a_topic_made_anew_is_not_its_failure(build: Build, settled: bool) -> None:
    world = past(build())
    if settled:
        world.watch()
    world.cluster.ids = {TOPIC: "id-2"}
    world.fails(BASE)
    world.watch(after=MINUTE)
    assert world.outcome() == ("passed" if settled else "unknown(topic_recreated)")


def test_a_late_dead_letter_without_headers_turns_passed_round(build: Build) -> None:
    world = past(build())
    world.watch()
    dead = world.fails(BASE)
    world.watch(after=MINUTE)
    assert (world.outcome(), world.item().refailure) == ("failed_again", dead)


def test_a_late_dead_letter_is_found_again_when_its_verdict_could_not_be_stored(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = past(build())
    world.watch()
    world.fails(BASE, headers=carrying(world.item()))

    def locked(*_: Any) -> int:
        raise OperationalError("database is locked")

    with monkeypatch.context() as patch:
        patch.setattr(watcher, "settle", locked)
        with pytest.raises(OperationalError):
            world.watch(after=2 * MINUTE)
    world.watch()
    assert world.outcome() == "failed_again"


def test_a_late_dead_letter_is_found_though_only_newer_ones_were_visible(build: Build) -> None:
    world = past(build())
    world.watch(after=2 * MINUTE)
    dead = world.fails(BASE, headers=carrying(world.item()))
    hidden = DeadLetter.objects.filter(pk=dead.pk)
    row = hidden.values().get()
    DeadLetterBody.objects.filter(dead_letter=dead).delete()
    hidden.delete()
    world.fails(5)
    world.watch()
    DeadLetter.objects.create(**row)
    world.watch(after=MINUTE / 2)
    assert world.outcome() == "failed_again"


def test_a_dead_letter_topic_of_the_same_name_on_another_cluster_lends_no_proof(build: Build) -> None:
    world = past(build())
    far = {"errors.deadletterqueue.producer.bootstrap.servers": "far:9092"}
    world.engine.add("another", {"topics": "other", "errors.deadletterqueue.topic.name": DLQ})
    world.engine.add(CONNECTOR, {"topics": TOPIC, "errors.deadletterqueue.topic.name": DLQ, **far})
    ReplayItem.objects.filter(pk=world.add(1).pk).update(watched="another")
    world.watch()
    assert (world.outcome(), world.item().evidence) == (
        "unknown(no_dead_letter_path)",
        f"dead letters go to {DLQ} on another cluster",
    )
