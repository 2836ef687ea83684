"""latency: produce to delivery at 1 000 records per second, against Kafka Connect.

Both sides run the same sink connector with one task: JsonConverter, a file sink, a dead letter
topic. Each record carries its send time. It counts as delivered when a reader that follows the file
sees it.
"""

from __future__ import annotations

import os
from contextlib import closing
from functools import partial

from benchmarks.anchors import start_connect
from benchmarks.arrivals import FileTail, LatencyResult, RateSender, measure
from benchmarks.ground import BenchmarkSetup, ground
from benchmarks.ours import start_engine
from benchmarks.results import BenchmarkResult, publish
from benchmarks.rounds import alternate
from benchmarks.sinks import events

RATE = 1000
SECONDS = float(os.environ.get("BENCH_SECONDS", "20"))
OURS, ANCHOR = "FileStreamSink", "org.apache.kafka.connect.file.FileStreamSinkConnector"
SINK = """\
name={name}
connector.class={kind}
topics={topic}
file={file}
key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
value.converter.schemas.enable=false
errors.tolerance=all
errors.deadletterqueue.topic.name=dlq
errors.deadletterqueue.topic.replication.factor=1
"""
# Kafka's defaults, with which available records are fetched at once.
QUICK = """\
consumer.fetch.min.bytes=1
consumer.max.poll.records=500
consumer.max.partition.fetch.bytes=1048576
"""


def run() -> list[BenchmarkResult]:
    """Compare both sides, print and write the results."""
    seen: dict[str, list[LatencyResult]] = {"ours": [], "anchor": []}
    with ground() as where:

        def run_side(side: str, name: str) -> float:
            measured = deliver(where, name, connectors=1, rate=RATE, seconds=SECONDS, ours=side == "ours")
            seen[side].append(measured)
            return measured.percentile(99)

        alternate({side: partial(run_side, side) for side in seen}, "ms (p99)")
    return [percentile("latency", seen, 50, goal=0.5), percentile("latency", seen, 99, goal=1.0)]


def percentile(name: str, seen: dict[str, list[LatencyResult]], percent: int, goal: float) -> BenchmarkResult:
    """Publish one percentile of both sides."""
    ours, anchor = ([one.percentile(percent) for one in seen[side]] for side in ("ours", "anchor"))
    return publish(BenchmarkResult(f"{name}-p{percent}", "ms", ours, anchor, goal, "lower"))


def deliver(
    where: BenchmarkSetup, name: str, *, connectors: int, rate: float, seconds: float, ours: bool
) -> LatencyResult:
    """Run one side with several connectors, each with its own topic and file.

    `rate` is the sum over all connectors.
    """
    folder = where.folder / name
    names = [f"{name}-{number}" for number in range(connectors)]
    files = [where.folder / f"{one}.out" for one in names]
    kind = OURS if ours else ANCHOR
    texts = [SINK.format(name=one, kind=kind, topic=one, file=file) for one, file in zip(names, files, strict=True)]
    for one in names:
        where.create(one, 1)
    program = (
        start_engine(folder, where.bootstrap, name, *texts)
        if ours
        else start_connect(folder, where.bootstrap, *texts, worker=QUICK)
    )
    with (
        program as started,
        closing(FileTail(files)) as reader,
        RateSender(where.bootstrap, names, rate, events()[0]) as sender,
    ):
        return measure(sender, reader, started, seconds)
