"""The committed positions of tasks: read once per task, and repeatedly under a standing lease."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from engine.herder import fold
from engine.herder.connector_problems import ConnectorProblems
from engine.herder.positions import GroupOffsets
from engine.herder.snapshot import HerderSnapshot
from engine.herder.state import HerderSettings, HerderState

PARALLEL_READS = 8  # groups read at the same time; each needs its own client, and mostly waits for brokers


class TaskPositionReader:
    """The reader of task positions, a few groups at a time.

    A group that can't answer is a problem of its connector.
    """

    def __init__(self, offsets: GroupOffsets, settings: HerderSettings, problems: ConnectorProblems) -> None:
        self._offsets = offsets
        self._settings = settings
        self._problems = problems

    def locate(self, state: HerderState, now: int) -> HerderState:
        """Return the state with the positions of new tasks. A task whose group can't answer waits."""
        waiting = [task for task in state.tasks.values() if not task.located and task.not_before <= now]
        if not waiting:
            return state
        with ThreadPoolExecutor(PARALLEL_READS, thread_name_prefix="locating") as threads:
            for first in range(0, len(waiting), PARALLEL_READS):
                asked = [
                    (task, threads.submit(self._offsets.committed, task.config))
                    for task in waiting[first : first + PARALLEL_READS]
                ]
                for task, positions in asked:
                    with self._problems.catching(task.config.connector, f"reading offsets of task {task.config.task}"):
                        state = fold.fold_positions(state, task.key, positions.result())
                silent = [task for task, _ in asked if not state.tasks[task.key].located]
                for task in silent:
                    state = fold.fold_unlocated(state, task.key, now, self._settings)
                if silent:
                    break  # the next turn reads the rest: time-outs must not add up
        return state

    def follow(self, state: HerderState, view: HerderSnapshot, now: int) -> HerderState:
        """Return the state with the commits of standing leases, which report only at their end."""
        for run in state.leases.values():
            for task in run.lease.tasks if run.lease.standing else ():
                current = state.tasks.get((task.connector, task.task))
                if current is None or current.config.generation != task.generation:
                    continue
                facts = view.facts_of(task.connector)
                with self._problems.catching(task.connector, f"reading offsets of task {task.task}"):
                    positions, memory = self._offsets.progress(current.config, facts.stages)
                    state = fold.fold_progress(state, current.key, positions, memory, facts.tolerance, now)
        return state
