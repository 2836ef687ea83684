"""Deciding once for many says what deciding one by one says."""

from __future__ import annotations

from copy import copy
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dlqadmin.deadletters.index.column_values import key_hash
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.models import ItemCount, OutcomeReport, ReplayItem
from dlqadmin.replays.outcomes import bulk_settlement
from dlqadmin.replays.outcomes.evidence_collection import reports_of
from dlqadmin.replays.outcomes.watcher import SLOWLY
from tests.dlqadmin.deadletters.letters import index, letter
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.replays.world import BASE, CONNECTOR, DLQ, TOPIC, Build, World, carrying

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
MINUTE = timedelta(minutes=1)
MANY = 1001


@pytest.fixture(params=[0, 500], ids=["together", "one by one"])
def few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_settlement, "FEW", request.param)


@pytest.fixture
def nobody_looks_at_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_settlement, "FEW", 0)
    monkeypatch.setattr("dlqadmin.replays.outcomes.watcher.pick", lambda there, seen, slow: [])


def reported(world: World, *words: str) -> World:
    world.cluster.position = BASE + 50
    for ordinal, word in enumerate(words):
        world.cluster.report(world.item(ordinal), word)
    return world


def outcomes(world: World) -> list[str]:
    return [world.outcome(number) for number in range(ReplayItem.objects.count())]


@pytest.mark.usefixtures("few")
def test_each_word_has_its_outcome_among_many(build: Build) -> None:
    world = reported(build(6), "delivered", "filtered", "skipped", "dead_lettered", "delivered")
    dead = world.fails(BASE + 3, headers=carrying(world.item(3)))
    world.indexed(11)
    world.watch()
    assert outcomes(world) == [
        "passed",
        "passed(filtered)",
        "failed_again(skipped)",
        "failed_again",
        "passed",
        "unknown(offset_moved_by_hand)",
    ]
    assert world.item(3).refailure == dead
    assert world.item(4).evidence == f"proven: {CONNECTOR} reported it delivered; the index has read {DLQ} to its end"
    assert world.item(4).dead_letter.replay_state == "passed"
    assert sum(ItemCount.objects.filter(state="passed").values_list("n", flat=True)) == 3


@pytest.mark.usefixtures("few")
def test_letters_that_name_one_by_place_by_item_or_by_key_keep_it_out(build: Build) -> None:
    world = reported(build(5), *["delivered"] * 5)
    world.fails(BASE)
    world.fails(None, headers=carrying(world.item(1)))
    world.fails(3, headers=carrying(world.item(2)), topic="copy")
    DeadLetter.objects.filter(pk=world.fails(None).pk).update(key_hash=key_hash(b"key 3"))
    world.indexed(14)
    world.watch()
    assert outcomes(world) == ["failed_again", "failed_again", "passed", "unknown(possible_match)", "passed"]
    assert "failed downstream" in world.item(2).evidence


@pytest.mark.usefixtures("nobody_looks_at_one")
def test_delivered_records_pass_without_a_look_at_one(build: Build) -> None:
    world = reported(build(3), *["delivered"] * 3)
    world.watch()
    assert outcomes(world) == ["passed"] * 3


@pytest.mark.usefixtures("nobody_looks_at_one")
def test_slice_by_slice_each_is_decided_once(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_settlement, "SLICE", 2)
    world = reported(build(5), "delivered", "filtered", "delivered", "delivered", "filtered")
    world.fails(BASE + 2)
    world.indexed(11)
    assert world.watch() == 5
    assert outcomes(world) == ["passed", "passed(filtered)", "failed_again", "passed", "passed(filtered)"]


@pytest.mark.usefixtures("nobody_looks_at_one")
def test_they_wait_for_the_index_together_and_are_given_up_together(build: Build) -> None:
    world = reported(build(2), *["delivered"] * 2)
    world.cluster.end_of[DLQ] = 11
    world.watch()
    assert outcomes(world) == ["sent(indexing)"] * 2
    world.watch(after=MINUTE)
    assert outcomes(world) == ["unknown(index_stopped)"] * 2
    world.indexed(11)
    world.watch(after=SLOWLY)
    assert outcomes(world) == ["passed"] * 2
    assert [row["reason"] for row in world.item().history] == ["index_stopped"]


@pytest.mark.usefixtures("nobody_looks_at_one")
@pytest.mark.parametrize(
    ("trouble", "expected"),
    [
        ("paused", "group_empty"),
        ("expired", "expired_or_compacted"),
        ("old", "watch_timeout"),
        ("new", "no_committed_offset"),
    ],
)
def test_what_nobody_reads_is_given_up_together(build: Build, engine: FakeEngine, trouble: str, expected: str) -> None:
    world = build(2)
    after = timedelta(0)
    if trouble == "paused":
        engine.add(CONNECTOR, {"topics": TOPIC, "errors.deadletterqueue.topic.name": DLQ}, state="PAUSED")
    elif trouble == "expired":
        world.cluster.begin_of[TOPIC] = BASE + 2
    elif trouble == "old":
        after = timedelta(hours=25)
    else:
        world.cluster.position, after = None, 2 * MINUTE
    world.watch(after=after)
    assert outcomes(world) == [f"unknown({expected})"] * 2


@pytest.mark.usefixtures("nobody_looks_at_one")
def test_what_waits_is_left_alone(build: Build) -> None:
    world = build(3)
    assert world.watch() == 0
    assert outcomes(world) == ["sent"] * 3


@pytest.mark.usefixtures("few")
def test_a_topic_that_was_made_anew_is_told_for_all(build: Build) -> None:
    world = reported(build(2), *["delivered"] * 2)
    world.cluster.ids = {TOPIC: "id-2"}
    world.watch()
    assert outcomes(world) == ["unknown(topic_recreated)"] * 2


@pytest.mark.slow
@pytest.mark.usefixtures("nobody_looks_at_one")
def test_questions_do_not_grow_with_the_records(build: Build, django_assert_max_num_queries: Any) -> None:
    world = reported(build(200), *["delivered"] * 200)
    world.cluster.position = BASE + 200
    with django_assert_max_num_queries(80):
        assert world.watch() == 200


@pytest.mark.usefixtures("nobody_looks_at_one")
def test_records_far_apart_are_looked_up_by_their_places_and_what_lies_between_is_not(build: Build) -> None:
    world = build(3)
    for item in ReplayItem.objects.all():
        ReplayItem.objects.filter(pk=item.pk).update(sent_offset=BASE + 1000 * item.ordinal)
    reported(world, *["delivered"] * 3)
    world.cluster.end_of[TOPIC] = world.cluster.position = BASE + 3000
    world.fails(BASE + 1000)
    world.fails(BASE + 500)
    world.indexed(12)
    with CaptureQueriesContext(connection) as captured:
        world.watch()
    assert outcomes(world) == ["passed", "failed_again", "passed"]
    asked = [query["sql"] for query in captured if 'outcomereport"."outcome" IN' in query["sql"]]
    assert asked
    assert not [sql for sql in asked if '"offset" >=' in sql]


@pytest.mark.usefixtures("nobody_looks_at_one")
@pytest.mark.parametrize(("most", "expected"), [(2, "passed"), (1, "sent")])
def test_where_too_many_letters_name_no_origin_each_record_is_looked_at_by_itself(
    build: Build, monkeypatch: pytest.MonkeyPatch, most: int, expected: str
) -> None:
    monkeypatch.setattr(bulk_settlement, "MOST_LETTERS", most)
    world = reported(build(2), *["delivered"] * 2)
    for _ in range(2):
        world.fails(None)
    world.indexed(12)
    world.watch()
    assert outcomes(world) == [expected] * 2


def test_of_many_letters_with_its_key_the_newest_is_named(build: Build) -> None:
    world = reported(build(2), *["delivered"] * 2)
    rows = [world.fails(None) for _ in range(3)]
    for row, minutes in zip(rows, (1, 3, 2), strict=True):
        at = world.now + minutes * MINUTE
        DeadLetter.objects.filter(pk=row.pk).update(key_hash=key_hash(b"key 1"), failed_at=at)
    world.indexed(13)
    world.watch()
    assert outcomes(world) == ["passed", "unknown(possible_match)"]
    assert f"but {rows[1]} has the same key" in world.item(1).evidence


def test_what_others_report_of_copies_of_a_record_is_not_read(build: Build) -> None:
    world = reported(build(), "delivered")
    world.watch()
    own = OutcomeReport.objects.get()
    for connector, topic in (("other", TOPIC), (CONNECTOR, "copies")):
        OutcomeReport.objects.create(
            token=own.token, attempt=1, connector=connector, topic=topic, partition=0, offset=1, outcome="delivered",
            at=own.at,
        )  # fmt: skip
    assert list(reports_of([world.item()])) == [own]


@pytest.mark.slow
def test_more_than_a_thousand_that_cannot_be_decided_together_have_their_outcomes(build: Build) -> None:
    world = build()
    index([letter(number) for number in range(1, MANY)])
    first = world.item()
    rows = [copy(first) for _ in range(1, MANY)]
    for row, dead in zip(rows, DeadLetter.objects.exclude(pk=first.dead_letter_id), strict=True):
        row.pk, row.dead_letter, row.ordinal, row.sent_offset = None, dead, dead.offset, BASE + dead.offset
    ReplayItem.objects.bulk_create(rows)
    world.cluster.position = BASE + MANY
    for item in ReplayItem.objects.select_related("replay"):
        world.cluster.report(item, "skipped")
    world.watch()
    assert ReplayItem.objects.filter(state="failed_again", reason="skipped").count() == MANY
