"""The engine as its user runs it: `python -m engine run`, in a process of its own."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any
from uuid import uuid4

import httpx
import orjson
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from dlqadmin.host.network import free_ports
from engine.record.record import Headers
from engine.rest.endpoint_ports import ANSWER_TIMEOUT_S
from tests.support.permissions import FILES

logging.getLogger("httpx").setLevel(logging.WARNING)  # a line for each poll hides the rest

ROOT = Path(__file__).resolve().parents[2]
START_TIMEOUT_S = 120
SETTLE_TIMEOUT_S = 120
READ_TIMEOUT_S = 20


class Engine:
    """One engine with topics and a port of its own; they stay the same over kill and restart."""

    def __init__(
        self,
        home: Path,
        bootstrap_servers: str,
        files: Path | None = None,
        options: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """`files` is where connectors may read and write; pytest's temporary directories if it is not given.

        `options` are further properties of the worker.
        """
        home.mkdir(parents=True, exist_ok=True)
        self.home = home
        self.bootstrap_servers = bootstrap_servers
        self.port = free_ports(1)[0]
        self.process: subprocess.Popen[bytes] | None = None
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=ANSWER_TIMEOUT_S + 10)
        name = uuid4().hex[:8]
        self.outcome_topic = f"outcomes-{name}"
        self.offset_topic = f"offsets-{name}"
        self.properties = home / "worker.properties"
        self.properties.write_text(
            f"bootstrap.servers={bootstrap_servers}\n"
            "plugin.classes.allow=tests.*\n"
            f"file.connectors.root={files or FILES}\n"
            f"group.id=engine-{name}\n"
            f"config.storage.topic=configs-{name}\n"
            f"status.storage.topic=status-{name}\n"
            f"outcome.storage.topic={self.outcome_topic}\n"
            f"offset.storage.topic={self.offset_topic}\n"
            "offset.storage.partitions=1\n"
            f"listeners=http://127.0.0.1:{self.port}\n"
            "rest.authentication=none\n"
            "spark.master=local[4]\n"
            "slots=4\n"
            "lease.budget.ms=2000\n"
            "offset.flush.interval.ms=200\n"
            "task.shutdown.graceful.timeout.ms=3000\n"
            "session.timeout.ms=6000\n"
            "consumer.reconnect.backoff.max.ms=500\n"  # a broker that came back is found at once
            "producer.reconnect.backoff.max.ms=500\n"
            "admin.reconnect.backoff.max.ms=500\n"
        )
        with self.properties.open("a") as properties:
            properties.writelines(f"{option}={value}\n" for option, value in options.items())

    def start(self, *arguments: str) -> Engine:
        """Start it and return when it leads."""
        command = [sys.executable, "-m", "engine", "run", str(self.properties), *arguments]
        with (self.home / "engine.log").open("ab") as log:
            self.process = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, start_new_session=True)
        self.until(lambda: self.health() == "ok", "the engine leads", START_TIMEOUT_S)
        return self

    def stop(self) -> int:
        """Stop it in order; its exit code."""
        assert self.process is not None
        self.process.terminate()
        return self.process.wait(30)

    def kill(self) -> None:
        """End the driver without warning."""
        assert self.process is not None
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)
        self.process = None

    def close(self) -> None:
        """Stop it if it runs. An engine ends with 0 then, whatever it went through."""
        code = self.stop() if self.process is not None and self.process.poll() is None else 0
        self.http.close()
        assert code == 0, self._log()

    def delete_connectors(self) -> None:
        """Delete every connector, so that the next test has all slots."""
        for name in self.http.get("/connectors").json():
            assert self.http.delete(f"/connectors/{name}").status_code == 204

    def put(self, name: str, **config: str) -> None:
        """Create or change a connector; `__` in names stands for a dot."""
        body = {key.replace("__", "."): value for key, value in config.items()}
        answer = self.http.put(f"/connectors/{name}/config", json=body)
        assert answer.status_code in {200, 201}, answer.text

    def health(self) -> str:
        """Return what the engine says of itself, or nothing while it does not answer."""
        try:
            return str(self.http.get("/health/details").json()["status"])
        except httpx.TransportError:
            return ""

    def states(self, name: str) -> list[str]:
        return [task["state"] for task in self.http.get(f"/connectors/{name}/status").json()["tasks"]]

    def tasks(self, name: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.http.get(f"/connectors/{name}/metrics").json()["tasks"]
        return rows

    def metric(self, name: str, metric: str) -> int:
        """The metric summed over the connector's tasks."""
        return sum(task["metrics"].get(metric, 0) for task in self.tasks(name))

    def caught_up(self, name: str) -> bool:
        tasks = self.tasks(name)
        return bool(tasks) and all(task["positions"] and task["lag"] == 0 for task in tasks)

    def await_delivered(self, name: str, count: int) -> None:
        self.until(lambda: self.metric(name, "records-delivered") == count, f"{name} has delivered {count} records")

    def await_lost(self, count: int) -> None:
        """Wait until the engine has lost this many leases."""
        self.until(lambda: self.lost_leases() == count, "the lease is lost")

    def lost_leases(self) -> int:
        """How many leases this engine has lost, by its own log."""
        return self.log().count(" was lost: ")

    def log(self) -> str:
        """Return all that the engine has logged."""
        return (self.home / "engine.log").read_text(errors="replace")

    def until(self, check: Callable[[], object], claim: str, timeout_s: float = SETTLE_TIMEOUT_S) -> None:
        """Wait until it holds; else fail with the end of the engine's log."""
        deadline = time.monotonic() + timeout_s
        while not check():
            if self.process is not None and self.process.poll() is not None:
                raise AssertionError(f"the engine ended with {self.process.returncode}:\n{self._log()}")
            if time.monotonic() > deadline:
                raise AssertionError(f"not within {timeout_s} s: {claim}\n{self._log()}")
            time.sleep(0.05)

    def _log(self) -> str:
        return self.log()[-6000:]


class Topics:
    """Topics of a test."""

    def __init__(self, bootstrap_servers: str) -> None:
        self._servers: dict[str, str | int | float | bool] = {"bootstrap.servers": bootstrap_servers}

    def create(self, partitions: int = 1) -> str:
        name = f"t-{uuid4().hex[:10]}"
        admin = AdminClient(self._servers)
        admin.create_topics([NewTopic(name, partitions, 1)])[name].result(20)
        return name

    def write(self, topic: str, values: list[bytes], partitions: int = 1, headers: Headers = ()) -> None:
        producer = Producer({**self._servers, "linger.ms": 5})
        for number, value in enumerate(values):
            producer.produce(topic, value, key=str(number), partition=number % partitions, headers=list(headers))
        assert producer.flush(30) == 0

    def size(self, topic: str) -> int:
        """Return the end offset of a topic's first partition. Control records count."""
        consumer = Consumer({**self._servers, "group.id": "readers"})
        _, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), 10)
        consumer.close()
        return end

    def read(self, topic: str) -> list[Any]:
        """Every value of the topic, as JSON."""
        consumer = Consumer(
            {**self._servers, "group.id": uuid4().hex, "enable.partition.eof": True, "fetch.wait.max.ms": 10}
        )
        rows: list[Any] = []
        for partition in consumer.list_topics(topic, 10).topics[topic].partitions:
            consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING)])
            while (message := consumer.poll(READ_TIMEOUT_S)) is not None:
                if (error := message.error()) is None:
                    rows.append(orjson.loads(message.value() or b"null"))
                elif error.code() == KafkaError._PARTITION_EOF:
                    break
            else:
                raise AssertionError(f"{topic}-{partition}: no end within {READ_TIMEOUT_S} s")
        consumer.close()
        return rows


def alive(pid: int) -> bool:
    """Is there a process of this id that has not ended?"""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def descendants(pid: int) -> list[int]:
    """All processes below this one."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (FileNotFoundError, ProcessLookupError):
                continue
            parents.setdefault(parent, []).append(int(entry.name))
    found = list(parents.get(pid, []))
    for child in found:
        found += parents.get(child, [])
    return found


def kill_worker(engine: Engine, pid_file: Path) -> None:
    """End the Spark Python worker that wrote this file; only ever one of this engine's own."""
    pid = int(pid_file.read_text())
    assert engine.process is not None
    assert pid in descendants(engine.process.pid)
    os.kill(pid, signal.SIGKILL)


def file_sink(topic: str, file: Path, **more: str) -> Mapping[str, str]:
    """A connector's properties that need no transform."""
    return {
        "connector__class": "FileStreamSink",
        "topics": topic,
        "file": str(file),
        "key__converter": "StringConverter",
        "value__converter": "JsonConverter",
        "value__converter__schemas__enable": "false",
        **more,
    }
