"""planner: the cost of a herder turn with 10 000 tasks of 1 000 connectors, in ms of CPU.

No Kafka is involved. A turn folds the config topic, plans, grants leases and reports the statuses.
In one turn all tasks are caught up, in another 100 are behind.

Further figures: fold the report of a pooled lease, fold an operator's change of a connector, and
read the whole config topic as a new herder does.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from msgspec.structs import replace

from benchmarks.results import BenchmarkResult, publish
from benchmarks.rounds import alternate
from engine.config.topic import (
    ConfigState,
    KeyValue,
    Leader,
    TargetState,
    TaskEntry,
    commit_record,
    connector_record,
    fold_all,
    leader_record,
    target_record,
    task_record,
)
from engine.herder.fold import fold_config, fold_granted, fold_reports
from engine.herder.plan import plan
from engine.herder.snapshot import HerderSnapshot
from engine.herder.state import HerderSettings, HerderState
from engine.herder.status import StatusValues, status_values
from engine.record.record import TopicPartition
from engine.worker_messages import Lease, LeaseEnd, TaskReport

CONNECTORS, TASKS, BEHIND = 1_000, 10, 100
END, NOW = 1_000, 1_000_000
GOAL_MS = 200
SETTINGS = HerderSettings()


def run() -> list[BenchmarkResult]:
    """Measure, print and write the results."""
    bench = Planner()
    parts: dict[str, Callable[[], object]] = {
        "planner-idle": lambda: bench.turn(bench.ends),
        "planner-behind": lambda: bench.turn(bench.behind),
        "planner-report": bench.report,
        "planner-change": bench.change,
        "planner-replay": lambda: fold_all(ConfigState(), bench.records),
    }
    figures = alternate({name: _timed(part) for name, part in parts.items()}, "ms")
    return [publish(BenchmarkResult(name, "ms", found, None, GOAL_MS, "lower")) for name, found in figures.items()]


class Planner:
    """Ten thousand caught-up tasks and their possible next events.

    Raises RuntimeError if the events have no effect.
    """

    def __init__(self, connectors: int = CONNECTORS) -> None:
        self.records = _records(connectors)
        self.config = fold_all(ConfigState(), self.records)
        fresh = fold_config(HerderState(epoch=1), self.config, NOW)
        tasks = {
            key: replace(task, located=True, positions=dict.fromkeys(task.config.partitions, END))
            for key, task in fresh.tasks.items()
        }
        self.state = replace(fresh, tasks=tasks)
        self.ends = {partition: END for task in tasks.values() for partition in task.config.partitions}
        step = len(self.ends) // BEHIND
        self.behind = {partition: END + 1 if number % step == 0 else END for number, partition in enumerate(self.ends)}
        self.told: StatusValues = status_values(self._view(self.state, self.ends), {})
        self.leases = plan(self.state, self.behind, NOW, SETTINGS)
        self.granted = fold_granted(self.state, self.leases, NOW)
        self.changed = fold_all(self.config, [target_record("connector-0", TargetState.PAUSED)])
        if sum(len(lease.tasks) for lease in self.leases) != BEHIND:
            raise RuntimeError(f"the plan must lease {BEHIND} tasks, but it is: {self.leases}")
        if sum(task.target is TargetState.PAUSED for task in self.change().tasks.values()) != TASKS:
            raise RuntimeError("the connector is not paused")

    def turn(self, ends: dict[TopicPartition, int]) -> StatusValues:
        """Run one turn of the herder."""
        state = fold_config(self.state, self.config, NOW)
        state = fold_granted(state, plan(state, ends, NOW, SETTINGS), NOW)
        return status_values(self._view(state, dict(ends)), self.told)

    def report(self) -> HerderState:
        """Fold the report of the pooled lease with the most tasks."""
        lease = max(self.leases, key=lambda lease: len(lease.tasks))
        return fold_reports(self.granted, lease.lease_id, _reports(lease), NOW, SETTINGS)

    def change(self) -> HerderState:
        """Fold an operator's pause of a connector."""
        return fold_config(self.state, self.changed, NOW)

    def _view(self, state: HerderState, ends: dict[TopicPartition, int]) -> HerderSnapshot:
        return HerderSnapshot("bench", ready=True, config=self.config, state=state, ends=ends)


def _records(connectors: int) -> list[KeyValue]:
    """Return the config topic: every connector with its tasks."""
    rows = []
    for connector in range(connectors):
        name = f"connector-{connector}"
        properties = {"name": name, "connector.class": "FileStreamSink", "topics": name, "tasks.max": str(TASKS)}
        rows.append(connector_record(name, properties))
        entries = (TaskEntry(1, properties, (TopicPartition(name, number),)) for number in range(TASKS))
        rows += [task_record(name, number, entry) for number, entry in enumerate(entries)]
        rows.append(commit_record(name, TASKS, 1))
    return [*rows, leader_record(Leader(1, "bench", NOW))]


def _reports(lease: Lease) -> list[TaskReport]:
    return [
        TaskReport(
            task.connector, task.task, task.generation, LeaseEnd.CAUGHT_UP,
            {f"{topic}-{partition}": END + 1 for topic, partition in task.partitions}, {},
            {"total-records-delivered": 1}, {}, {}, {}, progressed=True,
        )
        for task in lease.tasks
    ]  # fmt: skip


def _timed(part: Callable[[], object]) -> Callable[[str], float]:
    """Return a function that measures `part` in milliseconds of CPU."""

    def measured(_run: str) -> float:
        began = time.process_time()
        part()
        return 1000 * (time.process_time() - began)

    return measured
