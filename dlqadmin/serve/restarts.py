"""When a process that has ended starts again. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

FIRST_DELAY_S, LONGEST_DELAY_S = 1.0, 30.0
MOST_ENDS = 5  # in a row
STEADY_S = 60.0  # a process that ran for so long begins a new row


@dataclass
class RestartSchedule:
    """The restarts of some processes, with a growing delay. Times are monotonic seconds."""

    _started: dict[str, float] = field(default_factory=dict)
    _ends: dict[str, int] = field(default_factory=dict)
    _due: dict[str, float] = field(default_factory=dict)

    def started(self, name: str, now: float) -> None:
        """Note that a process has started."""
        self._started[name] = now
        self._due.pop(name, None)

    def ended(self, name: str, now: float) -> float | None:
        """Note that a process has ended. Return the delay of its restart in seconds; None if it must not start again.

        A process that already waits has no new delay.
        """
        is_steady = now - self._started.get(name, now) >= STEADY_S
        self._ends[name] = 1 if is_steady else self._ends.get(name, 0) + 1
        if self._ends[name] >= MOST_ENDS:
            return None
        delay = min(LONGEST_DELAY_S, FIRST_DELAY_S * 2.0 ** (self._ends[name] - 1))
        self._due[name] = now + delay
        return delay

    def is_waiting(self, name: str) -> bool:
        """Return whether the process has ended and starts again later."""
        return name in self._due

    def due(self, now: float) -> list[str]:
        """Return the processes that must start now."""
        return [name for name, at in self._due.items() if at <= now]
