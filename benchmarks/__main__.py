"""Run the named benchmarks, or all: `python -m benchmarks [name …]`."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Sequence

from benchmarks import (
    alerts,
    connect_chain,
    connect_clean,
    connect_damaged,
    copy,
    dashboard,
    dataframes,
    exactly_once,
    external_sinks,
    idle,
    index,
    latency,
    many_small,
    memory,
    mirror,
    planner,
    replay,
    scale,
    sink_lanes,
    start,
    steps,
)

BENCHMARKS: dict[str, Callable[[], object]] = {
    "connect-clean": connect_clean.run,
    "connect-10": connect_damaged.run_10,
    "connect-50": connect_damaged.run_50,
    "connect-chain": connect_chain.run,
    "copy": copy.run,
    "copy-eos": copy.run_eos,
    "exactly-once": exactly_once.run,
    "sink-http": external_sinks.run_http,
    "sink-http-batch": external_sinks.run_http_batch,
    "sink-elasticsearch": external_sinks.run_elasticsearch,
    "sink-objects": external_sinks.run_objects,
    "sink-delta": external_sinks.run_delta,
    "sink-lanes": sink_lanes.run,
    "dataframes": dataframes.run,
    "dataframes-10": dataframes.run_10,
    "dataframes-source": dataframes.run_source,
    "mirror": mirror.run,
    "mirror-eos": mirror.run_eos,
    "scale": scale.run,
    "planner": planner.run,
    "start": start.run,
    "steps": steps.run,
    "memory": memory.run,
    "latency": latency.run,
    "many-small": many_small.run,
    "idle": idle.run,
    "index": index.run,
    "dashboard": dashboard.run,
    "alerts": alerts.run,
    "replay": replay.run,
}


def main(names: Sequence[str]) -> int:
    """Run the named benchmarks, or all. Returns 2 for an unknown name."""
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"unknown benchmark {unknown[0]!r}; choose from: {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    # Exit normally on SIGTERM, so that started programs are stopped.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    for name in names or BENCHMARKS:
        BENCHMARKS[name]()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
