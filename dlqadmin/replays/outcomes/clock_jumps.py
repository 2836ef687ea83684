"""Clocks that are put ahead between two looks at outcomes: time that has not passed."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime, timedelta

from django.utils import timezone

SMALLEST = timedelta(seconds=10)  # smaller ones change nothing


def running_time() -> timedelta:
    """Return a time that nobody sets. It goes on while the machine is suspended, where the system has such a clock."""
    return timedelta(seconds=time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)))


class ClockJumps:
    """The jumps of this process's clock between calls."""

    def __init__(
        self, clock: Callable[[], datetime] = timezone.now, running: Callable[[], timedelta] = running_time
    ) -> None:
        self._clock, self._running = clock, running
        self._last: tuple[datetime, timedelta] | None = None

    def ahead(self) -> timedelta:
        """Return how far the clock was put ahead since the last call, zero if it was not."""
        last, self._last = self._last, (self._clock(), self._running())
        if last is None:
            return timedelta(0)
        ahead = (self._last[0] - last[0]) - (self._last[1] - last[1])
        return ahead if ahead >= SMALLEST else timedelta(0)
