"""connect-clean: a sink connector without a bad record, against Kafka Connect on the same topic.

Both run the same properties: JsonConverter (schemaless), ReplaceField, file sink to /dev/null, dead letter topic on,
2 tasks.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic

from benchmarks.anchors import CONNECT_HOME, CONNECT_MODULES, start_connect
from benchmarks.progress import committed_rate
from benchmarks.results import Result, publish
from demo.broker import Broker
from demo.jars import KAFKA_VERSION, class_path
from demo.network import free_ports

TOPIC = "bench.earthquakes"
PARTITIONS = 4
RECORDS = int(os.environ.get("BENCH_RECORDS", "2000000"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
EVENTS = Path(__file__).parent.parent / "demo" / "usgs-earthquakes-2018w06.jsonl"

CONNECTOR = """\
name={name}
connector.class={sink}
tasks.max=2
topics={topic}
file=/dev/null
key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
value.converter.schemas.enable=false
transforms=drop
transforms.drop.type=org.apache.kafka.connect.transforms.ReplaceField$Value
transforms.drop.exclude=type
errors.tolerance=all
errors.deadletterqueue.topic.name={name}.dlq
errors.deadletterqueue.topic.replication.factor=1
"""

WORKER = """\
bootstrap.servers={bootstrap}
group.id={group}
config.storage.topic={group}-configs
status.storage.topic={group}-status
listeners=http://127.0.0.1:{port}
"""


def run() -> Result:
    """Alternate ours and Kafka Connect on one broker; print and write the result."""
    with tempfile.TemporaryDirectory(prefix="bench-") as name:
        folder = Path(name)
        class_path(CONNECT_HOME, CONNECT_MODULES)
        broker = Broker(folder / "broker").start()
        try:
            fill(broker.bootstrap_servers)
            ours, anchor = [], []
            for round_number in range(ROUNDS):
                ours.append(run_ours(folder / f"ours-{round_number}", broker.bootstrap_servers, f"ours-{round_number}"))
                print(f"round {round_number + 1}: ours   {ours[-1]:>12,.0f} records/s", flush=True)
                anchor.append(
                    run_anchor(folder / f"anchor-{round_number}", broker.bootstrap_servers, f"anchor-{round_number}")
                )
                print(f"round {round_number + 1}: anchor {anchor[-1]:>12,.0f} records/s", flush=True)
        finally:
            broker.stop()
    result = Result("connect-clean", "records/s", ours, anchor, goal=3.0)
    publish(result, KAFKA_VERSION)
    return result


def fill(bootstrap: str) -> None:
    """Write RECORDS real events, over and over the same week."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])[TOPIC].result()
    lines = [line.encode() for line in EVENTS.read_text().splitlines()]
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, "queue.buffering.max.messages": 200_000})
    for number in range(RECORDS):
        while True:
            try:
                producer.produce(TOPIC, lines[number % len(lines)], key=b"%d" % number, partition=number % PARTITIONS)
                break
            except BufferError:
                producer.poll(0.05)
    producer.flush()


def run_ours(folder: Path, bootstrap: str, name: str) -> float:
    """Records per second of the engine, Spark and all."""
    folder.mkdir(parents=True)
    worker, connector = folder / "worker.properties", folder / "connector.properties"
    worker.write_text(WORKER.format(bootstrap=bootstrap, group=name, port=free_ports(1)[0]))
    connector.write_text(CONNECTOR.format(name=name, sink="FileStreamSink", topic=TOPIC))
    with (folder / "engine.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "engine", "run", str(worker), "--connector", str(connector)],
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    return measured(process, bootstrap, name)


def run_anchor(folder: Path, bootstrap: str, name: str) -> float:
    """Records per second of Kafka Connect standalone."""
    properties = CONNECTOR.format(name=name, sink="org.apache.kafka.connect.file.FileStreamSinkConnector", topic=TOPIC)
    return measured(start_connect(folder, bootstrap, free_ports(1)[0], properties), bootstrap, name)


def measured(process: subprocess.Popen[bytes], bootstrap: str, name: str) -> float:
    """The rate of group `connect-<name>` while the process lives; ends the process."""
    try:
        return committed_rate(bootstrap, f"connect-{name}", TOPIC, PARTITIONS, RECORDS, lambda: process.poll() is None)
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
