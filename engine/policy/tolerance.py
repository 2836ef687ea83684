"""A task's error tolerance: total and sliding window (KIP-298, "Task Tolerance Limits")."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import orjson

MAX_ROWS = 48  # keeps the state small in commit metadata; up to this count every error has its own time
PACKED_ROWS = 24  # half of them, so that a window is packed once in about 24 errors


class ToleranceState(msgspec.Struct, frozen=True):
    """The errors so far. `window` holds (time of the first error in ms, errors) rows, oldest first."""

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
    """The tolerance limits. Limit n means error n + 1 fails the task; −1 is unlimited.

    The rate is never counted too high. Up to 48 errors it is exact. Above, it is too low by at most 1/24 of the limit,
    because the times of a day's errors do not fit into commit metadata.
    """

    limit: int = 0
    rate_limit: int = 0
    rate_duration_ms: int = 60_000

    def add(self, state: ToleranceState, now_ms: int) -> ToleranceState:
        """Return the state after one more error at `now_ms`."""
        if self.rate_limit == -1:
            return ToleranceState(state.total + 1, state.window)
        # The next lease may run on a machine whose clock is behind. The window must stay sorted.
        now_ms = max(now_ms, state.window[-1][0]) if state.window else now_ms
        window = self._within(state, now_ms)
        if window and window[-1][0] == now_ms:  # errors of one batch often share their time
            return ToleranceState(state.total + 1, (*window[:-1], (now_ms, window[-1][1] + 1)))
        window = (*window, (now_ms, 1))
        return ToleranceState(state.total + 1, window if len(window) <= MAX_ROWS else _packed(window))

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


def _packed(window: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """Merge neighbours into rows of at most 1/24 of the errors, each with the time of its first error.

    So an error may leave the window early, but never late: a task must not fail below its limit. At most one row lies
    across the start of the window, and its errors are all that the count can miss. Two neighbours together exceed
    1/24, so at most 47 rows are left.
    """
    most = -(-sum(count for _, count in window) // PACKED_ROWS)
    rows = [window[0]]
    for time, count in window[1:]:
        first, packed = rows[-1]
        if packed + count <= most:
            rows[-1] = first, packed + count
        else:
            rows.append((time, count))
    return tuple(rows)
