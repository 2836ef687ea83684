"""Commits that wait for brokers, made aside: the other tasks of the lease go on meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Generic, TypeVar

THREADS = 8
Saved = TypeVar("Saved")


class Aside(Generic[Saved]):
    """At most one commit of each task at a time; all but the commits themselves happens on the lease's own thread."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="aside")  # they start with the first commit
        self._under_way: dict[str, Future[Saved]] = {}

    def begin(self, task: str, save: Callable[[], Saved]) -> None:
        """Make it on another thread."""
        self._under_way[task] = self._threads.submit(save)

    def is_under_way(self, task: str) -> bool:
        return task in self._under_way and not self._under_way[task].done()

    def take(self, task: str) -> Saved | None:
        """Wait for the task's commit, and say what came of it; None where none was begun. Raises what it raised."""
        begun = self._under_way.pop(task, None)
        return None if begun is None else begun.result()

    def close(self) -> None:
        """Wait for all of them."""
        self._threads.shutdown()
