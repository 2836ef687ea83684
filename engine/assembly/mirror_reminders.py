"""When the positions of an idle mirror are committed again: brokers forget those of a group that nobody is in."""

from __future__ import annotations

import time
from collections.abc import Callable

REMIND_S = 600
TaskName = tuple[str, str, int]  # group of the workers, group of the positions, number of the task


class Reminders:
    """When each task committed its positions again last. A task reminds of its own partitions only."""

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._reminded: dict[TaskName, float] = {}

    def is_due(self, task: TaskName) -> bool:
        """Has the task not done so for long? Asking makes it so."""
        now = self._now_s()
        if task in self._reminded and now - self._reminded[task] < REMIND_S:
            return False
        self._reminded[task] = now
        return True
