"""A connector that writes transactions, in a world in memory: fenced, written down, then leased."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pytest
from msgspec.structs import replace

from engine.config.topic import TargetState
from engine.errors import RetriableError
from engine.herder.herder import Herder
from engine.record.record import TopicPartition
from engine.worker_messages import Delivery, LeaseEnd
from tests.engine.herder.world import World, ask, examine, turn

PARTITIONS = [TopicPartition("t", number) for number in range(3)]
EXACTLY = {"topics": "t", "tasks.max": "3", "delivery": "exactly_once"}


@pytest.fixture
def world() -> World:
    world = World()
    world.ends = dict.fromkeys(PARTITIONS, 5)
    return world


def until(herder: Herder, check: Callable[[], object]) -> None:
    """Rounds are made by other threads: turn until it holds."""
    deadline = time.monotonic() + 20
    while not check():
        assert time.monotonic() < deadline
        herder.turn()
        herder.serve(10)


def put(herder: Herder, **properties: str) -> None:
    ask(herder, partial(herder.put, "c", {**EXACTLY, **properties}))


def fresh(world: World, herder: Herder) -> None:
    """Connector `c` runs its first generation."""
    put(herder)
    turn(herder)
    assert world.config().connectors["c"].task_count == 3
    assert len(leased(world)) == 3


def leased(world: World) -> list[tuple[int, int]]:
    """(generation, task) of every lease."""
    return sorted((task.generation, task.task) for lease, _ in world.leases.values() for task in lease.tasks)


def count(world: World) -> tuple[int | None, bool]:
    entry = world.config().connectors["c"]
    return entry.task_count, entry.fenced


def test_a_fresh_connector_is_let_in_at_once(world: World, herder: Herder) -> None:
    fresh(world, herder)
    assert (world.fenced, count(world)) == ([], (3, True))


def test_a_new_generation_is_fenced_when_the_old_one_has_stopped(world: World, herder: Herder) -> None:
    fresh(world, herder)
    put(herder, **{"tasks.max": "2"})
    turn(herder, 3)
    assert (world.fenced, count(world)) == ([], (3, False))
    world.end(LeaseEnd.STOPPED)
    world.ends = dict.fromkeys(PARTITIONS, 9)
    until(herder, lambda: world.leases)
    assert world.fenced == [("c", (0, 1, 2))]
    assert count(world) == (2, True)
    assert leased(world) == [(2, 0), (2, 1)]


def test_a_lease_that_does_not_stop_in_time_is_fenced(world: World, herder: Herder) -> None:
    fresh(world, herder)
    put(herder, **{"tasks.max": "2"})
    turn(herder)
    world.now += 1001
    until(herder, lambda: count(world) == (2, True))
    assert world.fenced == [("c", (0, 1, 2))]
    assert {generation for generation, _ in leased(world)} == {1}


def test_no_task_runs_before_its_round_and_the_others_go_on(world: World) -> None:
    gate = threading.Event()

    def fence(properties: Mapping[str, str], tasks: Sequence[int]) -> None:
        assert gate.wait(20)
        world.fence(properties, tasks)

    herder = world.started(fence=fence)
    fresh(world, herder)
    world.end()
    put(herder, **{"tasks.max": "2"})
    world.ends = {**dict.fromkeys(PARTITIONS, 9), TopicPartition("u", 0): 1}
    ask(herder, partial(herder.put, "other", {"topics": "u"}))
    turn(herder, 5)
    assert [task.connector for lease, _ in world.leases.values() for task in lease.tasks] == ["other"]
    status = world.statuses()["status-task-c-0"]
    assert (status["state"], "fenced" in status["parked_reason"]) == ("UNASSIGNED", True)
    gate.set()
    world.end()
    until(herder, lambda: (2, 0) in leased(world))


def test_a_round_that_fails_is_the_connectors_trouble_and_is_tried_again(world: World, herder: Herder) -> None:
    """KIP-618, cannot fence out producers: no task fails, none starts, the round is made when it can be."""
    fresh(world, herder)
    world.end()
    world.fencing = RetriableError("no coordinator")
    world.ends = dict.fromkeys(PARTITIONS, 9)
    put(herder, **{"tasks.max": "2"})
    until(herder, lambda: "no coordinator" in world.statuses()["status-connector-c"].get("trace", ""))
    turn(herder, 5)
    assert len(world.fenced) == 1
    world.now += 1001
    until(herder, lambda: len(world.fenced) == 2)
    until(herder, lambda: "next attempt in 2 s" in world.statuses()["status-connector-c"]["trace"])
    assert (world.leases, count(world)) == ({}, (3, False))
    world.fencing = None
    world.now += 2001
    until(herder, lambda: world.leases)
    assert "trace" not in world.statuses()["status-connector-c"]


def test_a_round_for_an_older_generation_does_not_let_the_newest_in(world: World) -> None:
    """KIP-618, leader access to config topic: a count record after configurations it knows nothing of."""
    gate = threading.Event()
    rounds: list[str] = []

    def fence(properties: Mapping[str, str], tasks: Sequence[int]) -> None:
        rounds.append(properties["tasks.max"])
        assert len(rounds) > 1 or gate.wait(20)

    herder = world.started(fence=fence)
    fresh(world, herder)
    world.end()
    put(herder, **{"tasks.max": "2"})
    until(herder, lambda: rounds)
    put(herder, **{"tasks.max": "1"})
    turn(herder, 2)
    assert world.config().connectors["c"].generation == 3
    gate.set()
    until(herder, lambda: count(world) == (1, True))
    assert rounds == ["2", "1"]


def test_another_delivery_is_a_new_generation_and_fenced_both_ways(world: World, herder: Herder) -> None:
    fresh(world, herder)
    world.end()
    world.ends = dict.fromkeys(PARTITIONS, 9)
    put(herder, delivery="at_least_once")
    until(herder, lambda: world.leases)
    assert (world.fenced, count(world)) == ([("c", (0, 1, 2))], (0, True))
    world.end()
    put(herder)
    until(herder, lambda: count(world) == (3, True))
    assert len(world.fenced) == 1


def test_the_workers_option_changes_the_delivery_as_well(world: World) -> None:
    """The properties are the same; validation says another delivery since the worker was started again."""
    herder = world.started()
    ask(herder, partial(herder.put, "c", {"topics": "t"}))
    turn(herder)
    world.end()
    again = world.herder(
        examine=lambda properties: replace(examine(properties), delivery=Delivery.EXACTLY_ONCE), worker_id="w:2"
    )
    turn(again, 2)
    assert world.config().connectors["c"].generation == 2
    assert count(world) == (1, True)


def test_a_deleted_connectors_tasks_are_fenced_when_its_name_comes_back(world: World, herder: Herder) -> None:
    fresh(world, herder)
    world.end()
    turn(herder)
    ask(herder, partial(herder.delete, "c"))
    turn(herder, 3)
    assert world.fenced == []
    world.ends = dict.fromkeys(PARTITIONS, 9)
    put(herder, **{"tasks.max": "2"})
    until(herder, lambda: world.leases)
    assert world.fenced[0] == ("c", (0, 1, 2))
    assert count(world) == (2, True)


def test_the_next_leader_makes_the_round_that_the_one_before_left_open(world: World, herder: Herder) -> None:
    fresh(world, herder)
    world.end()
    world.fencing = RetriableError("no coordinator")
    put(herder, **{"tasks.max": "2"})
    until(herder, lambda: world.fenced)
    world.fencing = None
    world.ends = dict.fromkeys(PARTITIONS, 9)
    successor = world.herder(worker_id="w:2")
    until(successor, lambda: world.leases)
    assert count(world) == (2, True)


def test_a_paused_connector_is_fenced_too_so_that_it_resumes_at_once(world: World, herder: Herder) -> None:
    fresh(world, herder)
    world.end()
    ask(herder, partial(herder.set_target, "c", TargetState.PAUSED))
    put(herder, **{"tasks.max": "2"})
    until(herder, lambda: count(world) == (2, True))
    assert world.leases == {}
