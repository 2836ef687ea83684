"""What a lease does with a task whose transaction was aborted."""

from __future__ import annotations

from engine.errors import Aborted
from engine.pipeline.lease import Deadline, Finish, run_tasks
from engine.pipeline.opened_task import OpenTask
from engine.policy.tolerance import TolerancePolicy
from engine.worker_messages import Lease, LeaseEnd, TaskConfig
from tests.engine.pipeline.rig import Rig, rows
from tests.engine.pipeline.test_lease import tail
from tests.fakes import Clock

BUDGET_MS = 2_000


def test_a_task_that_needed_its_whole_budget_to_be_aborted_gets_another_one_to_go_in_small_steps() -> None:
    clock = Clock()
    opened: list[bool] = []

    def slow_and_aborted(raws: object) -> None:
        clock.time_ms += 2 * BUDGET_MS
        raise Aborted("one of them was rejected")

    def open_task(config: TaskConfig, careful: bool) -> Finish:
        opened.append(careful)
        rig = Rig(rows(b"1", b"2"), clock=clock)
        if not careful:
            rig.task.process = slow_and_aborted  # type: ignore[method-assign] # of a fake
        return lambda: OpenTask(config, rig.task, TolerancePolicy(-1, -1), lambda: None, careful)

    lease = Lease("l", (TaskConfig("c", 0, 1, {}, ()),), 1, BUDGET_MS, {})
    [report] = run_tasks(lease, tail("c", clock), clock, open_task, Deadline(clock, BUDGET_MS))
    assert opened == [False, True]
    assert (report.end, report.positions) == (LeaseEnd.CAUGHT_UP, {"t-0": 2})
