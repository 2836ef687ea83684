"""Offsets are committed again before brokers forget them, and never where a lease may move them."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from engine.config.topic import TargetState, TaskEntry, commit_record, task_record
from engine.errors import RetriableError
from engine.herder.herder import Herder
from engine.herder.offset_refresh import OffsetRefresh
from engine.herder.positions import GroupOffsets
from engine.herder.state import HerderSettings, HerderState, LeaseRun, TaskRun
from engine.ports import Committed
from engine.record.record import TopicPartition
from engine.worker_messages import Lease, LeaseEnd, TaskConfig
from tests import fakes
from tests.engine.herder.world import World, ask, turn

ZERO = TopicPartition("t", 0)
HOUR = 3_600_000


class Reminded(World):
    """A world with one group; `commits` are those that were made plainly."""

    def __init__(self) -> None:
        super().__init__()
        self.groups["connect-c"] = {ZERO: Committed(5, "memory")}
        self.consumer = fakes.Consumer(group=self.groups["connect-c"])

    def recommits(self, retention_ms: int | None = None, **settings: Any) -> OffsetRefresh:
        offsets = GroupOffsets(self, lambda _: self.consumer, self.producer)
        return OffsetRefresh(offsets, lambda: retention_ms, HerderSettings(**settings))


def state(*, exactly_once: bool = False, tasks: int = 1) -> HerderState:
    configs = [TaskConfig("c", at, 1, {"name": "c"}, (ZERO,), exactly_once=exactly_once) for at in range(tasks)]
    return HerderState(tasks={("c", config.task): TaskRun(config, located=True) for config in configs})


@pytest.mark.parametrize(("retention_ms", "interval_ms"), [(None, HOUR), (8 * HOUR, HOUR), (HOUR, HOUR // 4)])
def test_at_least_every_quarter_of_the_brokers_time(retention_ms: int | None, interval_ms: int) -> None:
    world = Reminded()
    recommits = world.recommits(retention_ms)
    for now in (0, interval_ms - 1, interval_ms):
        recommits.turn(state(), now)
    assert world.consumer.commits == [{ZERO: Committed(5, "memory")}] * 2


def test_brokers_that_do_not_tell_their_time_have_kafkas_own() -> None:
    world = Reminded()

    def away() -> int | None:
        raise RetriableError("no answer")

    offsets = GroupOffsets(world, lambda _: world.consumer, world.producer)
    OffsetRefresh(offsets, away, HerderSettings()).turn(state(), 0)
    assert len(world.consumer.commits) == 1


def test_a_transactional_task_is_reminded_in_a_transaction_of_its_own_id() -> None:
    world = Reminded()
    world.recommits().turn(state(exactly_once=True), 0)
    assert (world.recommitted, world.consumer.commits) == (["connect-c as g-c-0"], [])
    assert world.groups["connect-c"] == {ZERO: Committed(5, "memory")}


def test_a_leader_that_slept_does_not_move_a_running_task_back() -> None:
    """It has read 5; another leader's lease takes the id over and commits 9; then it wakes."""
    world = Reminded()

    class Slow(World):
        def committed(self, group: str, partitions: Any) -> dict[TopicPartition, Committed | None]:
            found = world.committed(group, partitions)
            world.producer({"name": "c"}, 0).init()
            world.groups[group] = {ZERO: Committed(9)}
            return found

    offsets = GroupOffsets(Slow(), lambda _: world.consumer, world.producer)
    OffsetRefresh(offsets, lambda: None, HerderSettings()).turn(state(exactly_once=True), 0)
    assert world.groups["connect-c"] == {ZERO: Committed(9)}


def test_a_few_tasks_a_turn() -> None:
    world = Reminded()
    recommits = world.recommits(recommits=2)
    for now, done in ((0, 2), (1, 4), (2, 5), (3, 5)):
        recommits.turn(state(tasks=5), now)
        assert len(world.consumer.commits) == done


def test_one_task_a_turn_unless_settings_say_more() -> None:
    world = Reminded()
    world.recommits().turn(state(tasks=5), 0)
    assert len(world.consumer.commits) == 1


def outrun() -> HerderState:
    """A lease of the generation before still runs; it held the partition as task 7."""
    lease = Lease("1-1", (TaskConfig("c", 7, 0, {"name": "c"}, (ZERO,), exactly_once=True),), 1, 1000, {})
    return replace(state(exactly_once=True), leases={"1-1": LeaseRun(lease, 0)})


def changed(**changes: Any) -> HerderState:
    return HerderState(tasks={key: replace(task, **changes) for key, task in state(exactly_once=True).tasks.items()})


@pytest.mark.parametrize(
    "waiting", [changed(unfenced=True), changed(located=False), outrun()], ids=["unfenced", "not located", "outrun"]
)
def test_a_task_whose_partitions_an_older_generation_may_still_move_waits(waiting: HerderState) -> None:
    world = Reminded()
    recommits = world.recommits()
    for now in range(3):
        recommits.turn(waiting, now)
    assert (world.owners, world.recommitted) == ({}, [])
    recommits.turn(state(exactly_once=True), 3)
    assert world.recommitted == ["connect-c as g-c-0"]


def test_a_task_that_waits_is_in_nobodys_way() -> None:
    world = Reminded()
    both = state(tasks=2)
    key = ("c", 0)
    recommits = world.recommits()
    recommits.turn(replace(both, tasks={**both.tasks, key: replace(both.tasks[key], located=False)}), 0)
    assert len(world.consumer.commits) == 1


@pytest.mark.parametrize("recommits", [1, 9])
def test_brokers_that_are_away_are_asked_for_one_task_of_a_connector(recommits: int) -> None:
    world = Reminded()
    asked: list[str] = []

    class Away(World):
        def committed(self, group: str, partitions: Any) -> dict[TopicPartition, Committed | None]:
            asked.append(group)
            raise RetriableError("no answer")

    offsets = GroupOffsets(Away(), lambda _: world.consumer, world.producer)
    other = TaskRun(TaskConfig("d", 0, 1, {"name": "d"}, (ZERO,)), located=True)
    tasks = {**state(tasks=3).tasks, ("d", 0): other}
    reminder = OffsetRefresh(offsets, lambda: None, HerderSettings(recommits=recommits))
    for now in range(5):
        reminder.turn(HerderState(tasks=tasks), now)
    assert asked == ["connect-c", "connect-d"]


def test_a_partition_that_moved_is_not_moved_back_while_its_older_lease_runs(world: World) -> None:
    """The older lease, by an id of its own, commits between the herder's look and its commit."""
    moved = TopicPartition("t", 2)
    world.ends = dict.fromkeys([TopicPartition("t", number) for number in range(3)], 10)
    world.groups["connect-c"] = {partition: Committed(5) for partition in world.ends}
    herder = world.started()
    properties = {"topics": "t", "delivery": "exactly_once"}
    ask(herder, partial(herder.put, "c", {**properties, "tasks.max": "2"}))
    turn(herder, 2)
    older = world.producer({"name": "c"}, 0)
    older.init()
    world.now += 60_001
    ask(herder, partial(herder.put, "c", {**properties, "tasks.max": "3"}))
    turn(herder)
    assert world.config().connectors["c"].generation == 2
    assert "g-c-2" not in world.owners
    older.begin()
    older.send_offsets({moved: Committed(9)}, "connect-c")
    older.commit()
    turn(herder, 3)
    assert world.groups["connect-c"][moved] == Committed(9)


@pytest.fixture
def world() -> World:
    world = World()
    world.ends = {ZERO: 5}
    world.groups["connect-c"] = {}
    return world


@pytest.fixture
def herder(world: World) -> Herder:
    made = world.started()
    ask(made, partial(made.put, "c", {"topics": "t"}))
    turn(made)
    return made


@pytest.mark.parametrize("how", ["paused", "stopped", "failed"])
def test_tasks_that_do_not_run_are_reminded(world: World, herder: Herder, how: str) -> None:
    world.end(LeaseEnd.FAILED if how == "failed" else LeaseEnd.CAUGHT_UP, trace="it failed")
    world.groups["connect-c"] = {ZERO: Committed(5)}
    if how != "failed":
        ask(herder, partial(herder.set_target, "c", TargetState(how.upper())))
    turn(herder)
    world.now += 60_001
    turn(herder)
    assert world.recommitted == ["connect-c"]


def test_a_partition_that_moved_to_a_task_with_a_new_one_is_not_begun_anew(world: World, herder: Herder) -> None:
    """Its offset has gone: the claim could not tell it from the partition that nobody has read."""
    world.end()
    turn(herder)
    world.groups["connect-c"] = {}
    world.ends[TopicPartition("t", 1)] = 3
    world.now += 20_000
    turn(herder, 2)
    status = world.statuses()["status-task-c-0"]
    assert (status["state"], status["generation"]) == ("FAILED", 2)
    assert "t-0" in status["trace"]
    world.groups["connect-c"] = {ZERO: Committed(5)}
    ask(herder, partial(herder.restart_task, "c", 0))
    turn(herder)
    assert len(world.leases) == 1


def test_what_another_task_has_committed_is_known_of_a_partition_that_moved(world: World, herder: Herder) -> None:
    world.end()
    world.groups["connect-c"] = {ZERO: Committed(5)}
    world.ends = {ZERO: 5, TopicPartition("t", 1): 5}
    world.now += 20_000
    turn(herder)
    world.end()
    turn(herder)
    assert herder.view().tasks("c")[0].has_committed
    world.groups["connect-c"] = {}
    world.ends = dict.fromkeys(world.ends, 9)
    ask(herder, partial(herder.put, "c", {"topics": "t", "tasks.max": "2"}))
    turn(herder)
    tasks = [task for lease, _ in world.leases.values() for task in lease.tasks]
    assert [task.has_committed for task in tasks] == [True, True]


def test_the_next_leader_knows_what_was_committed_in_another_generation(world: World, herder: Herder) -> None:
    """The leader before it wrote a new generation, and ended before it said how its tasks are."""
    world.end()
    world.groups["connect-c"] = {ZERO: Committed(5)}
    turn(herder)
    world.groups["connect-c"] = {}
    world.ends[TopicPartition("t", 1)] = 3
    entry = TaskEntry(2, {"name": "c", "topics": "t"}, tuple(world.ends))
    world.write_config(task_record("c", 0, entry), commit_record("c", 1, 2))
    turn(world.herder(worker_id="w:2"))
    assert "t-0" in world.statuses()["status-task-c-0"]["trace"]
