"""exactly-once: what transactions cost, at the default commit interval: the same connector with and without them.

A KafkaSink and a stream read the same topic and write to another one, 2 tasks each; a file source writes to one.
"ours" is exactly once, "anchor" at least once.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.connect_clean import EVENTS, PARTITIONS, RECORDS, ROUNDS, TOPIC, WORKER, fill, measured
from benchmarks.results import Result, publish
from demo.broker import Broker
from demo.jars import KAFKA_VERSION
from demo.network import free_ports

GOAL = 0.8
READING = """\
name={name}
tasks.max=2
topics={topic}
key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=org.apache.kafka.connect.converters.ByteArrayConverter
errors.deadletterqueue.topic.name={name}.dlq
errors.deadletterqueue.topic.replication.factor=1
"""
SINK = READING + "connector.class=KafkaSink\ntopic={name}.out\nerrors.tolerance=all\ndelivery.guarantee={guarantee}\n"
STREAM = READING + ("connector.class=stream\nsinks=out\nsinks.out.topic={name}.out\nprocessing.guarantee={guarantee}\n")
SOURCE = """\
name={name}
connector.class=FileStreamSource
file={file}
topic={name}.out
value.converter=org.apache.kafka.connect.storage.StringConverter
key.converter=org.apache.kafka.connect.storage.StringConverter
"""
POLL_S = 0.1
LIMIT_S = 300


def run() -> list[Result]:
    """Alternate both guarantees on one broker, kind by kind; print and write the results."""
    kinds: dict[str, Callable[[Path, str, str, bool], float]] = {"sink": run_sink, "stream": run_stream}
    if os.environ.get("BENCH_SOURCE", "1") == "1":
        kinds["source"] = run_source
    results = []
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        broker = Broker(Path(folder) / "broker").start()
        try:
            fill(broker.bootstrap_servers)
            for kind, run_kind in kinds.items():
                results.append(alternate(kind, run_kind, Path(folder), broker.bootstrap_servers))
        finally:
            broker.stop()
    return results


def alternate(kind: str, run_kind: Callable[[Path, str, str, bool], float], folder: Path, bootstrap: str) -> Result:
    """Rounds of one kind, each with and without transactions; which of them is first changes from round to round."""
    rates: dict[bool, list[float]] = {True: [], False: []}
    for number in range(ROUNDS):
        for once in (True, False) if number % 2 else (False, True):
            name = f"{kind}-{'once' if once else 'least'}-{number}"
            rates[once].append(run_kind(folder / name, bootstrap, name, once))
            print(f"round {number + 1}: {name:<16} {rates[once][-1]:>12,.0f} records/s", flush=True)
    result = Result(f"exactly-once-{kind}", "records/s", rates[True], rates[False], goal=GOAL)
    publish(result, KAFKA_VERSION)
    best = max(rates[True]) / max(rates[False])
    lost = 100 * (1 - result.ratio)
    print(f"  ours: exactly once, anchor: at least once; {lost:.0f} % lost by the medians, best to best {best:.2f}")
    print(f"  medians: {statistics.median(rates[True]):,.0f} and {statistics.median(rates[False]):,.0f}\n", flush=True)
    return result


def run_sink(folder: Path, bootstrap: str, name: str, once: bool) -> float:
    """Records per second of a KafkaSink."""
    guarantee = "exactly_once" if once else "at_least_once"
    return _reading(folder, bootstrap, name, SINK.format(name=name, topic=TOPIC, guarantee=guarantee))


def run_stream(folder: Path, bootstrap: str, name: str, once: bool) -> float:
    """Records per second of a stream that copies."""
    guarantee = "exactly_once_v2" if once else "at_least_once"
    return _reading(folder, bootstrap, name, STREAM.format(name=name, topic=TOPIC, guarantee=guarantee))


def run_source(folder: Path, bootstrap: str, name: str, once: bool) -> float:
    """Records per second of a file source, seen from the last stable offset of its topic."""
    _create(bootstrap, f"{name}.out", 1)
    folder.mkdir(parents=True)
    lines = folder / "lines"
    count = RECORDS // 4  # one task, so less of it
    week = EVENTS.read_text().splitlines()
    with lines.open("w") as file:
        file.writelines(week[number % len(week)] + "\n" for number in range(count))
    enabled = f"exactly.once.source.enabled={str(once).lower()}\n"
    process = _start(folder, bootstrap, name, SOURCE.format(name=name, file=lines), enabled)
    try:
        return _written_rate(bootstrap, f"{name}.out", count, process)
    finally:
        _end(process)


def _reading(folder: Path, bootstrap: str, name: str, properties: str) -> float:
    folder.mkdir(parents=True)
    _create(bootstrap, f"{name}.out", PARTITIONS)
    return measured(_start(folder, bootstrap, name, properties), bootstrap, name)


def _create(bootstrap: str, topic: str, partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result()


def _start(folder: Path, bootstrap: str, name: str, properties: str, more: str = "") -> subprocess.Popen[bytes]:
    worker, connector = folder / "worker.properties", folder / "connector.properties"
    worker.write_text(WORKER.format(bootstrap=bootstrap, group=name, port=free_ports(1)[0]) + more)
    connector.write_text(properties)
    with (folder / "engine.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "engine", "run", str(worker), "--connector", str(connector)],
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def _written_rate(bootstrap: str, topic: str, records: int, process: subprocess.Popen[bytes]) -> float:
    """Records per second from the first ones seen until `records` are there; markers of transactions count too."""
    options = {"bootstrap.servers": bootstrap, "group.id": topic, "isolation.level": "read_committed"}
    reader = Consumer(options)
    deadline, first = time.monotonic() + LIMIT_S, None
    while time.monotonic() < deadline and process.poll() is None:
        _, end = reader.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)
        now = time.monotonic()
        if end and first is None:
            first = (now, end)
        if first is not None and end >= records:
            return (end - first[1]) / (now - first[0])
        time.sleep(POLL_S)
    raise RuntimeError(f"{topic} did not get {records} records within {LIMIT_S} s")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
