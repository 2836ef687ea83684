"""copy, copy-eos: a KafkaSink that copies a topic, against a short loop around librdkafka.

Our side runs 2 tasks with ByteArrayConverter and a dead letter topic: `copy` at least once,
`copy-eos` exactly once. Neither side compresses.

The anchor of both is `benchmarks/raw_copy.py`, at least once, which flushes and commits each second
as our side does. Each round runs it as one process and as two, and we compare with the faster one.

The rate is the speed at which records arrive in the target: the slope of its end offsets, or of its
last stable offsets for exactly once. All records must have arrived.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

from benchmarks.ground import PARTITIONS, BenchmarkSetup, ground
from benchmarks.ours import start_engine
from benchmarks.programs import BenchmarkProgram, run_program
from benchmarks.rates import written_rate
from benchmarks.results import BenchmarkResult, publish
from benchmarks.rounds import alternate, records
from benchmarks.sinks import TOPIC, events

RECORDS = records(3_000_000)
COPY = """\
name={name}
connector.class=KafkaSink
tasks.max=2
topics={topic}
topic={name}.out
delivery.guarantee={guarantee}
key.converter=org.apache.kafka.connect.converters.ByteArrayConverter
value.converter=org.apache.kafka.connect.converters.ByteArrayConverter
errors.tolerance=all
errors.deadletterqueue.topic.name={name}.dlq
errors.deadletterqueue.topic.replication.factor=1
producer.override.compression.type=none
"""


def run() -> BenchmarkResult:
    """Compare at-least-once copies, print and write the result."""
    return _run("copy", "at_least_once")


def run_eos() -> BenchmarkResult:
    """Compare exactly-once copies, print and write the result."""
    return _run("copy-eos", "exactly_once")


def _run(name: str, guarantee: str) -> BenchmarkResult:
    with ground() as where:
        where.fill(TOPIC, events(), RECORDS)
        raw = {f"raw {count}": partial(_raw, where, count) for count in (1, 2)}
        figures = alternate({"ours": partial(_ours, where, guarantee), **raw})
    fastest = max(raw, key=lambda side: statistics.median(figures[side]))
    return publish(BenchmarkResult(name, "records/s", figures["ours"], figures[fastest], goal=0.8))


def _ours(where: BenchmarkSetup, guarantee: str, run: str) -> float:
    text = COPY.format(name=run, topic=TOPIC, guarantee=guarantee)
    starting = start_engine(where.folder / run, where.bootstrap, run, text)
    once = guarantee == "exactly_once"
    return written_rate(where, where.create(f"{run}.out"), RECORDS, starting, once=once)


def _raw(where: BenchmarkSetup, processes: int, run: str) -> float:
    target = where.create(f"{run}.out")
    return written_rate(where, target, RECORDS, _copying(where, processes, run, target), once=False)


@contextmanager
def _copying(where: BenchmarkSetup, processes: int, run: str, target: str) -> Iterator[BenchmarkProgram]:
    """Run the loop in several processes, which share the partitions; yield the last process."""
    command = [sys.executable, "-m", "benchmarks.raw_copy", where.bootstrap, run, TOPIC, target]
    with ExitStack() as stack:
        for first in range(processes):
            share = map(str, range(first, PARTITIONS, processes))
            program = stack.enter_context(run_program([*command, *share], where.folder / f"{run}-{first}.log"))
        yield program
