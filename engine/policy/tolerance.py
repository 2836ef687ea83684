"""A task's error tolerance: total and sliding window (KIP-298, "Task Tolerance Limits")."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

import msgspec
import orjson

MAX_ENTRIES = 48  # keeps the state small in commit metadata; up to this count every error has its own time
SLOTS = 24


class ToleranceState(msgspec.Struct, frozen=True):
    """The errors so far. `window` holds (time in ms, errors) rows, oldest first."""

    total: int = 0
    window: tuple[tuple[int, int], ...] = ()

    def to_json(self) -> str:
        """Return `[total, first time, errors, ms later, errors, …]`: a few hundred bytes at most."""
        flat, last = [self.total], 0
        for time, count in self.window:
            flat += (time - last, count)
            last = time
        return orjson.dumps(flat).decode()

    @classmethod
    def from_json(cls, text: str) -> ToleranceState:
        """Parse the output of `to_json`."""
        total, *flat = orjson.loads(text)
        rows, time = [], 0
        for step, count in zip(flat[::2], flat[1::2], strict=True):
            time += step
            rows.append((time, count))
        return cls(total, tuple(rows))


@dataclass(frozen=True, slots=True)
class TolerancePolicy:
    """The tolerance limits. Limit n means error n + 1 fails the task; −1 is unlimited."""

    limit: int = 0
    rate_limit: int = 0
    rate_duration_ms: int = 60_000

    def add(self, state: ToleranceState, now_ms: int) -> ToleranceState:
        """Return the state after one more error at `now_ms`."""
        if self.rate_limit == -1:
            return ToleranceState(state.total + 1, state.window)
        # The next lease may run on a machine whose clock is behind. The window must stay sorted.
        now_ms = max(now_ms, state.window[-1][0]) if state.window else now_ms
        window = (*self._within(state, now_ms), (now_ms, 1))
        return ToleranceState(state.total + 1, self._coalesce(window) if len(window) > MAX_ENTRIES else window)

    def after(self, state: ToleranceState, now_ms: int) -> tuple[bool, ToleranceState]:
        """Return whether one more error at `now_ms` exceeds a limit, and the state after it."""
        if self.limit == -1 == self.rate_limit:
            return False, ToleranceState(state.total + 1, state.window)
        state = self.add(state, now_ms)
        return self.is_exceeded(state, now_ms), state

    def is_exceeded(self, state: ToleranceState, now_ms: int) -> bool:
        """Return whether there are more errors than a limit allows."""
        # KIP-298 says both "exceed" and "is reached". Here a limit of 10 fails the task at error 11.
        if self.limit != -1 and state.total > self.limit:
            return True
        return self.rate_limit != -1 and self._rate(state, now_ms) > self.rate_limit

    def used(self, state: ToleranceState, now_ms: int) -> dict[str, int]:
        """Return the error budget for display."""
        return {
            "limit": self.limit,
            "used": state.total,
            "rate_limit": self.rate_limit,
            "rate_used": self._rate(state, now_ms),
        }

    def _rate(self, state: ToleranceState, now_ms: int) -> int:
        return sum(count for _, count in self._within(state, now_ms))

    def _within(self, state: ToleranceState, now_ms: int) -> tuple[tuple[int, int], ...]:
        start, window = now_ms - self.rate_duration_ms, state.window
        if not window or window[0][0] > start:  # fast path: the oldest error is nearly always in the window
            return window
        return tuple(row for row in window if row[0] > start)

    def _coalesce(self, window: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
        """Merge errors that are close in time. They get the newest time, so the count is never too low."""
        width = max(self.rate_duration_ms // SLOTS, 1)
        slots = [list(rows) for _, rows in groupby(window, key=lambda row: row[0] // width)]
        return tuple((rows[-1][0], sum(count for _, count in rows)) for rows in slots)
