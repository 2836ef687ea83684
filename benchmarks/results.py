"""The output of a benchmark, for people and as a file."""

from __future__ import annotations

import json
import os
import platform
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from demo.jars import KAFKA_VERSION

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class BenchmarkResult:
    """The figures of both sides in `unit`, one per round.

    `goal` is the minimum ratio, or the bound of our figure without an anchor. A result without a goal
    is only informative. `better` is the direction of improvement: a `ratio` > 1 means that our side is
    better, whatever the unit.
    """

    name: str
    unit: str
    ours: Sequence[float]
    anchor: Sequence[float] | None
    goal: float | None
    better: Literal["higher", "lower"] = "higher"

    @property
    def ratio(self) -> float | None:
        """Return the ratio of the medians; None without an anchor."""
        if self.anchor is None:
            return None
        ours, anchor = statistics.median(self.ours), statistics.median(self.anchor)
        return ours / anchor if self.better == "higher" else anchor / ours


def publish(result: BenchmarkResult, folder: Path = RESULTS) -> BenchmarkResult:
    """Print the table, write `<folder>/<name>.json` and return the result."""
    print(table(result), flush=True)
    folder.mkdir(exist_ok=True)
    (folder / f"{result.name}.json").write_text(json.dumps(document(result), indent=2) + "\n")
    return result


def table(result: BenchmarkResult) -> str:
    """Return the result for people: medians, range, ratio and goal."""
    lines = [f"\n{result.name}, {result.unit}, {result.better} is better, rounds: {len(result.ours)}"]
    for side, figures in (("ours", result.ours), ("anchor", result.anchor)):
        if figures is not None:
            spread = f"from {_figure(min(figures))} to {_figure(max(figures))}"
            lines.append(f"  {side:<7} median {_figure(statistics.median(figures))}   {spread}")
    if result.ratio is not None:
        lines.append(f"  ratio   {result.ratio:.2f}" + ("" if result.goal is None else f" (goal {result.goal:.2f})"))
    elif result.goal is not None:
        lines.append(f"  goal    {'at least' if result.better == 'higher' else 'at most'} {result.goal:,g}")
    return "\n".join(lines)


def document(result: BenchmarkResult) -> dict[str, Any]:
    """Return the result for programs."""
    ratio = result.ratio
    return asdict(result) | {
        "ratio": None if ratio is None else round(ratio, 3),
        "rounds": len(result.ours),
        "cores": os.cpu_count(),
        "versions": {
            "python": platform.python_version(),
            "pyspark": version("pyspark"),
            "confluent-kafka": version("confluent-kafka"),
            "kafka": KAFKA_VERSION,
        },
    }


def _figure(figure: float) -> str:
    return f"{figure:>12,.0f}" if abs(figure) >= 1000 else f"{figure:>12,.4g}"
