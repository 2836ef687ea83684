"""connect-10, connect-50: connect-clean with 10 % and 50 % of the values cut short.

The damaged values are spread evenly. A value that is cut short is not JSON, so it goes to the dead
letter topic. Our dead letter is a JSON context that contains the record. Kafka Connect's is the
record with the context in its headers.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.results import BenchmarkResult
from benchmarks.rounds import records
from benchmarks.sinks import DROP, against_connect, events

OURS = "errors.deadletterqueue.include.messages=true\n"
ANCHOR = "errors.deadletterqueue.context.headers.enable=true\n"


def run_10() -> BenchmarkResult:
    """Compare with every tenth record damaged, print and write the result."""
    return _run("connect-10", 10, records(1_000_000), goal=3.0)


def run_50() -> BenchmarkResult:
    """Compare with every second record damaged, print and write the result."""
    return _run("connect-50", 2, records(500_000), goal=4.0)


def cut_values(values: Sequence[bytes], every: int) -> list[bytes]:
    """Repeat the values `every` times and cut short each one at a multiple of `every`.

    Each value is cut once. A different share of each remains, never the whole value.
    """
    times = [value for _ in range(every) for value in values]
    return [_cut(value, number) if number % every == 0 else value for number, value in enumerate(times)]


def _cut(value: bytes, number: int) -> bytes:
    return value[: len(value) * (1 + number % 9) // 10]


def _run(name: str, every: int, count: int, goal: float) -> BenchmarkResult:
    values, letters = cut_values(events(), every), -(-count // every)
    return against_connect(name, values, count, DROP, ours=OURS, anchor=ANCHOR, letters=letters, goal=goal)
