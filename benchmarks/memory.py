"""memory: the peak resident memory of a Python worker and of the driver's JVM, in MB.

One task runs. A sink with JsonConverter and ReplaceField reads 2 000 records of 1 MB, or 5 000 000
records of 100 bytes. Each large record is a list of real events. No record passes through the JVM,
so its heap (`spark.driver.memory`, 1 GB) bounds it. Neither process depends on the number of
records.

These parts bound the worker:

* the engine itself: about 150 MB
* the client's queue: `queued.max.messages.kbytes` (64 MB)
* one fetch beyond the queue: `fetch.max.bytes` (50 MB)
* a chunk: at most 1 000 records, and at most what the queue held, four times: as the client's
  messages, as Python's bytes, as the converter's result, and as the written values

With 1 MB records that is 150 + 5 * 115 MB, whatever the number of records. A smaller queue lowers
all of it. A converter or transform that makes objects of the whole value takes more: Python objects
are several times as large as their JSON.
"""

from __future__ import annotations

import os

from benchmarks.ground import BenchmarkSetup, ground
from benchmarks.ours import start_engine
from benchmarks.processes import watch_family
from benchmarks.rates import committed_rate
from benchmarks.results import BenchmarkResult, publish
from benchmarks.rounds import records
from benchmarks.sinks import DROP, TOPIC, events, sink

LARGE_BYTES = 1_000_000
LARGE, SMALL = records(2_000), int(os.environ.get("BENCH_SMALL_RECORDS", "5000000"))
WORKER, DRIVER = "-m engine.spark.daemon", "java"
GOALS_MB = {"memory-large": 750, "memory-large-jvm": 600, "memory-small": 400, "memory-small-jvm": 600}


def run() -> list[BenchmarkResult]:
    """Measure each case once, print and write the results."""
    with ground() as where:
        return [*_measured(where, "memory-large", _large(), LARGE), *_measured(where, "memory-small", _small(), SMALL)]


def _large() -> bytes:
    rows, size = [], 0
    for event in events() * 20:
        if size + len(event) > LARGE_BYTES:
            break
        rows.append(event)
        size += len(event) + 1
    return b'{"type":"week","events":[' + b",".join(rows) + b"]}"


def _small() -> bytes:
    return b'{"type":"event","text":"' + b"x" * 74 + b'"}'


def _measured(where: BenchmarkSetup, name: str, value: bytes, count: int) -> list[BenchmarkResult]:
    """Return the peaks of a worker and of the driver's JVM.

    Raises RuntimeError if not all records were committed.
    """
    where.fill(TOPIC, [value], count)
    text = sink(name, "FileStreamSink", 1) + DROP
    with start_engine(where.folder / name, where.bootstrap, name, text) as program, watch_family(program.pid) as seen:
        committed_rate(where, f"connect-{name}", TOPIC, count, program)
    where.delete(TOPIC)
    peaks = {
        name: max(one.peak_mb for one in seen.values() if WORKER in one.command),
        f"{name}-jvm": max(one.peak_mb for one in seen.values() if one.command.split(" ")[0].endswith(DRIVER)),
    }
    return [publish(BenchmarkResult(row, "MB", [peak], None, GOALS_MB[row], "lower")) for row, peak in peaks.items()]
