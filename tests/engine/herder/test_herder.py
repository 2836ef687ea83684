"""The herder's loop in a world in memory."""

from __future__ import annotations

from functools import partial

import msgspec
import pytest

from engine.config.topic import LEASE_KEY, TargetState
from engine.herder.herder import Herder
from engine.herder.state import HerderSettings
from engine.pipeline.outcome import FailedAttempts
from engine.pipeline.task_state import OperationId, ParkedRetry, TaskState
from engine.ports import Committed
from engine.record.record import RawRecord, TopicPartition
from engine.record.stage import Stage, StageType
from engine.reporting.metrics import Metric
from engine.worker_messages import LeaseEnd, LeaseProgress, TaskReport
from tests.engine.herder.running import PROPERTIES, ZERO, running
from tests.engine.herder.world import World, ask, turn


def test_a_new_connector_is_leased_and_its_report_published(world: World, herder: Herder) -> None:
    running(world, herder)
    world.end()
    turn(herder)
    status = world.statuses()["status-task-c-0"]
    assert (status["state"], status["positions"], status["lag"]) == ("RUNNING", {"t-0": 5}, 0)
    assert status["metrics"] == {"records-consumed": 5}
    assert world.statuses()["status-connector-c"]["state"] == "RUNNING"
    assert world.leases == {}


@pytest.mark.parametrize("count", [1, 20])
def test_however_many_connectors_a_start_names_it_is_one_write_and_their_tasks_are_another(count: int) -> None:
    world = World()
    world.ends = {TopicPartition("t", 0): 5}
    names = [f"c{number:02}" for number in range(count)]
    herder = world.started(initial=[{"name": name, "topics": "t"} for name in names])
    assert [name for name in names if len(herder.view().tasks(name)) == 1] == names
    assert world.written == 4  # the claim, the connectors, a heartbeat, their tasks


@pytest.mark.parametrize(("partitions", "wait_ms"), [(1, 200), (100, 300), (1000, 1000)])
def test_the_more_ends_there_are_the_less_often_they_are_asked_for(partitions: int, wait_ms: int) -> None:
    world = World()
    world.ends = {TopicPartition("t", number): 0 for number in range(partitions)}
    herder = world.herder(initial=[{"name": "c", "topics": "t"}], settings=HerderSettings())
    assert herder.turn() == wait_ms


def test_a_source_that_wakes_sooner_is_not_kept_waiting_by_the_many_ends_of_others() -> None:
    world = World()
    world.ends = {TopicPartition("t", number): 0 for number in range(1000)}
    initial = [{"name": "c", "topics": "t"}, {"name": "s", "kind": "source"}]
    herder = world.herder(initial=initial, settings=HerderSettings())
    assert herder.turn() == 1000
    world.end(wake_at=world.now + 500)
    assert herder.turn() == 500
    world.now += 400
    assert herder.turn() == 200
    herder.serve(0)
    ask(herder, partial(herder.set_target, "s", TargetState.PAUSED))
    assert herder.turn() == 1000


def test_a_source_is_leased_at_once_and_again_when_it_wakes(world: World, herder: Herder) -> None:
    ask(herder, partial(herder.put, "s", {"name": "s", "kind": "source"}))
    turn(herder)
    [(lease, _)] = world.leases.values()
    assert [task.config["number"] for task in lease.tasks] == ["0", "1"]
    world.end(wake_at=world.now + 500)
    turn(herder, 2)
    assert world.leases == {}
    world.now += 500
    turn(herder)
    assert len(world.leases) == 1


def test_a_standing_lease_is_followed_by_what_it_commits(world: World, herder: Herder) -> None:
    world.ends[ZERO] = 5
    ask(herder, partial(herder.put, "c", {"name": "c", "topics": "t", "kind": "stream"}))
    turn(herder)
    assert world.statuses()["status-task-c-0"]["state"] == "RUNNING"
    memory = TaskState(0, 1, 1, (Stage(StageType.TASK_PUT, "FileStreamSink"),))
    memory.metrics[Metric.DROPPED_RECORDS_TOTAL] = 3
    world.groups["connect-c"] = {ZERO: Committed(4, memory.to_metadata())}
    world.now += 1000
    turn(herder)
    status = world.statuses()["status-task-c-0"]
    assert (status["lag"], status["metrics"]["dropped-records-total"], status["kind"]) == (1, 3, "stream")
    assert status["parked_reason"] is None
    memory.parked = ParkedRetry(OperationId("t", 0, 4, 0), FailedAttempts(2, world.now), world.now + 9000)
    memory.metrics[Metric.DROPPED_RECORDS_TOTAL] = 5
    world.groups["connect-c"] = {ZERO: Committed(5, memory.to_metadata())}
    world.now += 1000
    turn(herder)
    status = world.statuses()["status-task-c-0"]
    assert status["dropped_rate"] == 2.0
    assert status["parked_reason"] == "TASK_PUT (FileStreamSink) failed 2 times on t-0 at offset 4; waiting to retry"
    assert len(world.leases) == 1


def test_a_stream_without_a_slot_is_unassigned(world: World, herder: Herder) -> None:
    world.ends[ZERO] = 5
    for name in ("c", "d"):
        ask(herder, partial(herder.put, name, {"name": name, "topics": "t", "kind": "stream"}))
    turn(herder, 2)
    statuses = [world.statuses()[f"status-task-{name}-0"] for name in "cd"]
    assert [status["state"] for status in statuses] == ["RUNNING", "UNASSIGNED"]
    assert "raise `slots`" in statuses[1]["parked_reason"]


def test_an_idle_task_is_leased_when_records_arrive(world: World, herder: Herder) -> None:
    running(world, herder)
    world.end()
    turn(herder, 3)
    assert world.leases == {}
    world.ends[ZERO] = 6
    turn(herder)
    assert len(world.leases) == 1


def test_a_connector_waits_for_its_topic(world: World, herder: Herder) -> None:
    ask(herder, partial(herder.put, "c", PROPERTIES))
    turn(herder)
    assert herder.view().tasks("c") == []
    world.ends[ZERO] = 1
    world.now += 2000
    turn(herder)
    assert len(herder.view().tasks("c")) == 1


def test_more_partitions_are_a_new_generation_after_the_old_lease_has_ended(world: World, herder: Herder) -> None:
    running(world, herder)
    world.ends[TopicPartition("t", 1)] = 3
    world.now += 20_000
    turn(herder)
    assert [task.config.generation for task in herder.view().tasks("c")] == [2, 2]
    assert len(world.leases) == 1
    world.end(LeaseEnd.STOPPED)
    turn(herder)
    [(lease, _)] = world.leases.values()
    assert {task.generation for task in lease.tasks} == {2}


def test_the_next_leader_remembers_failures_and_figures(world: World, herder: Herder) -> None:
    running(world, herder)
    world.end(LeaseEnd.FAILED, trace="Traceback …")
    turn(herder)
    successor = world.started()
    [task] = successor.view().tasks("c")
    assert task.trace == "Traceback …"
    assert task.figures.metrics == {"records-consumed": 5}
    turn(herder)
    assert successor.is_leading()
    assert not herder.is_leading()


def test_the_next_leader_knows_that_offsets_were_committed_even_when_they_are_gone(
    world: World, herder: Herder
) -> None:
    running(world, herder)
    world.end()
    turn(herder)
    world.ends[ZERO] = 9
    world.started()
    [(lease, _)] = world.leases.values()
    assert lease.tasks[0].has_committed


def test_positions_of_paused_connectors_are_committed_again_before_they_expire(world: World, herder: Herder) -> None:
    running(world, herder)
    world.end()
    world.groups["connect-c"] = {ZERO: Committed(5, "metadata")}
    ask(herder, partial(herder.set_target, "c", TargetState.PAUSED))
    world.now += 60_001
    turn(herder)
    assert world.recommitted == ["connect-c"]
    assert world.groups["connect-c"] == {ZERO: Committed(5, "metadata")}


def test_a_running_lease_alone_commits_its_positions(world: World, herder: Herder) -> None:
    running(world, herder)
    world.groups["connect-c"] = {ZERO: Committed(5)}
    world.now += 60_001
    turn(herder)
    assert world.recommitted == []


def test_a_lease_that_will_not_stop_is_cancelled(world: World, herder: Herder) -> None:
    running(world, herder)
    ask(herder, partial(herder.set_target, "c", TargetState.PAUSED))
    world.now += 60_000
    turn(herder)
    assert world.cancelled == ["1-1"]


def told(world: World, value: bytes) -> None:
    """A running lease writes to the status topic."""
    at = TopicPartition("status", 0)
    [end] = world.status_log.end_offsets([at]).values()
    world.status_log.append(RawRecord("status", 0, end, 0, "CREATE_TIME", LEASE_KEY, value))


def test_what_a_lease_that_goes_on_has_done_is_published(world: World, herder: Herder) -> None:
    running(world, herder)
    [(lease, _)] = world.leases.values()
    figures = {"records-consumed": 4}
    report = TaskReport("c", 0, 1, None, {"t-0": 4}, {"t-0": 5}, figures, {}, {}, {}, progressed=True)
    told(world, b"not for us")
    told(world, msgspec.json.encode(LeaseProgress(lease.lease_id, (report,))))
    turn(herder)
    status = world.statuses()["status-task-c-0"]
    assert (status["positions"], status["lag"], status["metrics"]) == ({"t-0": 4}, 1, figures)
    assert list(world.leases) == [lease.lease_id]


def test_running_leases_hear_when_tasks_wait_for_their_slots_and_when_none_does(world: World, herder: Herder) -> None:
    for name in "abc":
        world.ends[TopicPartition(name, 0)] = 10_000
        ask(herder, partial(herder.put, name, {"name": name, "topics": name}))
        turn(herder)
    assert (len(world.leases), world.config().leader.crowded) == (2, True)
    world.end()
    turn(herder, 2)
    assert (len(world.leases), world.config().leader.crowded) == (1, False)


def test_a_lease_that_waits_inside_spark_asks_those_that_stay_to_end(world: World, herder: Herder) -> None:
    running(world, herder)
    world.now += 1001
    turn(herder)
    assert not world.config().leader.crowded  # its worker is only slow to begin
    world.has_core = False
    turn(herder)
    assert world.config().leader.crowded
    [(lease, _)] = world.leases.values()
    told(world, msgspec.json.encode(LeaseProgress(lease.lease_id, ())))
    turn(herder)
    assert not world.config().leader.crowded
