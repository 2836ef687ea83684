"""Statistics over the last minute, in two samples of 30 s, as Kafka's clients sample their metrics. Pure."""

from __future__ import annotations

from functools import reduce
from typing import Protocol, Self, TypeVar

SAMPLE_MS = 30_000
EXPIRE_MS = 2 * SAMPLE_MS


class Joinable(Protocol):
    """Statistics that can be joined with newer ones."""

    def joined(self, newer: Self) -> Self: ...


Value = TypeVar("Value", bound=Joinable)
Samples = tuple[tuple[int, Value], ...]  # the time (ms) when a sample began, and its statistics; the oldest first


def add_sampled(samples: Samples[Value], value: Value, now_ms: int) -> Samples[Value]:
    """Return the samples with newer statistics. Only the last two are kept."""
    if samples and now_ms - samples[-1][0] < SAMPLE_MS:
        *before, (since_ms, current) = samples
        return (*before, (since_ms, current.joined(value)))
    return (*samples[-1:], (now_ms, value))


def read_sampled(samples: Samples[Value], now_ms: int) -> Value | None:
    """Return the statistics of the samples that began within the last minute, or None if there are none."""
    live = [value for since_ms, value in samples if now_ms - since_ms < EXPIRE_MS]
    return reduce(lambda older, newer: older.joined(newer), live) if live else None


def sampled_seconds(samples: Samples[Value], now_ms: int) -> float:
    """Return the length of time that `read_sampled` covers; at least that of one sample."""
    oldest_ms = next((since_ms for since_ms, _ in samples if now_ms - since_ms < EXPIRE_MS), now_ms)
    return max(now_ms - oldest_ms, SAMPLE_MS) / 1000
