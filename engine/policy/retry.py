"""The retry policy: exponential back-off with a count and a deadline (KIP-298, "Retry on Failure")."""

from __future__ import annotations

from dataclasses import dataclass

FIRST_DELAY_MS = 300


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """A retry policy. `limit` −1 retries for ever; `timeout_ms` None or −1 sets no deadline."""

    limit: int = 0
    delay_max_ms: int = 60_000
    timeout_ms: int | None = None

    def decide(self, attempt: int, elapsed_ms: int, jitter: float, pause_ms: int = 0) -> int | None:
        """Return the wait in ms before the next attempt, or None to give up.

        `attempt` ≥ 1 counts the failures so far. `elapsed_ms` is the time since the first attempt began. `jitter` in
        [0, 1] places the wait between half and whole of the back-off. `pause_ms` is the pause that the target asks for.
        It may exceed `delay_max_ms`, but not the deadline.
        """
        if self.limit != -1 and attempt > self.limit:
            return None
        delay = max(backoff_ms(attempt, self.delay_max_ms, jitter), pause_ms)
        if self.timeout_ms is None or self.timeout_ms < 0:
            return delay
        left = self.timeout_ms - elapsed_ms
        # The last attempt is made at the deadline, even if the whole back-off does not fit before it.
        return min(delay, left) if left > 0 else None


def backoff_ms(attempt: int, max_ms: int, jitter: float) -> int:
    """Return min(300 × 2^(attempt−1), max), spread randomly over the upper half of it."""
    # The shift is bounded: retries without limit would build ever larger numbers.
    delay_ms = min(FIRST_DELAY_MS << min(attempt - 1, 62), max_ms)
    half = (delay_ms + 1) // 2
    return min(half + round(jitter * (delay_ms - half)), delay_ms)  # a float may round above the largest longs
