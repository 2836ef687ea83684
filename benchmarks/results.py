"""What a benchmark prints and writes."""

from __future__ import annotations

import json
import os
import platform
import statistics
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Result:
    """Rates of both sides, one figure a round; `ratio` > 1 means ours is better."""

    name: str
    unit: str
    ours: list[float]
    anchor: list[float]
    goal: float

    @property
    def ratio(self) -> float:
        return statistics.median(self.ours) / statistics.median(self.anchor)


def publish(result: Result, kafka_version: str) -> None:
    """Print the table and write `benchmarks/results/<name>.json`."""
    print(f"\n{result.name}, {result.unit}, {len(result.ours)} rounds alternating")
    for side, rounds in (("ours", result.ours), ("anchor", result.anchor)):
        spread = f"from {min(rounds):>12,.0f} to {max(rounds):>12,.0f}"
        print(f"  {side:<7} median {statistics.median(rounds):>12,.0f}   {spread}")
    print(f"  ratio   {result.ratio:.2f} (goal {result.goal:.2f})")
    document = asdict(result) | {
        "ratio": round(result.ratio, 3),
        "rounds": len(result.ours),
        "cores": os.cpu_count(),
        "versions": {
            "python": platform.python_version(),
            "pyspark": version("pyspark"),
            "confluent-kafka": version("confluent-kafka"),
            "kafka": kafka_version,
        },
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"{result.name}.json").write_text(json.dumps(document, indent=2) + "\n")
