"""The system clock of a worker."""

from __future__ import annotations

import time
from collections.abc import Callable

SLICE_MS = 20  # a stop request ends a wait this soon


class WorkerClock:
    """The system clock; its waits end early when `must_stop` returns true."""

    def __init__(self, must_stop: Callable[[], bool] = lambda: False) -> None:
        self.must_stop = must_stop

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def wait(self, ms: int) -> bool:
        # Not the wall clock, whose corrections would lengthen or shorten the wait.
        end = time.monotonic() + ms / 1000
        while (left := end - time.monotonic()) > 0:
            if self.must_stop():
                return True
            time.sleep(min(left, SLICE_MS / 1000))
        return self.must_stop()
