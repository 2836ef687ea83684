"""The log of tasks that fail, in the driver. Each failure is logged once, by the driver that leads."""

from __future__ import annotations

from engine.herder.state import HerderState, TaskKey
from engine.reporting.log_lines import log_task_failure


class FailureLog:
    """The tasks whose failure is logged already."""

    def __init__(self) -> None:
        self._state = HerderState()
        self._failed: frozenset[TaskKey] = frozenset()

    def restore(self, state: HerderState) -> None:
        """Note tasks that failed under an earlier leader. That driver has logged them."""
        self._state, self._failed = state, _failed(state)

    def turn(self, state: HerderState) -> None:
        """Log each task that has failed since the last call."""
        if state.tasks is self._state.tasks:
            return
        failed = _failed(state)
        for connector, task in sorted(failed - self._failed):
            log_task_failure(connector, task, state.tasks[connector, task].trace or "")
        self._state, self._failed = state, failed


def _failed(state: HerderState) -> frozenset[TaskKey]:
    return frozenset(key for key, task in state.tasks.items() if task.failed)
