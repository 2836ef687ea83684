"""A plan that kills its workers is given up: begun again, but not for ever."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError

from dlqadmin.replays.jobs import controls
from dlqadmin.replays.models import Replay
from dlqadmin.replays.plans import planner, selection_reader, tasks
from dlqadmin.replays.plans.options import Options
from dlqadmin.replays.selections import frozen_selections
from dlqadmin.rest.idempotency import Once
from dlqadmin.rest.problems import Conflict
from tests.dlqadmin.deadletters.letters import NOW, index, letter
from tests.dlqadmin.fakes import FakeEngine
from tests.dlqadmin.replays.clusters import FakeCluster
from tests.dlqadmin.replays.plans.making import LATER, WEEK

pytestmark = [pytest.mark.django_db, pytest.mark.sql]
SAID = (
    "The last of 3 tries ended without a word: its worker was killed, for want of memory perhaps; the log of its "
    "system tells. Check the plan again, or cancel the replay."
)


@pytest.fixture
def replay(operator: User, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch) -> Replay:
    """A replay of ten records that a worker is to plan, three a slice."""
    monkeypatch.setattr(planner, "INLINE", 9)
    monkeypatch.setattr(selection_reader.Reading.slices, "__defaults__", (3,))
    index([letter(number) for number in range(10)])
    chosen = frozen_selections.by_filter(WEEK, operator, Once(), NOW)
    return planner.create(chosen, Options(), "", operator, Once(), LATER, FakeCluster())


def killed(replay: Replay, at: datetime) -> None:
    """A worker begins, writes one slice, and is gone as far as the database knows."""
    replay.refresh_from_db()
    assert planner.begin(replay, replay.heartbeat, f"worker at {at}", at)
    replay.refresh_from_db()
    slices = iter([at, at])

    def clock() -> datetime:
        if (moment := next(slices, None)) is None:
            raise KeyboardInterrupt
        return moment

    with pytest.raises(KeyboardInterrupt):
        planner.go_on(replay, replay.sender, None, clock, FakeCluster())
    assert replay.items.count() == 3


def begin(replay: Replay, at: datetime, spared: int = 0) -> bool:
    replay.refresh_from_db()
    begun = planner.begin(replay, replay.heartbeat, "another worker", at, spared)
    replay.refresh_from_db()
    return begun


def test_a_plan_that_killed_three_workers_is_given_up_and_says_so(replay: Replay, operator: User) -> None:
    for tried in range(planner.TRIES):
        killed(replay, LATER + tried * tasks.QUIET)
        replay.refresh_from_db()
        assert (replay.status, replay.tries) == ("planning", tried + 1)
    late = LATER + planner.TRIES * tasks.QUIET
    assert not begin(replay, late)
    assert not planner.unsettled(late + timedelta(days=9)).exists()
    said = [(row["level"], row["title"], row["text"]) for row in replay.plan["checks"]]
    assert said == [("stop", "The plan could not be made", SAID)]
    assert (replay.status, replay.sender, replay.planned_at) == ("planned", "", late)
    assert (replay.items.count(), replay.counts.exclude(n=0).count()) == (0, 0)
    assert list(replay.events.values_list("kind", flat=True)) == [planner.FAILED]
    with pytest.raises(Conflict, match="has nothing that can be sent"):
        controls.run(replay, operator, "now", "", late)


def test_it_can_be_checked_again_with_tries_of_its_own(replay: Replay, operator: User) -> None:
    for tried in range(planner.TRIES):
        killed(replay, LATER + tried * tasks.QUIET)
    assert not begin(replay, NOW)
    planner.check_again(replay, Options(), operator, LATER, FakeCluster())
    for tried in range(planner.TRIES - 1):
        killed(replay, LATER + tried * tasks.QUIET)
    assert begin(replay, LATER)
    assert planner.go_on(replay, replay.sender, operator, lambda: LATER, FakeCluster())
    replay.refresh_from_db()
    assert (replay.status, replay.plan["to_send"], replay.items.count()) == ("planned", 10, 10)


def test_errors_and_kills_are_tries_alike(replay: Replay) -> None:
    killed(replay, LATER)
    killed(replay, LATER + tasks.QUIET)
    assert begin(replay, LATER + 2 * tasks.QUIET)
    planner.failed(replay, "another worker", LATER)
    replay.refresh_from_db()
    assert replay.plan["checks"][0]["text"].startswith("The last of 3 tries met an error;")


def test_a_worker_at_its_last_try_is_left_alone_while_it_works(replay: Replay) -> None:
    for _ in range(planner.TRIES):
        assert begin(replay, LATER)
    assert not planner.begin(replay, LATER - tasks.QUIET, "another worker", LATER)
    replay.refresh_from_db()
    assert (replay.status, replay.heartbeat) == ("planning", LATER)


def test_a_beginning_that_the_database_ended_is_no_try(replay: Replay, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: object) -> bool:
        raise OperationalError("server closed the connection unexpectedly")

    with monkeypatch.context() as patched:
        patched.setattr(planner, "go_on", away)
        patched.setattr(planner, "failed", away)
        for _ in range(planner.TRIES + 1):
            replay.refresh_from_db()
            tasks.plan_replay(replay.pk, replay.heartbeat)
    replay.refresh_from_db()
    assert (replay.status, replay.tries) == ("planning", 1)
    monkeypatch.setattr(planner, "go_on", lambda *_: True)  # killed, as far as the database knows
    for _ in range(planner.TRIES + 1):
        replay.refresh_from_db()
        tasks.plan_replay(replay.pk, replay.heartbeat)
    replay.refresh_from_db()
    assert (replay.status, replay.plan["checks"][0]["text"]) == ("planned", SAID)
