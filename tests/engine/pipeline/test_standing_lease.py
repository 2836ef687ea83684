"""What a standing lease survives, and what it spends on itself."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from engine.errors import Aborted, RetriableError
from engine.pipeline.claim import ConfigTail
from engine.pipeline.lease import Deadline, Finish, must_stop, run_tasks
from engine.pipeline.opened_task import OpenTask
from engine.pipeline.outcome import Interrupted
from engine.pipeline.task_state import TaskFigures, TaskState
from engine.policy.tolerance import TolerancePolicy
from engine.worker_messages import ConnectorKind, Lease, LeaseEnd, TaskConfig, TaskReport
from tests.engine.pipeline.rig import STAGES
from tests.engine.pipeline.test_claim import RECORDS, config_records
from tests.fakes import Clock, Consumer


class Stepping:
    """A task that takes a tenth of a second for a step and is told to stop after so many."""

    has_progressed = False
    last_count: int | None = None
    can_commit_in_background = False

    def __init__(self, clock: Clock, steps: int) -> None:
        self.state = TaskState(0, 1, 0, STAGES)
        self.committed: dict[Any, int] = {}
        self.clock = clock
        self.left = steps

    def step(self, timeout_s: float) -> Interrupted | None:
        self.clock.time_ms += 100
        self.left -= 1
        return None if self.left else Interrupted(None)

    def save(self) -> None:
        return None

    def is_idle(self) -> bool:
        return False

    def wake_at(self) -> None:
        return None

    def end_offsets(self) -> dict[Any, int]:
        return {}

    def topics_written(self) -> tuple[str, ...]:
        return ()

    def figures(self) -> TaskFigures:
        return self.state.figures()


def tail_of(clock: Clock, on_poll: Callable[[], None]) -> ConfigTail:
    consumer = Consumer(config_records(*RECORDS))
    tail = ConfigTail(consumer, "configs", clock)
    tail.read_to_end()
    consumer.on_poll = on_poll
    return tail


def lease_of(kind: ConnectorKind) -> Lease:
    return Lease("1-1", (TaskConfig("c", 0, 1, {"name": "c"}, (), kind=kind),), 1, 10**9, {})


def run(kind: ConnectorKind, clock: Clock, steps: int, on_poll: Callable[[], None] = lambda: None) -> TaskReport:
    lease = lease_of(kind)
    opened = OpenTask(lease.tasks[0], Stepping(clock, steps), TolerancePolicy(0, 0), lambda: None)
    (report,) = run_tasks(lease, tail_of(clock, on_poll), clock, lambda *_: lambda: opened, Deadline(clock, 10**9))
    return report


@pytest.mark.parametrize(
    ("kind", "end"), [(ConnectorKind.SINK, LeaseEnd.PARKED), (ConnectorKind.STREAM, LeaseEnd.STOPPED)]
)
def test_a_config_topic_that_is_away_for_a_moment_ends_no_standing_lease(kind: ConnectorKind, end: LeaseEnd) -> None:
    troubles = [RetriableError("_TRANSPORT"), RetriableError("_TRANSPORT")]

    def away() -> None:
        if troubles:
            raise troubles.pop()

    clock = Clock()
    assert run(kind, clock, 3, away).end is end
    assert clock.waits == ([1_000, 1_000] if kind is ConnectorKind.STREAM else [])


def test_a_standing_leases_wait_goes_on_while_nobody_can_say_whether_to_stop() -> None:
    def away() -> None:
        raise RetriableError("_TRANSPORT")

    stream, sink = lease_of(ConnectorKind.STREAM), lease_of(ConnectorKind.SINK)
    assert not must_stop(stream, tail_of(Clock(), away), stream.tasks[0])
    with pytest.raises(RetriableError):
        must_stop(sink, tail_of(Clock(), away), sink.tasks[0])
    newer = msgspec.structs.replace(stream, leader_epoch=2)
    assert must_stop(newer, tail_of(Clock(), lambda: None), stream.tasks[0])


def test_collecting_takes_a_twentieth_of_a_leases_time_at_most() -> None:
    clock, spent = Clock(), []

    def costly(phase: str, info: dict[str, int]) -> None:
        if phase == "stop" and info["generation"] == 2:
            clock.time_ms += 100
            spent.append(100)

    gc.disable()
    gc.callbacks.append(costly)
    try:
        began = clock.now_ms()
        run(ConnectorKind.STREAM, clock, 1_000)
    finally:
        gc.callbacks.remove(costly)
        gc.enable()
    assert 0.03 < sum(spent) / (clock.now_ms() - began) <= 0.05


class Idle(Stepping):
    """As a source that gives up what is open when its time is over, and then has nothing open."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock, 100)
        self.gave_up = False

    def save(self) -> None:
        self.gave_up = True

    def is_idle(self) -> bool:
        return self.gave_up


def test_a_source_whose_budget_is_over_has_not_caught_up_because_it_gave_something_up() -> None:
    clock, lease = Clock(), lease_of(ConnectorKind.SOURCE)
    opened = OpenTask(lease.tasks[0], Idle(clock), TolerancePolicy(0, 0), lambda: None)
    (report,) = run_tasks(lease, tail_of(clock, lambda: None), clock, lambda *_: lambda: opened, Deadline(clock, 1_000))
    assert report.end is LeaseEnd.BUDGET


class Aborting(Stepping):
    """Its first `aborts` steps end in an aborted transaction."""

    def __init__(self, clock: Clock, aborts: int) -> None:
        super().__init__(clock, 3)
        self.aborts = aborts

    def step(self, timeout_s: float) -> Interrupted | None:
        if self.aborts:
            self.aborts -= 1
            raise Aborted("a record was rejected")
        return super().step(timeout_s)


@pytest.mark.parametrize(
    ("aborts", "end", "how"), [(1, LeaseEnd.STOPPED, [False, True]), (2, LeaseEnd.PARKED, [False, True])]
)
def test_after_an_abort_a_task_is_claimed_again_to_go_in_small_steps_and_rests_after_another(
    aborts: int, end: LeaseEnd, how: list[bool]
) -> None:
    clock, lease, opened, closed = Clock(), lease_of(ConnectorKind.SINK), [], []
    task = Aborting(clock, aborts)

    def open_task(config: TaskConfig, careful: bool) -> Finish:
        opened.append(careful)
        return lambda: OpenTask(config, task, TolerancePolicy(0, 0), lambda: closed.append(careful), careful)

    (report,) = run_tasks(lease, tail_of(clock, lambda: None), clock, open_task, Deadline(clock, 10**9))
    assert (report.end, opened, closed) == (end, how, how)
