"""The planner's benchmark does what it says that it measures."""

from __future__ import annotations

from benchmarks.planner import BEHIND, END, Planner


def test_a_turn_grants_leases_to_those_behind_and_tells_them() -> None:
    bench = Planner(connectors=20)
    assert bench.turn(bench.ends) == bench.told
    told = bench.turn(bench.behind)
    assert sum(told[key] is not bench.told[key] for key in told if key.startswith("status-task-")) == BEHIND


def test_a_report_moves_its_tasks() -> None:
    bench = Planner(connectors=20)
    after = bench.report()
    assert len(after.leases) == len(bench.granted.leases) - 1
    assert sum(END + 1 in task.positions.values() for task in after.tasks.values()) > 1
