"""A plan that kills its workers is given up: begun again, but not for ever."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError
from django.utils import timezone

from dlqadmin.jobs.claims import MAX_TRIES, JobKind
from dlqadmin.replays.jobs import controls
from dlqadmin.replays.models import Replay
from dlqadmin.replays.plans import planner, selection_reader, tasks
from dlqadmin.replays.plans.options import Options
from dlqadmin.replays.plans.planner import PLANS
from dlqadmin.replays.selections import frozen_selections
from dlqadmin.rest.idempotency import RequestKey
from dlqadmin.rest.problems import StateConflict
from tests.dlqadmin.deadletters.letters import NOW, index, letter
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.replays.clusters import FakeCluster
from tests.dlqadmin.replays.plans.making import LATER, WEEK, claimed

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
SAID = (
    "The last of 3 tries stopped without an error: its worker may have been killed because it ran out of "
    "memory; see the system log. Check the plan again, or cancel the replay."
)


@pytest.fixture
def replay(operator: User, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> Replay:
    """A replay of ten records that a worker is to plan, three a slice."""
    monkeypatch.setattr(planner, "INLINE", 9)
    monkeypatch.setattr(selection_reader.Reading.slices, "__defaults__", (3,))
    index([letter(number) for number in range(10)])
    chosen = frozen_selections.by_filter(WEEK, operator, RequestKey(), NOW)
    return planner.create(chosen, Options(), "", operator, RequestKey(), LATER, FakeCluster())


def killed(replay: Replay, at: datetime) -> None:
    """A worker begins, writes one slice, and is gone as far as the database knows."""
    begun, slices = claimed(replay, at), iter([at, at])

    def clock() -> datetime:
        if (moment := next(slices, None)) is None:
            raise KeyboardInterrupt
        return moment

    with pytest.raises(KeyboardInterrupt):
        planner.go_on(begun, None, clock, FakeCluster())
    assert replay.items.count() == 3


def given_up(replay: Replay, at: datetime) -> None:
    replay.refresh_from_db()
    assert not PLANS.claim(replay.pk, replay.heartbeat, at)
    replay.refresh_from_db()


def test_a_plan_that_killed_three_workers_is_given_up_and_says_so(replay: Replay, operator: User) -> None:
    for tried in range(MAX_TRIES):
        killed(replay, LATER + tried * PLANS.lease)
        replay.refresh_from_db()
        assert (replay.status, replay.tries) == ("planning", tried + 1)
    late = LATER + MAX_TRIES * PLANS.lease
    given_up(replay, late)
    assert not PLANS.waiting(late + timedelta(days=9)).exists()
    said = [(row["level"], row["title"], row["text"]) for row in replay.plan["checks"]]
    assert said == [("stop", "The plan could not be made", SAID)]
    assert (replay.status, replay.claim_token, replay.planned_at) == ("planned", "", late)
    assert (replay.items.count(), replay.counts.exclude(n=0).count()) == (0, 0)
    assert list(replay.events.values_list("kind", flat=True)) == [planner.FAILED]
    with pytest.raises(StateConflict, match="has no records to send"):
        controls.run(replay, operator, "now", "", late)


def test_it_can_be_checked_again_with_tries_of_its_own(replay: Replay, operator: User) -> None:
    for tried in range(MAX_TRIES):
        killed(replay, LATER + tried * PLANS.lease)
    given_up(replay, LATER + MAX_TRIES * PLANS.lease)
    planner.check_again(replay, Options(), operator, LATER, FakeCluster())
    for tried in range(MAX_TRIES - 1):
        killed(replay, LATER + tried * PLANS.lease)
    last = claimed(replay, LATER + MAX_TRIES * PLANS.lease)
    assert planner.go_on(last, operator, lambda: LATER, FakeCluster())
    replay.refresh_from_db()
    assert (replay.status, replay.plan["to_send"], replay.items.count()) == ("planned", 10, 10)


def test_errors_and_kills_are_tries_alike(replay: Replay) -> None:
    killed(replay, LATER)
    killed(replay, LATER + PLANS.lease)
    PLANS.failed(claimed(replay, LATER + 2 * PLANS.lease), "an error", LATER)
    replay.refresh_from_db()
    assert replay.plan["checks"][0]["text"].startswith("The last of 3 tries stopped with an error;")


def test_a_worker_at_its_last_try_is_left_alone_while_it_works(replay: Replay) -> None:
    last = LATER + (MAX_TRIES - 1) * PLANS.lease
    for tried in range(MAX_TRIES):
        killed(replay, LATER + tried * PLANS.lease)
    for seen in (last - PLANS.lease, last):
        assert not PLANS.claim(replay.pk, seen, last)
    replay.refresh_from_db()
    assert (replay.status, replay.heartbeat) == ("planning", last)


def test_a_beginning_that_the_database_ended_is_no_try(replay: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> bool:
        raise OperationalError("server closed the connection unexpectedly")

    def killed_there(*_: object) -> bool:
        raise KeyboardInterrupt

    def try_again() -> None:
        Replay.objects.filter(heartbeat__isnull=False).update(heartbeat=timezone.now() - PLANS.lease)
        replay.refresh_from_db()
        tasks.plan_replay(replay.pk, replay.heartbeat)

    monkeypatch.setattr(planner, "go_on", away)
    with monkeypatch.context() as patched:
        patched.setattr(JobKind, "failed", away)
        for _ in range(MAX_TRIES + 1):
            try_again()
    replay.refresh_from_db()
    assert (replay.status, replay.tries, replay.events.count()) == ("planning", 1, 0)
    monkeypatch.setattr(planner, "go_on", killed_there)
    for _ in range(MAX_TRIES):
        with pytest.raises(KeyboardInterrupt):
            try_again()
    try_again()
    replay.refresh_from_db()
    assert (replay.status, replay.plan["checks"][0]["text"]) == ("planned", SAID)
