"""Where tasks stand by what their groups say: read once for each task, and again and again under a standing lease."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from engine.herder import fold
from engine.herder.positions import GroupOffsets
from engine.herder.state import HerderState, Settings
from engine.herder.troubles import Troubles
from engine.herder.view import View

TOGETHER = 8  # groups are asked at once: each needs a client of its own, which is mostly waited for


class Locating:
    """Groups are asked a few at a time; a group that can't answer is its connector's trouble."""

    def __init__(self, offsets: GroupOffsets, settings: Settings, troubles: Troubles) -> None:
        self._offsets = offsets
        self._settings = settings
        self._troubles = troubles

    def locate(self, state: HerderState, now: int) -> HerderState:
        """The state with the positions of tasks that are new here; a task whose group can't answer waits."""
        waiting = [task for task in state.tasks.values() if not task.located and task.not_before <= now]
        if not waiting:
            return state
        with ThreadPoolExecutor(TOGETHER, thread_name_prefix="locating") as threads:
            for first in range(0, len(waiting), TOGETHER):
                asked = [
                    (task, threads.submit(self._offsets.committed, task.config))
                    for task in waiting[first : first + TOGETHER]
                ]
                for task, positions in asked:
                    with self._troubles.kept(task.config.connector, f"offsets of task {task.config.task}"):
                        state = fold.fold_positions(state, task.key, positions.result())
                silent = [task for task, _ in asked if not state.tasks[task.key].located]
                for task in silent:
                    state = fold.fold_unlocated(state, task.key, now, self._settings)
                if silent:
                    break  # the next turn asks the next ones: time-outs must not add up
        return state

    def follow(self, state: HerderState, view: View, now: int) -> HerderState:
        """The state with what tasks under standing leases have committed: these report only when they end."""
        for run in state.leases.values():
            for task in run.lease.tasks if run.lease.standing else ():
                current = state.tasks.get((task.connector, task.task))
                if current is None or current.config.generation != task.generation:
                    continue
                facts = view.facts_of(task.connector)
                with self._troubles.kept(task.connector, f"offsets of task {task.task}"):
                    positions, memory = self._offsets.progress(current.config, facts.stages)
                    state = fold.fold_progress(state, current.key, positions, memory, facts.tolerance, now)
        return state
