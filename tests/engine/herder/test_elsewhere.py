"""Tasks that read another cluster: the herder doesn't see their partitions, and shows what they report."""

from __future__ import annotations

from engine.config.topic import ConfigState
from engine.herder import fold
from engine.herder.snapshot import HerderSnapshot, task_status
from engine.herder.state import HerderSettings, HerderState, LeaseRun, TaskRun, lag
from engine.record.record import TopicPartition
from engine.worker_messages import ConnectorKind, Lease, LeaseEnd, TaskConfig, TaskReport

CONFIG = TaskConfig("m", 0, 1, {}, (), 0, kind=ConnectorKind.SOURCE)
LEASE = Lease("l", (CONFIG,), 1, 1000, {})


def reported(positions: dict[str, int], ends: dict[str, int]) -> TaskRun:
    state = HerderState(1, {CONFIG_KEY: TaskRun(CONFIG, located=True)}, {"l": LeaseRun(LEASE, 0)})
    report = TaskReport("m", 0, 1, LeaseEnd.BUDGET, positions, ends, {}, {}, {}, {}, progressed=True)
    return fold.fold_reports(state, "l", [report], 5, HerderSettings()).tasks[CONFIG_KEY]


CONFIG_KEY = ("m", 0)


def test_positions_ends_lag_and_topics_are_those_reported() -> None:
    task = reported({"t-0": 5, "u-1": 7}, {"t-0": 9, "u-1": 7})
    status = task_status(HerderSnapshot("w", config=ConfigState(), state=HerderState(1, {CONFIG_KEY: task})), task)
    assert (status["positions"], status["ends"]) == ({"t-0": 5, "u-1": 7}, {"t-0": 9, "u-1": 7})
    assert (status["lag"], status["topics"]) == (4, ["t", "u"])


def test_ends_of_the_workers_own_cluster_say_nothing_about_another() -> None:
    task = reported({"t-0": 5}, {"t-0": 6})
    assert lag(task, {TopicPartition("t", 0): 100}) == 1
