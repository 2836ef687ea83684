"""The common part of the connect benchmarks: a sink connector against Kafka Connect.

Both sides run the same properties on the same topic: 2 tasks, a file sink to /dev/null and a dead
letter topic. The rate is the slope of the offsets that their groups commit. Kafka Connect is tuned
for throughput (`benchmarks/anchors.py`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.anchors import start_connect
from benchmarks.ground import BenchmarkSetup, ground
from benchmarks.ours import start_engine
from benchmarks.rates import committed_rate
from benchmarks.results import BenchmarkResult
from benchmarks.rounds import compare

EVENTS = Path(__file__).parent.parent / "demo" / "usgs-earthquakes-2018w06.jsonl"
TOPIC = "bench.earthquakes"
SINK = """\
name={name}
connector.class={sink}
tasks.max={tasks}
topics={topic}
file=/dev/null
key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
errors.tolerance=all
errors.deadletterqueue.topic.name={name}.dlq
errors.deadletterqueue.topic.replication.factor=1
"""
DROP = """\
value.converter.schemas.enable=false
transforms=drop
transforms.drop.type=org.apache.kafka.connect.transforms.ReplaceField$Value
transforms.drop.exclude=type
"""
LETTERS_TIMEOUT_S = 10


def events() -> list[bytes]:
    """Return the week of real events, about 712 bytes of JSON each."""
    return EVENTS.read_bytes().splitlines()


def against_connect(
    name: str, values: Sequence[bytes], records: int, properties: str, *, ours: str = "", anchor: str = "",
    letters: int = 0, goal: float,
) -> BenchmarkResult:  # fmt: skip
    """Fill a topic with the repeated values, and compare both sides on it.

    `properties` apply to both sides, `ours` and `anchor` to one side only. Raises RuntimeError for a
    side with too few dead letters.
    """
    with ground() as where:
        where.fill(TOPIC, values, records)

        def run_ours(run: str) -> float:
            text = sink(run, "FileStreamSink") + properties + ours
            with start_engine(where.folder / run, where.bootstrap, run, text) as program:
                rate = committed_rate(where, f"connect-{run}", TOPIC, records, program)
                _expect(where, f"{run}.dlq", letters)
            return rate

        def run_anchor(run: str) -> float:
            text = sink(run, "org.apache.kafka.connect.file.FileStreamSinkConnector") + properties + anchor
            with start_connect(where.folder / run, where.bootstrap, text) as program:
                rate = committed_rate(where, f"connect-{run}", TOPIC, records, program)
                _expect(where, f"{run}.dlq", letters)
            return rate

        return compare(name, run_ours, run_anchor, goal)


def sink(name: str, kind: str, tasks: int = 2, topic: str = TOPIC) -> str:
    """Return the properties of a sink of this class."""
    return SINK.format(name=name, sink=kind, tasks=tasks, topic=topic)


def _expect(where: BenchmarkSetup, topic: str, letters: int) -> None:
    """Wait for the dead letters: Kafka Connect may commit a moment before they are in the topic."""
    late = time.monotonic() + LETTERS_TIMEOUT_S
    while (found := where.end(topic)) < letters:
        if time.monotonic() > late:
            raise RuntimeError(f"{topic} has {found} of {letters} dead letters")
        time.sleep(0.1)
