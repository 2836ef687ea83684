"""Calls from other threads, executed by the thread that owns the herder's state."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from engine.errors import RequestConflict

T = TypeVar("T")


class Mailbox:
    """A queue of calls. Any thread may call `ask`; only the owner calls `serve`."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()
        self._closed = False

    def ask(self, call: Callable[[], T]) -> Future[T]:
        """Queue the call. The future gets its result, or the EngineError that it raised."""
        future: Future[T] = Future()
        if self._closed:
            future.set_exception(RequestConflict("the engine is stopping"))
        else:
            self._calls.put((future, call))
        return future

    def serve(self, wait_s: float) -> None:
        """Wait for a call, then execute all queued calls."""
        try:
            self._answer(*self._calls.get(timeout=wait_s))
            while True:
                self._answer(*self._calls.get_nowait())
        except Empty:
            return

    def close(self) -> None:
        """Execute the queued calls and accept no more."""
        self._closed = True
        self.serve(0)

    @staticmethod
    def _answer(future: Future[Any], call: Callable[[], Any]) -> None:
        # The caller may have cancelled it meanwhile.
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(call())
        except Exception as error:  # noqa: BLE001, whoever asked is told; the herder goes on
            future.set_exception(error)
