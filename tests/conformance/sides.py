"""The two sides: real Kafka Connect and the engine, each behind its REST API, given the same properties."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from benchmarks.anchors import start_connect
from benchmarks.programs import BenchmarkProgram
from dlqadmin.host.network import HOST, wait_until
from tests.conformance.case import AWAY, MARKER, Case, Kind
from tests.conformance.java import AWAY as JAVA_AWAY
from tests.conformance.java import RECORDING_SINK, compile_sink
from tests.spark.engine_process import Engine

FILES = "org.apache.kafka.connect.file.FileStream"
START_TIMEOUT_S = 120


@dataclass(frozen=True, slots=True)
class Side:
    """One running side. `stop` ends it in order, so that all it has written is there."""

    name: str
    sink: str
    away: str
    bootstrap: str
    folder: Path
    http: httpx.Client
    stop: Callable[[], object]

    @property
    def recorded(self) -> str:
        """Where its sink writes what it was given."""
        return f"{self.name}.recorded"

    @property
    def dead_letters(self) -> str:
        return f"{self.name}.dead-letters"

    def connector(self, case: Case) -> str:
        return f"{self.name}.{case.name}"

    def put(self, case: Case) -> str | None:
        """Start the case's connector; why it was refused, or None."""
        answer = self.http.put(f"/connectors/{self.connector(case)}/config", json=self.properties(case))
        return None if answer.is_success else str(answer.json()["message"])

    def file(self, case: Case) -> Path:
        """What a file sink writes."""
        return self.folder / f"{self.connector(case)}.txt"

    def output(self, case: Case) -> str:
        """The topic that a file source writes to."""
        return f"out.{self.connector(case)}"

    def properties(self, case: Case) -> dict[str, str]:
        """The case's properties; only names, groups and the recording sink's class are the side's own."""
        own = {
            Kind.RECORDING: {
                "connector.class": self.sink,
                "topics": case.topic,
                "recorder.bootstrap.servers": self.bootstrap,
                "recorder.topic": self.recorded,
            },
            Kind.FILE_SINK: {
                "connector.class": f"{FILES}SinkConnector",
                "topics": case.topic,
                "file": str(self.file(case)),
            },
            Kind.FILE_SOURCE: {
                "connector.class": f"{FILES}SourceConnector",
                "topic": self.output(case),
                "file": str(self.folder / f"{case.name}.in"),
            },
        }[case.kind]
        letters = {"errors.deadletterqueue.topic.name": self.dead_letters}
        given = {name: self._own_value(case, value) for name, value in case.properties.items()}
        return {"name": self.connector(case), **letters, **own, **given}

    def _own_value(self, case: Case, value: str) -> str:
        return {AWAY: self.away, MARKER: str(self.folder / f"{self.connector(case)}.away")}.get(value, value)

    def failed(self) -> dict[str, str]:
        """The connectors of which a task has failed, and its trace."""
        body = self.http.get("/connectors", params={"expand": "status"}).raise_for_status().json()
        tasks = [(name, task) for name, row in body.items() for task in row["status"]["tasks"]]
        return {name: task["trace"] for name, task in tasks if task["state"] == "FAILED"}


@contextmanager
def kafka_connect(folder: Path, bootstrap: str) -> Iterator[Side]:
    """Real Kafka Connect, standalone."""
    classes = compile_sink(folder / "classes")
    worker = "consumer.fetch.min.bytes=1\n"
    with (
        start_connect(folder / "connect", bootstrap, classes=classes, worker=worker) as program,
        httpx.Client(base_url=f"http://{HOST}:{program.port}", timeout=60) as http,
    ):
        wait_until(lambda: _answers(http, program), "Kafka Connect", START_TIMEOUT_S)
        yield Side("theirs", RECORDING_SINK, JAVA_AWAY, bootstrap, folder, http, program.stop)


@contextmanager
def engine(folder: Path, bootstrap: str) -> Iterator[Side]:
    """The engine, as its user runs it."""
    started = Engine(folder / "engine", bootstrap, files=folder).start()
    try:
        recorder = "tests.conformance.recorder"
        yield Side(
            "ours", f"{recorder}.RecordingSink", f"{recorder}.Away", bootstrap, folder, started.http, started.stop
        )
    finally:
        started.close()


def _answers(http: httpx.Client, program: BenchmarkProgram) -> bool:
    program.check()
    try:
        return http.get("/connectors").is_success
    except httpx.TransportError:
        time.sleep(0.2)
        return False
