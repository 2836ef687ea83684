"""How the positions of new tasks are found."""

from __future__ import annotations

import threading
from typing import Any, cast

from engine.errors import RetriableError
from engine.herder.connector_problems import ConnectorProblems
from engine.herder.state import HerderSettings, HerderState, TaskRun
from engine.herder.task_positions import PARALLEL_READS, TaskPositionReader
from engine.record.record import TopicPartition
from engine.worker_messages import TaskConfig

NOW = 1_000_000
ZERO = TopicPartition("t", 0)


def new_tasks(count: int) -> HerderState:
    tasks = [TaskRun(TaskConfig(f"c{number:02}", 0, 1, {}, (ZERO,))) for number in range(count)]
    return HerderState(tasks={task.key: task for task in tasks})


class Groups:
    """Where each group stands; `silent` can't say."""

    def __init__(self, together: int = 1, silent: frozenset[str] = frozenset()) -> None:
        self._together = threading.Barrier(together)
        self._silent = silent
        self.asked: set[str] = set()

    def committed(self, task: TaskConfig) -> dict[TopicPartition, int]:
        self.asked.add(task.connector)
        self._together.wait(60)
        if task.connector in self._silent:
            raise RetriableError("timed out")
        return {ZERO: int(task.connector[1:])}


def locate(groups: Groups, state: HerderState) -> HerderState:
    return TaskPositionReader(cast("Any", groups), HerderSettings(), ConnectorProblems()).locate(state, NOW)


def test_groups_are_asked_together_and_each_answer_is_its_own_tasks() -> None:
    after = locate(Groups(together=PARALLEL_READS), new_tasks(2 * PARALLEL_READS))
    assert {task.config.connector: task.positions for task in after.tasks.values()} == {
        f"c{number:02}": {ZERO: number} for number in range(2 * PARALLEL_READS)
    }


def test_behind_groups_that_can_not_answer_nobody_else_is_asked_before_the_next_turn() -> None:
    silent = frozenset({"c01", "c02"})
    groups = Groups(silent=silent)
    after = locate(groups, new_tasks(PARALLEL_READS + 1))
    assert f"c{PARALLEL_READS:02}" not in groups.asked
    located = {name for (name, _), task in after.tasks.items() if task.located}
    assert located == groups.asked - silent
    assert {after.tasks[name, 0].not_before > NOW for name in silent} == {True}
    again = locate(groups, after)
    assert (again.tasks[f"c{PARALLEL_READS:02}", 0].located, len(groups.asked)) == (True, PARALLEL_READS + 1)
