"""many-small: 200 connectors with 1 record per second each, against Kafka Connect.

It measures the records' latency from produce to delivery, and the CPU time of all processes of a
side meanwhile.
"""

from __future__ import annotations

import os
from functools import partial

from benchmarks.arrivals import LatencyResult
from benchmarks.ground import ground
from benchmarks.latency import deliver, percentile
from benchmarks.results import BenchmarkResult, publish
from benchmarks.rounds import alternate

CONNECTORS = int(os.environ.get("BENCH_CONNECTORS", "200"))
SECONDS = float(os.environ.get("BENCH_SECONDS", "30"))


def run() -> list[BenchmarkResult]:
    """Compare both sides, print and write the results."""
    seen: dict[str, list[LatencyResult]] = {"ours": [], "anchor": []}
    with ground() as where:

        def run_side(side: str, name: str) -> float:
            measured = deliver(
                where, name, connectors=CONNECTORS, rate=CONNECTORS, seconds=SECONDS, ours=side == "ours"
            )
            seen[side].append(measured)
            return measured.percentile(99)

        alternate({side: partial(run_side, side) for side in seen}, "ms (p99)")
    ours, anchor = ([one.cpu_s / SECONDS for one in seen[side]] for side in ("ours", "anchor"))
    cpu = BenchmarkResult("many-small-cpu", "CPU seconds a second", ours, anchor, 1.0, "lower")
    return [percentile("many-small", seen, 99, goal=0.5), publish(cpu)]
