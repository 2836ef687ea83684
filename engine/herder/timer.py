"""A timer for repeated actions. The time is a parameter."""

from __future__ import annotations


class Timer:
    """A timer that is due at the first call, and `every_ms` after each time it was due."""

    def __init__(self, every_ms: int) -> None:
        self._every_ms = every_ms
        self._next = 0

    def is_due(self, now: int) -> bool:
        """Return whether it is due. If so, start the next interval."""
        if now < self._next:
            return False
        self._next = now + self._every_ms
        return True
