"""start: from the command to the first record delivered by a file sink, in seconds, against Kafka Connect standalone.

`python -m engine run worker.properties --connector connector.properties`: the engine has to load, to make its topics,
to become the leader of its group, and to start Spark, whose JVM takes most of it. Of Kafka Connect it is the one
process without a group. The CPU until then is printed, too: on a busy machine it says more than the time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

from benchmarks.anchors import start_connect
from benchmarks.ground import Ground, ground
from benchmarks.ours import start_engine
from benchmarks.processes import family
from benchmarks.programs import Program
from benchmarks.results import Result, publish
from benchmarks.rounds import alternate, records
from benchmarks.sinks import TOPIC, events, sink

LIMIT_S = 120
POLL_S = 0.01
PLAIN = "value.converter.schemas.enable=false\n"
OURS = "FileStreamSink"
THEIRS = "org.apache.kafka.connect.file.FileStreamSinkConnector"


Start = Callable[..., AbstractContextManager[Program]]


def run() -> Result:
    """Take turns, print and write the result."""
    with ground() as where:
        where.fill(TOPIC, events(), records(1_000))
        figures = alternate(
            {"ours": partial(_run, where, _start_ours, OURS), "anchor": partial(_run, where, _start_anchor, THEIRS)},
            "s",
        )
    return publish(Result("start", "s", figures["ours"], figures["anchor"], 0.66, "lower"))


def _start_ours(where: Ground, name: str, connector: str) -> AbstractContextManager[Program]:
    return start_engine(where.folder / name, where.bootstrap, name, connector)


def _start_anchor(where: Ground, name: str, connector: str) -> AbstractContextManager[Program]:
    return start_connect(where.folder / name, where.bootstrap, connector)


def _run(where: Ground, start: Start, kind: str, name: str) -> float:
    """Seconds until the first record is in the file. Raises RuntimeError when none comes."""
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
