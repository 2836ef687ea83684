"""Repeated commits of an idle mirror.

Brokers expire the offsets of a group without members, unless they are committed again.
"""

from __future__ import annotations

import time
from collections.abc import Callable

REMIND_S = 600
TaskName = tuple[str, str, int]  # group of the workers, group of the positions, task number


class CommitRefresh:
    """The times of each task's last repeated commit. A task repeats only its own partitions' commits."""

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._reminded: dict[TaskName, float] = {}

    def is_due(self, task: TaskName) -> bool:
        """Return whether a repeated commit is due, and note it as done."""
        now = self._now_s()
        if task in self._reminded and now - self._reminded[task] < REMIND_S:
            return False
        self._reminded[task] = now
        return True
