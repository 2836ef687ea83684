from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from dlqadmin.deadletters.models import DeadLetter, Group, GroupActivity
from dlqadmin.deadletters.preparing import key_hash
from dlqadmin.metrics.models import TaskSnapshot
from dlqadmin.replays.models import ItemPayload, Replay, ReplayEvent, ReplayItem, WatchPosition
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.replays.world import BASE, CONNECTOR, DLQ, TOPIC, World, carrying

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)
Build = Callable[..., World]


@pytest.fixture
def build(engine: FakeEngine) -> Build:
    return lambda items=1, **replay: World(engine, items, **replay)


def past(world: World, outcome: str | None = "delivered", **report: Any) -> World:
    """The connector has committed past all items, and reported the first."""
    world.cluster.position = BASE + 50
    if outcome:
        world.cluster.report(world.item(), outcome, **report)
    return world


def test_a_record_waits_with_its_lag(build: Build) -> None:
    world = build()
    assert world.watch() == 1
    assert (world.outcome(), world.item().evidence) == ("sent(waiting)", "lag 100")
    world.cluster.position = BASE - 13
    world.cluster.end_of[TOPIC] = BASE + 1
    world.watch()
    assert world.item().evidence == "lag 14"


def test_a_wait_that_only_grows_shorter_is_no_new_state(build: Build) -> None:
    world = build()
    world.watch()
    before = world.item().state_at
    world.cluster.position = BASE - 1
    assert world.watch(after=MINUTE) == 1
    assert world.item().state_at == before
    assert world.watch() == 0


def test_a_delivered_record_passed_with_proof(build: Build) -> None:
    world = past(build())
    world.watch()
    assert world.outcome() == "passed"
    assert world.item().evidence == f"proven: {CONNECTOR} reported it delivered; index is past {DLQ}"
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


@pytest.mark.parametrize("other", [{"connector": "usgs-to-file"}, {"topic": "other"}, {"partition": 1}, {"offset": 1}])
def test_a_report_of_another_reader_or_place_is_not_its_report(build: Build, other: dict[str, Any]) -> None:
    world = past(build(), "delivered", **other)
    world.watch()
    assert world.outcome() == "unknown(offset_moved_by_hand)"


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
    world.watch()
    assert world.outcome() == "passed"
    assert [row["reason"] for row in world.item().history] == ["index_stopped"]


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
    world.watch()
    assert world.item().evidence == f"{CONNECTOR} is no more: nothing reads {TOPIC}"
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
    world.watch()
    assert (world.outcome(), world.item().evidence) == ("unknown(group_empty)", "read again since: lag 100")
    past(world).watch()
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


def test_a_record_that_nobody_is_known_to_read_has_no_group(build: Build) -> None:
    world = build()
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


def test_nothing_is_waited_for_longer_than_a_day(build: Build) -> None:
    world = build()
    world.watch(after=timedelta(hours=25))
    assert (world.outcome(), world.item().evidence) == (
        "unknown(watch_timeout)",
        "24 hours after it was sent: lag 100",
    )


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
    assert ReplayEvent.objects.get(kind="turned").text == "1 record turned from passed to failed again"
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
    assert ReplayEvent.objects.get(kind="done").text == "no outcome is awaited any more: 1 passed, 1 failed again"


@pytest.mark.parametrize("status", ["running", "paused", "cancelled"])
def test_records_are_watched_while_others_are_still_sent(build: Build, status: str) -> None:
    world = past(build(status=status))
    world.watch()
    assert (world.outcome(), Replay.objects.get().status) == ("passed", status)


def test_many_records_are_decided_with_few_questions(build: Build, django_assert_max_num_queries: Any) -> None:
    world = build(300)
    world.cluster.position = BASE + 300
    for item in ReplayItem.objects.select_related("replay"):
        world.cluster.report(item, "delivered")
    with django_assert_max_num_queries(60):
        assert world.watch() == 300
