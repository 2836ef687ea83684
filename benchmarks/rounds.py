"""Alternating rounds, so that other load on the machine affects both sides equally."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from benchmarks.results import BenchmarkResult, publish

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
Run = Callable[[str], float]


def records(default: int) -> int:
    """Return the number of records a benchmark reads.

    BENCH_RECORDS overrides the default, which gives some seconds of steady work.
    """
    return int(os.environ.get("BENCH_RECORDS", default))


def alternate(sides: Mapping[str, Run], unit: str = "records/s", rounds: int = ROUNDS) -> dict[str, list[float]]:
    """Run each side once per round and print its figure. Each round starts with another side.

    Each run of a side gets its own name, for its group, topics and folder.
    """
    names = list(sides)
    figures: dict[str, list[float]] = {name: [] for name in names}
    width = max(map(len, names))
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            figure = sides[name](f"{name.replace(' ', '-')}-{number}")
            figures[name].append(figure)
            print(f"round {number + 1}: {name:<{width}} {figure:>14,.1f} {unit}", flush=True)
    return figures


def compare(name: str, ours: Run, anchor: Run, goal: float | None) -> BenchmarkResult:
    """Alternate both sides, in records per second; print and write the result."""
    figures = alternate({"ours": ours, "anchor": anchor})
    return publish(BenchmarkResult(name, "records/s", figures["ours"], figures["anchor"], goal))
