"""Commit tasks' offsets on background threads.

A slow broker then does not block the other tasks of the lease.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

THREADS = 8
Saved = TypeVar("Saved")


class BackgroundCommits(Generic[Saved]):
    """Commits on background threads, at most one per task at a time.

    Only the commits run on the threads. Every method is called on the lease's own thread.
    """

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="aside")  # threads start with the first commit
        self._under_way: dict[str, Future[Saved]] = {}

    def begin(self, task: str, save: Callable[[], Saved]) -> None:
        """Start the task's commit on another thread."""
        # The lease takes the result of a task's last commit before it begins the next, so none is overwritten here.
        self._under_way[task] = self._threads.submit(save)

    def is_under_way(self, task: str) -> bool:
        return task in self._under_way and not self._under_way[task].done()

    def take(self, task: str) -> Saved | None:
        """Wait for the task's commit and return its result, or None if none was started.

        Raises what the commit raised.
        """
        begun = self._under_way.pop(task, None)
        return None if begun is None else begun.result()

    def close(self) -> None:
        """Wait for all commits."""
        self._threads.shutdown()
