"""Plans of many records: made by a task, slice by slice, in bounded memory, whatever happens to its worker."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection
from pytest_django import Settings

from dlqadmin.audit.models import AuditEntry
from dlqadmin.deadletters.models import DeadLetter, DeadLetterBody
from dlqadmin.jobs.claims import MAX_TRIES
from dlqadmin.replays.jobs import controls
from dlqadmin.replays.models import Replay, ReplayStatus, Selection
from dlqadmin.replays.plans import planner, selection_reader, tasks
from dlqadmin.replays.plans.options import Options
from dlqadmin.replays.plans.planner import PLANS
from dlqadmin.replays.selections import frozen_selections
from dlqadmin.rest.idempotency import RequestKey
from dlqadmin.rest.problems import ParameterError, StateConflict
from tests.dlqadmin.deadletters.letters import NOW, index, index_one, letter
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.replays.clusters import FakeCluster
from tests.dlqadmin.replays.plans.making import LATER, WEEK, claimed

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
LARGE, MANY, SLICE, PARTITIONS = 200_000, 12_000, 250, 4
LARGE_BYTES, MANY_BYTES = 100_000_000, 5_000_000


@pytest.fixture(autouse=True)
def engine_is_there(engine: FakeEngine) -> None:
    config = {"topics": "usgs.earthquakes", "errors.deadletterqueue.topic.name": "usgs.earthquakes.dlq"}
    engine.add("usgs-to-sql", config)


@pytest.fixture
def small_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten records are many, and three are a slice."""
    monkeypatch.setattr(planner, "INLINE", 9)
    monkeypatch.setattr(selection_reader.Reading.slices, "__defaults__", (3,))


@pytest.fixture
def replay(operator: User, small_slices: None) -> Replay:
    """A replay of ten records that is to be planned."""
    index([letter(number) for number in range(10)])
    chosen = frozen_selections.by_filter(WEEK, operator, RequestKey(), NOW)
    return planner.create(chosen, Options(), "", operator, RequestKey(), LATER, FakeCluster())


def go_on(claimed: Replay, clock: datetime = LATER) -> bool:
    return planner.go_on(claimed, claimed.created_by, lambda: clock, FakeCluster())


def test_many_records_are_planned_later_and_the_plan_is_whole(replay: Replay) -> None:
    assert (replay.status, replay.plan, replay.items.count()) == ("planning", {}, 0)
    assert go_on(claimed(replay))
    replay.refresh_from_db()
    assert (replay.status, replay.planned_count, replay.plan["to_send"]) == ("planned", 10, 10)
    assert list(replay.items.order_by("ordinal").values_list("dead_letter__offset", flat=True)) == list(range(10))
    assert sum(replay.counts.values_list("n", flat=True)) == 10
    assert AuditEntry.objects.get(action="planned").detail["to_send"] == 10


def test_slice_by_slice_or_at_once_it_is_the_same_plan(
    replay: Replay, operator: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on(claimed(replay))
    monkeypatch.setattr(planner, "INLINE", 100)
    at_once = planner.create(replay.selection, Options(), "", operator, RequestKey(), LATER, FakeCluster())
    replay.refresh_from_db()
    assert at_once.plan["digest"] == replay.plan["digest"]


def test_only_one_worker_makes_a_plan(replay: Replay) -> None:
    before = Replay.objects.get(pk=replay.pk)
    assert PLANS.claim(replay.pk, None, LATER)
    assert not PLANS.claim(replay.pk, None, LATER)
    assert not PLANS.claim(replay.pk, LATER, LATER)
    assert not go_on(before)


def test_the_plan_of_a_killed_worker_is_begun_again_and_holds_each_record_once(replay: Replay) -> None:
    first, slices = claimed(replay), 0

    def clock() -> datetime:
        nonlocal slices
        slices += 1
        if slices == 4:
            raise KeyboardInterrupt  # as far as the database knows, the worker is gone
        return LATER

    with pytest.raises(KeyboardInterrupt):
        planner.go_on(first, replay.created_by, clock, FakeCluster())
    replay.refresh_from_db()
    assert (replay.status, replay.items.count(), replay.planned_count) == ("planning", 6, 6)
    assert not PLANS.waiting(LATER).exists()
    assert PLANS.waiting(LATER + PLANS.lease).get() == replay
    assert go_on(claimed(replay, LATER + PLANS.lease))
    assert sorted(replay.items.values_list("ordinal", flat=True)) == list(range(10))


def test_a_worker_whose_plan_was_taken_over_writes_no_more(replay: Replay) -> None:
    def clock() -> datetime:
        Replay.objects.filter(pk=replay.pk, planned_count=6).update(claim_token="worker-2")
        return LATER

    assert not planner.go_on(claimed(replay), None, clock, FakeCluster())
    assert replay.items.count() <= 6


def test_a_cancelled_planning_leaves_no_items(replay: Replay, operator: User) -> None:
    first = claimed(replay)
    controls.cancel(replay, operator, "not now", LATER)
    assert not go_on(first)
    replay.refresh_from_db()
    assert (replay.status, replay.items.count()) == (ReplayStatus.CANCELLED, 0)


def test_a_plan_in_the_making_is_not_checked_again(replay: Replay, operator: User) -> None:
    with pytest.raises(StateConflict, match="is being planned"):
        planner.check_again(replay, Options(), operator, LATER, FakeCluster())


def test_checking_again_replaces_the_items(replay: Replay, operator: User) -> None:
    assert go_on(claimed(replay))
    replay.refresh_from_db()
    planner.check_again(replay, Options(rate=7), operator, LATER, FakeCluster())
    assert go_on(claimed(replay))
    replay.refresh_from_db()
    assert (replay.items.count(), replay.rate) == (10, 7)


def test_more_than_a_million_is_refused(operator: User, monkeypatch: pytest.MonkeyPatch) -> None:
    assert frozen_selections.MAX_RECORDS == 1_000_000
    monkeypatch.setattr(frozen_selections, "MAX_RECORDS", 2)
    monkeypatch.setattr(frozen_selections.measure, "__defaults__", (2,))
    index([letter(number) for number in range(3)])
    with pytest.raises(ParameterError, match="matches more than 2 records"):
        frozen_selections.by_filter(WEEK, operator, RequestKey(), NOW)


@pytest.mark.slow
def test_many_records_are_planned_in_little_memory(operator: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selection_reader.Reading.slices, "__defaults__", (SLICE,))
    assert planned_within(operator, MANY) < MANY_BYTES


# Tens of thousands of records.
@pytest.mark.soak
def test_two_hundred_thousand_records_are_planned_in_little_memory(operator: User) -> None:
    assert planned_within(operator, LARGE) < LARGE_BYTES


def planned_within(operator: User, count: int) -> int:
    """Plan so many records, and check the plan; return the bytes of memory that it took at most."""
    chosen = selected(operator, count)
    replay = planner.create(chosen, Options(), "", operator, RequestKey(), LATER, FakeCluster())
    first = claimed(replay)
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = resident("VmRSS") - stored()
    assert go_on(first)
    taken = resident("VmHWM") - stored() - before
    replay.refresh_from_db()
    assert (replay.plan["total"], replay.plan["to_send"], replay.planned_count) == (count, count, count)
    assert replay.plan["targets"][0]["partitions"] == [
        {"partition": number, "count": count // PARTITIONS} for number in range(PARTITIONS)
    ]
    assert replay.items.values("dead_letter").distinct().count() == replay.items.count() == count
    assert replay.plan["confirm"] == {"word": "usgs.earthquakes"}
    assert (replay.steps, replay.plan["runnable"]) == ([1, 10, 100], True)
    return taken


def test_what_was_planned_by_then_is_counted_when_it_is_cancelled(
    replay: Replay, operator: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(planner, "_settle", killed)
        with pytest.raises(SystemExit):
            go_on(claimed(replay))
    replay.refresh_from_db()
    controls.cancel(replay, operator, "", LATER)
    assert [(row.state, row.n) for row in replay.counts.exclude(n=0)] == [("skipped", 10)]


def test_a_second_person_s_word_survives_another_check(replay: Replay, operator: User) -> None:
    assert go_on(claimed(replay))
    seen = Replay.objects.get(pk=replay.pk)
    Replay.objects.update(approved_digest="")
    seen.approved_digest = seen.plan["digest"]  # as it was when the request began
    planner.check_again(seen, Options(), operator, LATER, FakeCluster())
    assert Replay.objects.get(pk=replay.pk).approved_digest == ""


def test_a_plan_that_an_error_ends_is_begun_again_but_not_for_ever(
    replay: Replay, operator: User, monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.KAFKA_TIMEOUT_S = 0.01
    monkeypatch.setattr(planner, "_settle", mistaken)
    for tried in range(1, MAX_TRIES + 1):
        assert PLANS.waiting(LATER).get() == replay
        with pytest.raises(ZeroDivisionError):
            tasks.plan_replay(replay.pk, None)
        assert replay.events.filter(kind=planner.FAILED).count() == tried
    assert not PLANS.waiting(LATER + timedelta(days=9)).exists()
    replay.refresh_from_db()
    said = [(row["level"], row["title"], row["text"]) for row in replay.plan["checks"]]
    why = (
        "The last of 3 tries stopped with an error; the worker's log has its stack trace. Check the plan "
        "again, or cancel the replay."
    )
    assert said == [("stop", "The plan could not be made", why)]
    assert (replay.status, replay.plan["runnable"], replay.items.count()) == ("planned", False, 0)
    with pytest.raises(StateConflict, match="has no records to send"):
        controls.run(replay, operator, "now", "", LATER)
    assert replay.plan.keys() == made_at_once(replay, operator, monkeypatch).plan.keys()


def test_a_plan_that_could_not_be_made_can_be_checked_again_with_tries_of_its_own(
    replay: Replay, operator: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(MAX_TRIES):
        PLANS.failed(claimed(replay), "an error", LATER)
    again = LATER + timedelta(minutes=1)
    replay.refresh_from_db()
    planner.check_again(replay, Options(), operator, again, FakeCluster())
    PLANS.failed(claimed(replay, again), "an error", again)
    replay.refresh_from_db()
    assert replay.status == "planning"
    assert go_on(claimed(replay, again), again)
    replay.refresh_from_db()
    assert (replay.status, replay.plan["to_send"], replay.items.count()) == ("planned", 10, 10)


def test_a_worker_whose_plan_was_taken_over_fails_for_itself(replay: Replay) -> None:
    first, second = claimed(replay), claimed(replay, LATER + PLANS.lease)
    PLANS.failed(first, "an error", LATER)
    replay.refresh_from_db()
    assert (replay.claim_token, replay.events.count()) == (second.claim_token, 0)


def test_a_plan_that_the_database_refuses_while_it_answers_is_not_tried_for_ever(
    replay: Replay, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planner, "go_on", locked)
    for _ in range(MAX_TRIES):
        assert PLANS.waiting(LATER).get() == replay
        tasks.plan_replay(replay.pk, None)
    replay.refresh_from_db()
    (check,) = replay.plan["checks"]
    assert (replay.status, replay.plan["runnable"], check["level"]) == ("planned", False, "stop")
    assert check["text"].startswith(
        "The last of 3 tries stopped with a database error; the worker's log has its stack trace."
    )


def made_at_once(replay: Replay, operator: User, monkeypatch: pytest.MonkeyPatch) -> Replay:
    """Another plan of the same records."""
    monkeypatch.undo()
    return planner.create(replay.selection, Options(), "", operator, RequestKey(), LATER, FakeCluster())


def mistaken(*_: object) -> None:
    raise ZeroDivisionError


def locked(*_: object) -> bool:
    raise OperationalError("database is locked")


def killed(*_: object) -> None:
    raise SystemExit


def resident(name: str) -> int:
    """Bytes of memory that this process has now (VmRSS), or had at most (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{name}:"))


def stored() -> int:
    """Bytes of the database, where this process holds it: a test's SQLite is in memory."""
    if connection.vendor != "sqlite":
        return 0
    with connection.cursor() as cursor:
        cursor.execute("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
        return int(cursor.fetchone()[0])


def selected(operator: User, count: int) -> Selection:
    """So many records like one that was indexed, each of an origin of its own."""
    first = index_one(letter(0))
    taken = {"id", "offset", "origin_offset", "origin_partition", "key_hash"}
    others = [field.column for field in DeadLetter._meta.concrete_fields if field.column and field.column not in taken]
    table, bodies = DeadLetter._meta.db_table, DeadLetterBody._meta.db_table
    listed = ", ".join(connection.ops.quote_name(name) for name in others)
    own = ", ".join(f"first.{connection.ops.quote_name(name)}" for name in others)
    with connection.cursor() as cursor:
        cursor.execute(
            "WITH RECURSIVE numbers(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM numbers WHERE i < %s) "
            f'INSERT INTO {table} ("offset", origin_offset, origin_partition, key_hash, {listed}) '
            f"SELECT i, 100000 + i, i %% {PARTITIONS}, i, {own} FROM {table} first, numbers WHERE first.id = %s",
            [count - 1, first.pk],
        )
        cursor.execute(
            f'INSERT INTO {bodies} (dead_letter_id, "key", value, headers) SELECT other.id, body."key", body.value, '
            f"body.headers FROM {table} other, {bodies} body WHERE body.dead_letter_id = %s AND other.id <> %s",
            [first.pk, first.pk],
        )
        cursor.execute("ANALYZE")  # what a database does by itself soon after, but not within a transaction
    return frozen_selections.by_filter(f"{WEEK}&topic=usgs.earthquakes.dlq", operator, RequestKey(), NOW)
