from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from dlqadmin.deadletters.index.column_values import key_hash
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.metrics.models import TaskSnapshot
from dlqadmin.replays.models import ItemPayload, Replay, ReplayEvent, ReplayItem, WatchPosition
from dlqadmin.replays.outcomes import watcher
from dlqadmin.replays.outcomes.watcher import SLOWLY
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.replays.world import BASE, CONNECTOR, DLQ, TOPIC, Build, carrying, past

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
MINUTE = timedelta(minutes=1)


def test_a_record_waits_with_its_lag(build: Build) -> None:
    world = build()
    assert world.watch() == 1
    assert (world.outcome(), world.item().evidence) == ("sent(waiting)", "lag 100")
    world.cluster.position = BASE - 13
    world.cluster.end_of[TOPIC] = BASE + 1
    assert (world.watch(after=SLOWLY / 2), world.item().evidence) == (0, "lag 100")
    assert (world.watch(after=SLOWLY / 2), world.item().evidence) == (1, "lag 14")


def test_a_wait_that_only_grows_shorter_is_no_new_state(build: Build) -> None:
    world = build()
    world.watch()
    before = world.item().state_at
    world.cluster.position = BASE - 1
    assert world.watch(after=MINUTE) == 1
    assert world.item().state_at == before
    assert world.watch() == 0


def test_a_wait_that_began_in_the_future_of_a_clock_that_was_put_back_begins_anew(build: Build) -> None:
    world = build()
    world.watch()
    before, wrong = world.item().state_at, timedelta(hours=1)
    ReplayItem.objects.update(state_at=before + wrong)
    WatchPosition.objects.update(slow_at=before + wrong)
    world.watch(after=MINUTE)
    assert world.item().state_at == before + MINUTE


def test_a_delivered_record_passed_with_proof(build: Build) -> None:
    world = past(build())
    world.watch()
    assert world.outcome() == "passed"
    assert world.item().evidence == f"proven: {CONNECTOR} reported it delivered; the index has read {DLQ} to its end"
    assert world.item().dead_letter.replay_state == "passed"
    assert world.waits == 0


def test_a_report_before_the_commit_decides_nothing(build: Build) -> None:
    world = build()
    world.cluster.report(world.item(), "delivered")
    world.watch()
    assert world.outcome() == "sent(waiting)"


@pytest.mark.parametrize(
    ("reported", "expected"),
    [("filtered", "passed(filtered)"), ("skipped", "failed_again(skipped)"), ("dead_lettered", "failed_again")],
)
def test_each_report_has_its_outcome(build: Build, reported: str, expected: str) -> None:
    world = past(build(), reported)
    world.watch()
    assert world.outcome() == expected


@pytest.mark.parametrize("other", [{"connector": "usgs-to-file"}, {"topic": "other"}, {"partition": 1}])
def test_a_report_of_another_reader_or_partition_is_not_its_report(build: Build, other: dict[str, Any]) -> None:
    world = past(build(), "delivered", **other)
    world.watch()
    assert world.outcome() == "unknown(no_reports)"


def test_silence_between_reports_of_its_reader_and_partition_is_an_offset_that_was_moved(build: Build) -> None:
    world = past(build(), "delivered", offset=1)
    world.watch()
    assert world.outcome() == "unknown(offset_moved_by_hand)"


def test_a_reader_whose_reports_ended_before_is_not_accused(build: Build) -> None:
    world = past(build(), "delivered", offset=1, time=1)
    world.watch()
    assert (world.outcome(), world.item().evidence) == (
        "unknown(no_reports)",
        f"{CONNECTOR} committed past the record, but did not report it",
    )


def test_a_report_at_the_same_place_of_another_item_is_not_its_report(build: Build) -> None:
    world = past(build(2), None)
    world.cluster.report(world.item(1), "delivered", offset=BASE)
    world.watch()
    assert world.outcome() == "unknown(offset_moved_by_hand)"


def test_reports_that_cannot_be_read_are_not_taken_for_silence(build: Build) -> None:
    world = past(build(), None)
    del world.cluster.topics["connect-outcomes"]
    world.watch()
    assert world.outcome() == "unknown(no_reports)"


def test_the_key_that_counts_is_the_one_that_was_sent(build: Build) -> None:
    world = past(build())
    ItemPayload.objects.create(item=world.item(), key=b"new key", value=b"v", headers=b"\x90", digest="d")
    ReplayItem.objects.update(edited=True)
    DeadLetter.objects.filter(pk=world.fails(None).pk).update(key_hash=key_hash(b"key 0"))
    world.watch()
    assert world.outcome() == "passed"


def test_the_index_must_be_past_what_the_topic_held_after_the_commit(build: Build) -> None:
    world = past(build())
    world.cluster.end_of[DLQ] = 11
    world.watch()
    assert (world.outcome(), world.waits) == ("sent(indexing)", 10)
    world.indexed(11)
    world.watch()
    assert world.outcome() == "passed"


def test_an_index_that_stands_still_for_a_minute_leaves_it_unknown_until_it_moves(build: Build) -> None:
    world = past(build())
    world.cluster.end_of[DLQ] = 11
    world.watch()
    world.watch(after=MINUTE / 2)
    assert world.outcome() == "sent(indexing)"
    world.watch(after=MINUTE / 2)
    assert world.outcome() == "unknown(index_stopped)"
    world.watch(after=MINUTE)
    assert world.outcome() == "unknown(index_stopped)"
    world.indexed(11)
    world.watch(after=SLOWLY)
    assert world.outcome() == "passed"
    assert [row["reason"] for row in world.item().history] == ["index_stopped"]


@pytest.mark.parametrize("state", ["PAUSED", "STOPPED", "FAILED"])
def test_nobody_reads_while_the_connector_stands(build: Build, engine: FakeEngine, state: str) -> None:
    world = build()
    engine.add(CONNECTOR, {"topics": TOPIC, "errors.deadletterqueue.topic.name": DLQ}, state=state)
    world.watch()
    assert world.outcome() == "unknown(group_empty)"


def test_nobody_reads_when_the_connector_is_no_more_or_reads_something_else(build: Build, engine: FakeEngine) -> None:
    world = build()
    engine.add(CONNECTOR, {"topics": "other"})
    world.watch()
    assert world.item().evidence == f"{CONNECTOR} does not read {TOPIC}"
    engine.connectors.clear()
    world.watch(after=SLOWLY)
    assert world.item().evidence == f"{CONNECTOR} no longer exists, so nothing reads {TOPIC}"
    assert world.outcome() == "unknown(group_empty)"


def test_an_engine_that_is_away_leaves_records_waiting(build: Build, engine: FakeEngine, settings: Any) -> None:
    world = build()
    settings.ENGINE_URL = "http://127.0.0.1:1"
    world.watch()
    assert world.outcome() == "sent(waiting)"


def test_a_record_that_is_read_again_stays_unknown_until_there_is_an_outcome(build: Build, engine: FakeEngine) -> None:
    world = build()
    engine.add(CONNECTOR, {"topics": TOPIC, "errors.deadletterqueue.topic.name": DLQ}, state="PAUSED")
    world.watch()
    engine.add(CONNECTOR, {"topics": TOPIC, "errors.deadletterqueue.topic.name": DLQ})
    world.watch(after=SLOWLY)
    assert (world.outcome(), world.item().evidence) == (
        "unknown(group_empty)",
        ("unknown before, and waiting again: lag 100"),
    )
    past(world).watch(after=SLOWLY)
    assert world.outcome() == "passed"


def test_a_parked_task_is_in_retry(build: Build, engine: FakeEngine) -> None:
    world = build()
    until = int((world.now + MINUTE).timestamp() * 1000)
    TaskSnapshot.objects.update(status={"parked_until": until, "positions": {f"{TOPIC}-0": BASE}})
    world.watch()
    assert world.outcome() == "sent(in_retry)"
    world.watch(after=2 * MINUTE)
    assert world.outcome() == "sent(waiting)"


def test_a_failed_task_is_told_from_its_siblings(build: Build, engine: FakeEngine) -> None:
    world = build()
    engine.add(CONNECTOR, {"topics": TOPIC, "errors.deadletterqueue.topic.name": DLQ}, tasks=2)
    engine.connectors[CONNECTOR]["status"]["tasks"][1]["state"] = "FAILED"
    TaskSnapshot.objects.update(status={"positions": {f"{TOPIC}-0": BASE}})
    world.watch()
    assert world.outcome() == "sent(waiting)"
    engine.connectors[CONNECTOR]["status"]["tasks"][0]["state"] = "FAILED"
    world.watch()
    assert world.item().evidence == f"task {CONNECTOR}-0 has failed"


def test_a_record_that_nobody_is_known_to_read_has_no_group(build: Build, engine: FakeEngine) -> None:
    world = build()
    engine.add(CONNECTOR, {"topics": "other"})
    ReplayItem.objects.update(watched="")
    world.watch()
    assert world.outcome() == "unknown(no_group)"


def test_a_connector_that_runs_and_commits_nothing_is_given_a_minute(build: Build) -> None:
    world = build()
    world.cluster.position = None
    world.watch()
    assert world.outcome() == "sent(waiting)"
    world.watch(after=2 * MINUTE)
    assert world.outcome() == "unknown(no_committed_offset)"


@pytest.mark.parametrize("ids", [{TOPIC: "id-2"}, {}])
def test_a_topic_that_was_made_anew_or_deleted_is_not_the_one_it_was_sent_to(build: Build, ids: dict[str, str]) -> None:
    world = past(build())
    world.cluster.ids = ids
    world.watch()
    assert world.outcome() == "unknown(topic_recreated)"


def test_a_record_that_is_gone_was_not_read(build: Build) -> None:
    world = past(build(3), "delivered")
    world.cluster.begin_of[TOPIC] = BASE + 2
    world.cluster.compacted = {BASE + 2}
    world.watch()
    assert [world.outcome(number) for number in range(3)] == [
        "passed",
        "unknown(expired_or_compacted)",
        "unknown(expired_or_compacted)",
    ]
    assert world.watch() == 0


def test_lost_coordinates_are_kept_as_such(build: Build) -> None:
    world = past(build())
    ReplayItem.objects.update(state="unknown", reason="coordinates_lost", sent_partition=None, sent_offset=None)
    world.watch()
    assert world.outcome() == "unknown(coordinates_lost)"
    dead = world.fails(BASE + 7, headers=carrying(world.item()))
    world.watch()
    assert (world.outcome(), world.item().refailure) == ("failed_again", dead)


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        ({}, "passed"),
        ({"connector": "usgs-to-file"}, "unknown(coordinates_lost)"),
        ({"partition": 1}, "unknown(coordinates_lost)"),
    ],
)
def test_lost_coordinates_are_found_in_the_report_of_its_reader(
    build: Build, more: dict[str, Any], expected: str
) -> None:
    world = past(build(), "delivered", **more)
    lost = {"state": "unknown", "reason": "coordinates_lost", "target_partition": 0}
    ReplayItem.objects.update(**lost, sent_partition=None, sent_offset=None)
    world.watch()
    world.watch(after=SLOWLY)
    assert world.outcome() == expected


def test_lost_coordinates_with_reports_of_two_places_stay_lost(build: Build) -> None:
    world = past(build())
    world.cluster.report(world.item(), "delivered", offset=BASE + 1)
    ReplayItem.objects.update(state="unknown", reason="coordinates_lost", sent_partition=None, sent_offset=None)
    world.watch()
    world.watch(after=SLOWLY)
    assert world.outcome() == "unknown(coordinates_lost)"


def test_nothing_is_waited_for_longer_than_a_day(build: Build) -> None:
    world = build()
    world.watch(after=timedelta(hours=25))
    assert (world.outcome(), world.item().evidence) == (
        "unknown(watch_timeout)",
        "24 hours after it was sent: lag 100",
    )


def test_a_replay_is_done_when_nothing_is_awaited(build: Build) -> None:
    world = build(2)
    world.cluster.position = BASE + 1
    world.cluster.report(world.item(), "delivered")
    world.watch()
    assert Replay.objects.get().status == "watching"
    world.cluster.position = BASE + 2
    world.cluster.report(world.item(1), "skipped")
    world.watch()
    replay = Replay.objects.get()
    assert (replay.status, replay.done_at) == ("done", world.now)
    assert ReplayEvent.objects.get(kind="done").text == "all outcomes are known: 1 passed, 1 failed again"


@pytest.mark.parametrize("status", ["running", "paused", "cancelled"])
def test_records_are_watched_while_others_are_still_sent(build: Build, status: str) -> None:
    world = past(build(status=status))
    world.watch()
    assert (world.outcome(), Replay.objects.get().status) == ("passed", status)


@pytest.mark.slow
def test_many_records_are_decided_with_few_questions(build: Build, django_assert_max_num_queries: Any) -> None:
    world = build(300)
    world.cluster.position = BASE + 300
    for item in ReplayItem.objects.select_related("replay"):
        world.cluster.report(item, "delivered")
    with django_assert_max_num_queries(85):
        assert world.watch() == 300


def test_an_index_that_is_always_behind_a_busy_topic_proves_by_earlier_ends(build: Build) -> None:
    world = past(build())
    for expected in ("sent(indexing)", "sent(indexing)", "passed"):
        world.cluster.end_of[DLQ] += 5
        world.indexed(world.cluster.end_of[DLQ] - 2)
        world.watch(after=timedelta(seconds=1))
        assert world.outcome() == expected


@pytest.mark.slow
def test_an_index_that_has_much_to_read_has_not_stopped(build: Build) -> None:
    world = past(build())
    world.cluster.end_of[DLQ] = 100_000
    for position in range(10, 20):
        world.now += MINUTE
        world.indexed(position)
        world.watch()
    assert world.outcome() == "sent(indexing)"


def test_a_position_behind_the_end_is_of_an_older_topic_and_proves_nothing(build: Build) -> None:
    world = past(build())
    world.indexed(500)
    world.cluster.end_of[DLQ] = 30
    world.watch()
    assert world.outcome() == "sent(indexing)"


def test_an_index_that_read_more_while_the_watcher_looked_is_complete(build: Build) -> None:
    world = past(build())
    world.cluster.end_of[DLQ] = 12
    world.waiting = lambda: world.indexed(13)
    world.watch()
    assert world.outcome() == "passed"


def test_many_that_wait_for_a_slow_reader_keep_nobody_else_waiting(
    build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watcher, "MOST_ITEMS", 3)
    world = past(build(4), None)
    world.engine.add("slow", {"topics": "slow"})
    ReplayItem.objects.filter(ordinal__lt=3).update(
        target_topic="slow", watched="slow", sent_at=world.now - timedelta(hours=1)
    )
    world.cluster.end_of["slow"], world.cluster.position_of["connect-slow"] = 5000, 1
    world.cluster.report(world.item(3), "delivered")
    world.watch()
    assert world.outcome(3) == "passed"


@pytest.mark.parametrize("away", ["other", "connect-other-to-sql", "records of other"])
def test_a_part_of_kafka_that_does_not_answer_delays_only_what_needs_it(build: Build, away: str) -> None:
    world = past(build(2))
    world.engine.add("other-to-sql", {"topics": "other"})
    ReplayItem.objects.filter(ordinal=1).update(target_topic="other", watched="other-to-sql")
    world.cluster.end_of["other"] = BASE + 50
    world.cluster.away = {away}
    world.watch()
    assert [world.outcome(number) for number in range(2)] == ["passed", "sent"]
    world.cluster.away = set()
    world.watch()
    assert world.outcome(1) == "unknown(no_reports)"


def test_what_is_unknown_is_looked_at_every_fifteen_seconds(build: Build) -> None:
    world = past(build(), None)
    world.watch()
    world.cluster.report(world.item(), "delivered")
    world.watch(after=SLOWLY / 2)
    assert world.outcome() == "unknown(no_reports)"
    world.watch(after=SLOWLY / 2)
    assert world.outcome() == "passed"
