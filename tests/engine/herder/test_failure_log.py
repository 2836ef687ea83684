"""The driver's log of tasks that fail."""

from __future__ import annotations

from functools import partial

import pytest

from engine.errors import LeaseLost
from engine.herder.herder import Herder
from engine.worker_messages import LeaseEnd
from tests.engine.herder.running import ZERO, running
from tests.engine.herder.world import World, ask, turn

TRACE = "Tolerance exceeded: VALUE_CONVERTER (Json) failed on t-0 at offset 5: bad\nValueError: bad\n  at a.py:f:1"


def failures(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(row.levelname, row.getMessage()) for row in caplog.records if row.name == "engine.task_failures"]


def test_a_task_that_fails_is_logged_once_with_its_trace(
    world: World, herder: Herder, caplog: pytest.LogCaptureFixture
) -> None:
    running(world, herder)
    world.end(LeaseEnd.FAILED, trace=TRACE)
    turn(herder, 3)
    assert failures(caplog) == [("ERROR", f"task c-0 failed: {TRACE}")]


def test_a_task_that_fails_again_after_a_restart_is_logged_again(
    world: World, herder: Herder, caplog: pytest.LogCaptureFixture
) -> None:
    running(world, herder)
    world.end(LeaseEnd.FAILED, trace=TRACE)
    turn(herder)
    world.ends[ZERO] += 5
    ask(herder, partial(herder.restart_task, "c", 0))
    turn(herder, 2)
    world.end(LeaseEnd.FAILED, trace="another")
    turn(herder, 2)
    assert [text for _, text in failures(caplog)] == [f"task c-0 failed: {TRACE}", "task c-0 failed: another"]


def test_a_task_whose_workers_died_is_logged_with_sparks_message(
    world: World, herder: Herder, caplog: pytest.LogCaptureFixture
) -> None:
    running(world, herder)
    for _ in range(20):
        world.lose(LeaseLost("the worker exited with 3"))
        world.now += 10_000
        turn(herder)
    [(level, text)] = failures(caplog)
    assert level == "ERROR"
    assert "the worker exited with 3" in text


def test_a_new_leader_does_not_log_old_failures(world: World, herder: Herder, caplog: pytest.LogCaptureFixture) -> None:
    running(world, herder)
    world.end(LeaseEnd.FAILED, trace=TRACE)
    turn(herder)
    herder.stop()
    herder.run()
    caplog.clear()
    successor = world.started(worker_id="w:2")
    turn(successor, 2)
    assert world.statuses()["status-task-c-0"]["state"] == "FAILED"
    assert successor.is_leading()
    assert failures(caplog) == []
