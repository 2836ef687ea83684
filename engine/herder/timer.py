"""A thing that is due every so often; time is a parameter."""

from __future__ import annotations


class Timer:
    """Due at the first asking, and again `every_ms` after each time it was."""

    def __init__(self, every_ms: int) -> None:
        self._every_ms = every_ms
        self._next = 0

    def due(self, now: int) -> bool:
        """Is it time? Asking when it is starts the next interval."""
        if now < self._next:
            return False
        self._next = now + self._every_ms
        return True
