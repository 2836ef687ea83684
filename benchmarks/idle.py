"""idle: the CPU time of 200 idle connectors within a minute, against 1; both are the engine's."""

from __future__ import annotations

import os
import time
from contextlib import closing
from functools import partial

from confluent_kafka import Producer

from benchmarks.arrivals import FileTail, await_all, cpu, send
from benchmarks.ground import BenchmarkSetup, ground
from benchmarks.latency import OURS, SINK
from benchmarks.ours import start_engine
from benchmarks.results import BenchmarkResult, publish
from benchmarks.rounds import alternate

CONNECTORS = int(os.environ.get("BENCH_CONNECTORS", "200"))
SECONDS = float(os.environ.get("BENCH_SECONDS", "60"))
SETTLE_S = 10


def run() -> BenchmarkResult:
    """Compare both sides, print and write the result. The anchor is one connector."""
    with ground() as where:
        sides = {f"{count} idle": partial(_idle, where, count) for count in (CONNECTORS, 1)}
        many, one = alternate(sides, "CPU seconds").values()
    return publish(BenchmarkResult("idle", f"CPU seconds in {SECONDS:g} s", many, one, 0.5, "lower"))


def _idle(where: BenchmarkSetup, count: int, run: str) -> float:
    """Return the CPU seconds of `count` connectors without new records, after each has run once."""
    names = [f"idle-{run}-{number}" for number in range(count)]
    files = [where.folder / f"{one}.out" for one in names]
    texts = [SINK.format(name=one, kind=OURS, topic=one, file=file) for one, file in zip(names, files, strict=True)]
    producer = Producer({"bootstrap.servers": where.bootstrap})
    for one in names:
        where.create(one, 1)
        send(producer, one, b"{}")
    producer.flush()
    with start_engine(where.folder / run, where.bootstrap, run, *texts) as program:
        with closing(FileTail(files)) as reader:
            await_all(reader, program)
        time.sleep(SETTLE_S)
        before = cpu(program)
        time.sleep(SECONDS)
        program.check()
        return cpu(program) - before
