"""What the herder does when something fails, and how it stops."""

from __future__ import annotations

import threading
import time
from functools import partial

import pytest

from engine.config.topic import Leader, leader_record
from engine.errors import LeaseLost, RequestConflict, RetriableError
from engine.herder.herder import Herder
from engine.herder.state import HerderSettings
from engine.record.record import TopicPartition
from engine.worker_messages import LeaseEnd
from tests.engine.herder.running import ZERO, running
from tests.engine.herder.world import Election, World, ask, turn


def test_a_leader_that_sees_a_newer_one_grants_nothing_and_stands_by(world: World) -> None:
    election = Election()
    herder = world.started(election)
    election.won = False
    world.write_config(leader_record(Leader(99, "other", 0, "http://other")))
    world.ends[ZERO] = 5
    turn(herder, 2)
    assert world.leases == {}
    assert world.config().leader.worker_id == "other"
    assert (herder.view().standby, herder.view().leader_url) == (True, "http://other")


def test_stopping_resigns_so_that_leases_end(world: World, herder: Herder) -> None:
    running(world, herder)
    herder.stop()
    world.end(LeaseEnd.FENCED)
    herder.run()
    assert world.config().leader.worker_id == ""
    assert world.statuses()["status-task-c-0"]["positions"] == {"t-0": 5}


def test_stopping_waits_for_no_look() -> None:
    herder = World().herder(settings=HerderSettings(poll_ms=60_000))
    thread = threading.Thread(target=herder.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 20
    while not herder.view().ready:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    herder.stop()
    thread.join(20)
    assert not thread.is_alive()


def test_requests_after_the_end_are_refused(world: World, herder: Herder) -> None:
    herder.stop()
    herder.run()
    with pytest.raises(RequestConflict):
        herder.delete("c").result(0)


def test_trouble_is_shown_and_passes(world: World, herder: Herder) -> None:
    running(world, herder)
    world.trouble = RetriableError("brokers are away")
    turn(herder)
    assert herder.view().trouble == "brokers are away"
    world.trouble = None
    turn(herder)
    assert herder.view().trouble is None


def test_a_deleted_topic_does_not_hold_up_the_others(world: World, herder: Herder) -> None:
    running(world, herder)
    world.end()
    world.ends[TopicPartition("u", 0)] = 1
    ask(herder, partial(herder.put, "d", {"topics": "u"}))
    del world.ends[ZERO]
    turn(herder, 2)
    [(lease, _)] = world.leases.values()
    assert [task.connector for task in lease.tasks] == ["d"]


def test_five_lost_leases_fail_the_task_and_spare_the_sibling(world: World, herder: Herder) -> None:
    running(world, herder)
    for _ in range(5):
        world.lose(LeaseLost("Python worker exited unexpectedly"))
        turn(herder)
        world.now += 10_000
        turn(herder)
    assert "Python worker exited unexpectedly" in world.statuses()["status-task-c-0"]["trace"]
    world.ends[TopicPartition("u", 0)] = 1
    ask(herder, partial(herder.put, "d", {"topics": "u"}))
    turn(herder)
    assert len(world.leases) == 1


def test_an_unready_world_never_fails_a_task(world: World, herder: Herder) -> None:
    running(world, herder)
    for _ in range(9):
        world.lose(RetriableError("coordinator is moving"))
        turn(herder)
        world.now += 10_000
        turn(herder)
    assert world.statuses()["status-task-c-0"]["state"] == "RUNNING"


def test_a_bug_in_the_runner_is_not_swallowed(world: World, herder: Herder) -> None:
    running(world, herder)
    world.lose(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError):
        turn(herder, 2)
