"""Rounds in which the sides take turns, so that what else the machine does meets them alike."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from benchmarks.results import Result, publish

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
Run = Callable[[str], float]


def records(default: int) -> int:
    """How many records a benchmark reads: BENCH_RECORDS, or as many as it needs for some seconds of steady work."""
    return int(os.environ.get("BENCH_RECORDS", default))


def alternate(sides: Mapping[str, Run], unit: str = "records/s", rounds: int = ROUNDS) -> dict[str, list[float]]:
    """Run each side once a round and print its figure; with each round another side is first.

    A side is given a name of its own for each run, for its group, its topics and its folder.
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


def compare(name: str, ours: Run, anchor: Run, goal: float) -> Result:
    """Alternate ours and the anchor, in records a second; print and write the result."""
    figures = alternate({"ours": ours, "anchor": anchor})
    return publish(Result(name, "records/s", figures["ours"], figures["anchor"], goal))
