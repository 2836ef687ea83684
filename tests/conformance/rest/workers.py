"""A distributed Kafka Connect worker and the engine, each with a broker of its own, so that names are the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import httpx
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from benchmarks.anchors import CONNECT_HOME, CONNECT_MODULES
from benchmarks.programs import BenchmarkProgram, run_program
from demo.broker import LocalBroker
from demo.jars import KAFKA_HOME, class_path
from dlqadmin.host.network import HOST, free_ports, wait_until
from tests.spark.engine_process import Engine

START_TIMEOUT_S = 120
CALL_TIMEOUT_S = 30
CONNECT = """\
bootstrap.servers={bootstrap}
group.id=connect
config.storage.topic=connect-configs
status.storage.topic=connect-status
offset.storage.topic=connect-offsets
config.storage.replication.factor=1
status.storage.replication.factor=1
offset.storage.replication.factor=1
offset.storage.partitions=1
status.storage.partitions=1
scheduled.rebalance.max.delay.ms=0
offset.flush.interval.ms=200
key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
plugin.discovery=service_load
plugin.path={plugins}
listeners=http://127.0.0.1:{port}
"""


class RunningWorker(NamedTuple):
    """A worker with its REST client and the folder that its connectors use."""

    http: httpx.Client
    folder: Path


@contextmanager
def connect_worker(home: Path) -> Iterator[RunningWorker]:
    """Kafka Connect, distributed, with one worker."""
    port = free_ports(1)[0]
    with _broker(home) as bootstrap:
        file = home / "worker.properties"
        plugins = home / "plugins"  # empty: without a folder, the worker loads every jar below the present one
        plugins.mkdir()
        file.write_text(CONNECT.format(bootstrap=bootstrap, port=port, plugins=plugins))
        log4j = ":".join(str(jar) for jar in sorted(KAFKA_HOME.glob("log4j-*.jar")))  # for /admin/loggers
        paths = f"{class_path(CONNECT_HOME, CONNECT_MODULES)}:{log4j}"
        command = ["java", "-Xmx512m", "-Dfile.encoding=UTF-8", "-cp", paths]
        command += ["org.apache.kafka.connect.cli.ConnectDistributed", str(file)]
        with (
            run_program(command, home / "connect.log", port) as program,
            # A connection for each request: Java's worker may close a kept one at the moment of its next use.
            httpx.Client(base_url=f"http://{HOST}:{port}", timeout=100, headers={"Connection": "close"}) as http,
        ):
            wait_until(lambda: _answers(http, program), "Kafka Connect", START_TIMEOUT_S)
            yield RunningWorker(http, home)


@contextmanager
def engine_worker(home: Path) -> Iterator[RunningWorker]:
    """The engine, as its user runs it."""
    with _broker(home) as bootstrap:
        engine = Engine(home / "engine", bootstrap, files=home).start()
        try:
            yield RunningWorker(engine.http, home)
        finally:
            engine.close()


def prepare(bootstrap: str, folder: Path) -> None:
    """Create the topics and files that the connectors use."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 2})
    topics = [NewTopic("orders", 2, 1), NewTopic("lines", 1, 1)]
    for future in admin.create_topics(topics).values():
        future.result(CALL_TIMEOUT_S)
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 2})
    for number in range(4):
        producer.produce("orders", b"v", b"k", partition=number % 2)
    if producer.flush(CALL_TIMEOUT_S):
        raise RuntimeError("the records were not written")
    (folder / "lines").write_text("one\ntwo\n")


@contextmanager
def _broker(home: Path) -> Iterator[str]:
    home.mkdir(parents=True, exist_ok=True)
    broker = LocalBroker(home / "broker").start()
    try:
        prepare(broker.bootstrap_servers, home)
        yield broker.bootstrap_servers
    finally:
        broker.stop()


def _answers(http: httpx.Client, program: BenchmarkProgram) -> bool:
    program.check()
    try:
        return http.get("/health").status_code == 200
    except httpx.TransportError:
        return False
