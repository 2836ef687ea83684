"""Newer records of the same key: found in the origin topic, as far as it was looked."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.models import ItemState, ReplayItem
from dlqadmin.replays.plans import newer_records
from dlqadmin.replays.plans.newer_records import SearchLimits
from engine.record.replay import ITEM
from tests.dlqadmin.deadletters.letters import index, index_one, letter
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.replays.clusters import FakeCluster
from tests.dlqadmin.replays.plans.making import check, levels, plan, reasons, sent

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
TOPIC, BASE = "usgs.earthquakes", 48_000  # where a letter's record came from
FOUND = "Newer records of the same key"


@pytest.fixture(autouse=True)
def engine_is_there(engine: FakeEngine) -> None:
    engine.add("usgs-to-sql", {"topics": TOPIC, "errors.deadletterqueue.topic.name": "usgs.earthquakes.dlq"})


@pytest.fixture
def kafka() -> FakeCluster:
    """The records that failed, at offsets 1 to 3 behind BASE, and one of the second one's key behind them."""
    index([letter(number, key=b"key %d" % number) for number in (1, 2, 3)])
    made = FakeCluster()
    for number in (1, 2, 3):
        made.put(TOPIC, 0, BASE + number, b"key %d" % number)
    made.put(TOPIC, 0, BASE + 9, b"key 2")
    return made


@pytest.mark.parametrize(
    ("order", "left_out", "said"),
    [
        ("skip", ["", "newer_exists", ""], "left out"),
        ("last", ["", "newer_exists", ""], "left out"),
        ("anyway", ["", "", ""], "1 sent anyway"),
    ],
)
def test_a_record_whose_key_has_a_newer_one_is_left_out_unless_it_is_wanted_anyway(
    operator: User, kafka: FakeCluster, order: str, left_out: list[str], said: str
) -> None:
    replay = plan(operator, kafka, order=order)
    assert (reasons(replay), levels(replay)[FOUND], replay.plan["newer"]) == (left_out, "warn", 1)
    text = f"1 of 3 has a newer record of its key in the origin topic: {said}; searched all 8 records after them."
    assert check(replay, FOUND) == text


def test_where_the_newer_record_is_is_said(operator: User, kafka: FakeCluster) -> None:
    item = plan(operator, kafka).items.get(reason="newer_exists")
    assert item.evidence == f"{TOPIC} / 0 / {BASE + 9} has the same key and is newer"


def test_a_newer_record_that_failed_as_well_is_no_newer_one(operator: User, kafka: FakeCluster) -> None:
    index([letter(9, key=b"key 2")])
    replay = plan(operator, kafka)
    assert (reasons(replay), levels(replay)["Order per key"]) == ([""] * 4, "ok")


def test_of_several_failed_records_of_a_key_only_the_last_is_sent_when_that_is_wanted(operator: User) -> None:
    index([letter(number, key=b"same") for number in (1, 2, 3)])
    DeadLetter.objects.filter(offset=3).update(origin_offset=BASE)  # failed last, and was written first
    replay = plan(operator, order="last")
    assert reasons(replay) == ["superseded", "", "superseded"]
    assert replay.items.get(ordinal=0).evidence == "usgs.earthquakes.dlq / 0 / 2 has the same key and is newer"
    assert (replay.plan["to_send"], reasons(plan(operator))) == (1, ["", "", ""])
    assert "2 records left out: another record of this selection has the same key" in check(replay, "Order per key")


def test_records_without_a_key_have_no_order(operator: User) -> None:
    index([letter(number, key=None) for number in (1, 2)])
    kafka = FakeCluster()
    kafka.put(TOPIC, 0, BASE + 5, None)
    assert reasons(plan(operator, kafka, order="last")) == ["", ""]


def test_the_record_itself_sent_again_is_no_newer_one_but_another_s_is(operator: User, kafka: FakeCluster) -> None:
    replay = plan(operator, kafka, order="anyway")
    one, other = replay.items.get(ordinal=0), replay.items.get(ordinal=2)
    ReplayItem.objects.filter(pk__in=(one.pk, other.pk)).update(state=ItemState.FAILED_AGAIN)
    kafka.put(TOPIC, 0, BASE + 20, b"key 1", ((ITEM, one.token.encode()),))
    kafka.put(TOPIC, 0, BASE + 21, b"key 3", ((ITEM, one.token.encode()),))
    assert reasons(plan(operator, kafka)) == ["", "newer_exists", "newer_exists"]


def test_a_dead_letter_of_a_record_that_was_sent_again_is_as_old_as_it_was_at_first(operator: User) -> None:
    index_one(letter(1, key=b"key 1"))
    item = sent(plan(operator), ItemState.FAILED_AGAIN)
    ReplayItem.objects.filter(pk=item.pk).update(sent_partition=0, sent_offset=BASE + 50)
    index_one(letter(50, key=b"key 1"))
    kafka = FakeCluster()
    kafka.put(TOPIC, 0, BASE + 20, b"key 1")
    kafka.put(TOPIC, 0, BASE + 50, b"key 1", ((ITEM, item.token.encode()),))
    kafka.end_of[TOPIC, 0] = BASE + 60
    assert reasons(plan(operator, kafka)) == ["newer_exists", "newer_exists"]


def test_of_more_than_can_be_looked_through_the_newest_are_and_it_is_said(db: None) -> None:
    kafka = FakeCluster()
    for number in range(100):
        kafka.put(TOPIC, 0, number, b"k%d" % number)
        kafka.put(TOPIC, 1, number, b"k%d" % number)
    behind = newer_records.look({(TOPIC, 0): 9, (TOPIC, 1): 89, (TOPIC, 2): 0}, kafka, SearchLimits(records=40))
    assert (behind.looked, behind.there, kafka.read) == (20 + 10, 90 + 10, 20 + 10)
    assert (len(behind.plain[TOPIC, 0]), max(behind.plain[TOPIC, 0].values())) == (20, 99)


def test_a_look_that_did_not_go_all_the_way_is_no_clean_bill(operator: User, kafka: FakeCluster) -> None:
    kafka.records[TOPIC, 0].pop()
    assert levels(plan(operator, kafka))["Order per key"] == "ok"
    kafka.end_of[TOPIC, 0] = BASE + 50_000
    replay = plan(operator, kafka)
    assert levels(replay)["Order per key"] == "warn"
    said = "The origin topic has no newer record of the same keys; searched 20,000 of the 49,998 records after"
    assert check(replay, "Order per key") == f"{said} them."


def test_what_is_left_out_anyway_is_not_counted_as_sent_anyway(operator: User, kafka: FakeCluster) -> None:
    second = DeadLetter.objects.get(origin_offset=BASE + 2)
    DeadLetter.objects.filter(pk=second.pk).update(original="expired")
    replay = plan(operator, kafka, order="anyway")
    assert check(replay, FOUND).startswith("1 of 3 has a newer record of its key in the origin topic: 0 sent anyway;")


def test_when_the_time_is_over_what_was_read_counts(db: None) -> None:
    kafka = FakeCluster()
    for number in range(10):
        kafka.put(TOPIC, 0, number, b"k")
        kafka.put(TOPIC, 1, number, b"k")
    ticks = iter(range(0, 1000, 2))
    behind = newer_records.look(
        {(TOPIC, 0): 0, (TOPIC, 1): 0}, kafka, SearchLimits(seconds=5.0), lambda: float(next(ticks))
    )
    assert behind.looked < behind.there == 18


def test_topics_that_cannot_be_read_are_named(operator: User, kafka: FakeCluster) -> None:
    kafka.away = {"records"}
    replay = plan(operator, kafka)
    assert (levels(replay)["Order per key unknown"], replay.plan["runnable"]) == ("warn", True)
    assert check(replay, "Order per key unknown") == "The origin topics could not be read: no leader."


def test_another_target_has_no_order_to_keep(operator: User, kafka: FakeCluster) -> None:
    kafka.topics["elsewhere"] = 1
    replay = plan(operator, kafka, target_topic="elsewhere")
    assert (reasons(replay), kafka.read) == (["", "", ""], 0)
    assert check(replay, "Order per key").startswith("Not checked")
