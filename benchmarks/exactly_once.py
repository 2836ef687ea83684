"""exactly-once: the cost of transactions in a stream that copies, and in a file source.

copy-eos does not measure these two. Each connector runs with and without transactions at the
default commit interval: our figure is exactly once, the anchor's at least once. The stream runs 2
tasks, the source one.

Rates are the slope of the target's end offsets, or of its last stable offsets for exactly once. All
records must have arrived.
"""

from __future__ import annotations

from functools import partial

from benchmarks.ground import BenchmarkSetup, ground
from benchmarks.ours import start_engine
from benchmarks.rates import written_rate
from benchmarks.results import BenchmarkResult
from benchmarks.rounds import compare, records
from benchmarks.sinks import TOPIC, events

RECORDS = records(1_000_000)
LINES = RECORDS // 2  # fewer, because a source has one task
GOAL = 0.8
STREAM = """\
name={name}
connector.class=stream
tasks.max=2
topics={topic}
sinks=out
sinks.out.topic={name}.out
processing.guarantee={guarantee}
key.converter=org.apache.kafka.connect.converters.ByteArrayConverter
value.converter=org.apache.kafka.connect.converters.ByteArrayConverter
errors.deadletterqueue.topic.name={name}.dlq
errors.deadletterqueue.topic.replication.factor=1
"""
SOURCE = """\
name={name}
connector.class=FileStreamSource
file={file}
topic={name}.out
key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=org.apache.kafka.connect.storage.StringConverter
"""


def run() -> list[BenchmarkResult]:
    """Compare a stream and a source, print and write the results."""
    with ground() as where:
        where.fill(TOPIC, events(), RECORDS)
        stream = compare("exactly-once-stream", partial(_stream, where, True), partial(_stream, where, False), GOAL)
        week, file = events(), where.folder / "lines"
        with file.open("wb") as lines:
            lines.writelines(week[number % len(week)] + b"\n" for number in range(LINES))
        source = compare("exactly-once-source", partial(_source, where, True), partial(_source, where, False), GOAL)
    return [stream, source]


def _stream(where: BenchmarkSetup, once: bool, run: str) -> float:
    name, guarantee = f"stream-{run}", "exactly_once_v2" if once else "at_least_once"
    target = where.create(f"{name}.out")
    starting = start_engine(
        where.folder / name, where.bootstrap, name, STREAM.format(name=name, topic=TOPIC, guarantee=guarantee)
    )
    return written_rate(where, target, RECORDS, starting, once=once)


def _source(where: BenchmarkSetup, once: bool, run: str) -> float:
    name = f"source-{run}"
    target = where.create(f"{name}.out", 1)
    text = SOURCE.format(name=name, file=where.folder / "lines")
    worker = f"exactly.once.source.enabled={str(once).lower()}\n"
    starting = start_engine(where.folder / name, where.bootstrap, name, text, worker=worker)
    return written_rate(where, target, LINES, starting, once=once)
