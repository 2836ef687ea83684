"""start: seconds from the command to the first delivered record of a file sink.

Our command is `python -m engine run worker.properties --connector connector.properties`. The engine
loads, creates its topics, becomes the leader of its group and starts Spark, whose JVM takes most of
the time.

The anchor is Kafka Connect standalone, a single process without a group. The CPU time is printed
too: on a busy machine it tells more than the elapsed time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from benchmarks.anchors import start_connect
from benchmarks.ground import BenchmarkSetup, ground
from benchmarks.ours import start_engine
from benchmarks.processes import family
from benchmarks.programs import BenchmarkProgram
from benchmarks.results import BenchmarkResult, publish
from benchmarks.rounds import alternate, records
from benchmarks.sinks import TOPIC, events, sink

LIMIT_S = 120
POLL_S = 0.01
PLAIN = "value.converter.schemas.enable=false\n"
OURS = "FileStreamSink"
THEIRS = "org.apache.kafka.connect.file.FileStreamSinkConnector"


Start = Callable[..., AbstractContextManager[BenchmarkProgram]]


def run() -> BenchmarkResult:
    """Alternate both sides, print and write the result."""
    with ground() as where:
        where.fill(TOPIC, events(), records(1_000))
        figures = alternate(
            {"ours": partial(_run, where, _start_ours, OURS), "anchor": partial(_run, where, _start_anchor, THEIRS)},
            "s",
        )
    return publish(BenchmarkResult("start", "s", figures["ours"], figures["anchor"], 0.66, "lower"))


def _start_ours(where: BenchmarkSetup, name: str, connector: str) -> AbstractContextManager[BenchmarkProgram]:
    return start_engine(where.folder / name, where.bootstrap, name, connector)


def _start_anchor(where: BenchmarkSetup, name: str, connector: str) -> AbstractContextManager[BenchmarkProgram]:
    return start_connect(where.folder / name, where.bootstrap, connector)


def _run(where: BenchmarkSetup, start: Start, kind: str, name: str) -> float:
    """Return the seconds until the first record is in the file. Raises RuntimeError if none comes."""
    out = where.folder / f"{name}.out"
    text = sink(name, kind, 1).replace("/dev/null", str(out)) + PLAIN
    began = time.monotonic()
    with start(where, name, text) as program:
        while not _is_written(out):
            program.check()
            if time.monotonic() > began + LIMIT_S:
                raise RuntimeError(f"no record within {LIMIT_S} s:\n{program.tail()}")
            time.sleep(POLL_S)
        took = time.monotonic() - began
        print(f"  {name}: {sum(one.cpu_s for one in family(program.pid)):.1f} s of CPU", flush=True)
    return took


def _is_written(out: Path) -> bool:
    return out.exists() and out.stat().st_size > 0
