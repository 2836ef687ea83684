"""The foreign programs that write dead letters: how each is built, started, and which causes it fails for."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from benchmarks.anchors import start_connect
from benchmarks.programs import BenchmarkProgram, run_program
from demo.broker import LocalBroker
from demo.jars import KAFKA_VERSION
from dlqadmin.host.network import HOST, wait_until
from tests.interop.sample import CAUSES, KEY, PRODUCTION, SHAPE

SOURCES = Path(__file__).with_name("writers")
HOME = SOURCES.parents[2] / ".local" / "interop"
START_TIMEOUT_S = 120
# Modules and compiled packages stay below HOME, and can be deleted. No other toolchain is fetched.
GO = {
    "GOMODCACHE": str(HOME / "go" / "modules"),
    "GOCACHE": str(HOME / "go" / "compiled"),
    "GOFLAGS": "-modcacherw",
    "GOTOOLCHAIN": "local",
}


@dataclass(frozen=True, slots=True)
class Writer:
    """A foreign program. Its topics, group and recorded messages have its name."""

    name: str
    title: str
    source: str  # below `writers`
    libraries: tuple[str, ...]  # as their package managers name them
    causes: tuple[str, ...] = CAUSES
    options: dict[str, str] = field(default_factory=dict)
    topic_suffixes: tuple[str, ...] = ("-dlq",)  # of the topics that it writes dead letters to; the last one is final
    kafka: str = KAFKA_VERSION  # of the broker

    @property
    def topic(self) -> str:
        return f"earthquakes-{self.name}"

    @property
    def dead_letter_topics(self) -> tuple[str, ...]:
        if self.kafka != KAFKA_VERSION:
            return (f"dlq.{self.topic}",)  # the broker insists on the prefix
        return tuple(self.topic + suffix for suffix in self.topic_suffixes)

    @property
    def final_topic(self) -> str:
        """The topic of the dead letters that nobody tries again."""
        return self.dead_letter_topics[-1]

    @property
    def retry_topics(self) -> tuple[str, ...]:
        """The topics from which the writer itself tries records again, in the order of retries."""
        return self.dead_letter_topics[:-1]

    @property
    def group(self) -> str:
        return f"connect-{self.name}" if self.name == "connect" else f"{self.name}-group"

    @contextmanager
    def running(self, bootstrap: str, folder: Path) -> Iterator[BenchmarkProgram]:
        """Run the program until the end of the block; it logs below `folder`."""
        build()
        if self.name == "connect":
            with _connect(self, bootstrap, folder) as program:
                yield program
            return
        with run_program(self._command(bootstrap, folder), folder / f"{self.name}.log") as program:
            yield program

    def _command(self, bootstrap: str, folder: Path) -> list[str]:
        places = [bootstrap, self.topic, self.final_topic, self.group]
        if self.source.endswith(".py"):
            return [sys.executable, str(SOURCES / self.source), *places]
        if self.source.endswith(".js"):
            return ["node", str(HOME / self.source), *places]
        if self.source.endswith(".go"):
            return [str(HOME / Path(self.source).parent / self.name), *places]
        names = ("bootstrap", "topic", "dead.letters", "group")
        given = {**dict(zip(names, places, strict=True)), **self.options, "java.io.tmpdir": str(folder)}
        jars = HOME / "jars" / Path(self.source).parent
        options = ["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        options += [f"-D{name}={value}" for name, value in given.items()]
        return ["java", *options, "-cp", f"{jars}/*", f"interop.{Path(self.source).stem}"]


SPRING = ("org.springframework.kafka:spring-kafka:3.3.10",)
STREAMS = ("org.apache.kafka:kafka-streams:4.2.0",)

WRITERS = (
    Writer(
        "spring-listener",
        "Spring Kafka, `DefaultErrorHandler` with `DeadLetterPublishingRecoverer`",
        "spring/SpringListener.java",
        SPRING,
    ),
    Writer(
        "spring-retry-topics",
        "Spring Kafka, `@RetryableTopic`",
        "spring/SpringRetryTopics.java",
        SPRING,
        topic_suffixes=("-retry-0", "-retry-1", "-dlt"),
    ),
    Writer(
        "spring-deserializers",
        "Spring Kafka, `ErrorHandlingDeserializer`",
        "spring/SpringDeserializers.java",
        SPRING,
        causes=(*CAUSES, KEY),
    ),
    Writer(
        "streams",
        "Kafka Streams, `at_least_once`",
        "streams/StreamsWriter.java",
        STREAMS,
        causes=(*CAUSES, PRODUCTION),
    ),
    Writer(
        "streams-exactly-once",
        "Kafka Streams, `exactly_once_v2`",
        "streams/StreamsWriter.java",
        STREAMS,
        causes=(*CAUSES, PRODUCTION),
        options={"guarantee": "exactly_once_v2"},
    ),
    Writer(
        "connect",
        "Kafka Connect, a sink that reports errors",
        "connect/StoreSink.java",
        ("org.apache.kafka:connect-runtime:4.1.0",),
        causes=(*CAUSES, SHAPE),
    ),
    Writer(
        "smallrye",
        "SmallRye Reactive Messaging, `dead-letter-queue`",
        "smallrye/SmallRyeWriter.java",
        ("io.smallrye.reactive:smallrye-reactive-messaging-kafka:4.25.0",),
    ),
    Writer(
        "spring-cloud-stream",
        "Spring Cloud Stream, Kafka binder with `enable-dlq`",
        "cloudstream/CloudStreamWriter.java",
        ("org.springframework.cloud:spring-cloud-stream-binder-kafka:4.3.0",),
    ),
    Writer(
        "parallel-consumer",
        "Parallel Consumer, headers of the application",
        "parallel/ParallelWriter.java",
        ("io.confluent.parallelconsumer:parallel-consumer-core:0.5.3.3",),
    ),
    Writer(
        "share-group",
        "Share group of Kafka 4.4, rejected and released records",
        "share/ShareWriter.java",
        ("org.apache.kafka:kafka_2.13:4.4.0",),
        kafka="4.4.0",
    ),
    Writer("kafkajs", "kafkajs, headers of its own", "kafkajs/writer.js", ("kafkajs@2.2.4",)),
    Writer(
        "watermill",
        "Watermill, poison queue",
        "watermill/main.go",
        ("github.com/ThreeDotsLabs/watermill@v1.5.1", "github.com/ThreeDotsLabs/watermill-kafka/v3@v3.0.6"),
    ),
    Writer(
        "python",
        "confluent-kafka for Python, a JSON envelope",
        "python/writer.py",
        ("confluent-kafka==2.16.1",),
    ),
)
BY_NAME = {writer.name: writer for writer in WRITERS}


def build() -> None:
    """Build all writers, if their sources have changed since. Only the first build needs the network."""
    HOME.mkdir(parents=True, exist_ok=True)
    mark = HOME / "built"
    with (HOME / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        sources = [path for path in SOURCES.rglob("*") if path.is_file()]
        if mark.exists() and mark.stat().st_mtime >= max(path.stat().st_mtime for path in sources):
            return
        repository = f"-Dmaven.repo.local={HOME / 'maven'}"
        _run(["mvn", "--batch-mode", "--quiet", repository, f"-Dinterop.home={HOME}", "package"], SOURCES)
        shutil.copytree(SOURCES / "kafkajs", HOME / "kafkajs", dirs_exist_ok=True)
        _run(["npm", "ci", "--no-audit", "--no-fund"], HOME / "kafkajs")
        _run(["go", "build", "-o", str(HOME / "watermill") + "/", "."], SOURCES / "watermill", GO)
        mark.touch()


def share_broker(folder: Path) -> LocalBroker:
    """Return a broker of Kafka 4.4, not started yet, which writes the dead letters of share groups."""
    build()
    return LocalBroker(folder, classes=f"{HOME}/jars/share/*", features=("share.version=2",))


def _run(command: Sequence[str], folder: Path, variables: Mapping[str, str] = os.environ) -> None:
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"`{' '.join(command)}` failed in {folder}:\n{(done.stdout + done.stderr)[-4000:]}")


@contextmanager
def _connect(writer: Writer, bootstrap: str, folder: Path) -> Iterator[BenchmarkProgram]:
    """Real Kafka Connect, standalone, with one connector."""
    connector = {
        "connector.class": "interop.StoreSink",
        "topics": writer.topic,
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter.schemas.enable": "false",
        "transforms": "origin",
        "transforms.origin.type": "org.apache.kafka.connect.transforms.InsertField$Value",
        "transforms.origin.topic.field": "origin",
        "errors.tolerance": "all",
        "errors.deadletterqueue.topic.name": writer.final_topic,
        "errors.deadletterqueue.topic.replication.factor": "1",
        "errors.deadletterqueue.context.headers.enable": "true",
    }
    worker = "consumer.fetch.min.bytes=1\n"
    jars = HOME / "jars" / "connect" / "*"
    with (
        start_connect(folder / "connect", bootstrap, classes=jars, worker=worker) as program,
        httpx.Client(base_url=f"http://{HOST}:{program.port}", timeout=60) as http,
    ):
        wait_until(lambda: _answers(http, program), "Kafka Connect", START_TIMEOUT_S)
        http.put(f"/connectors/{writer.name}/config", json=connector).raise_for_status()
        yield program


def _answers(http: httpx.Client, program: BenchmarkProgram) -> bool:
    program.check()
    try:
        return http.get("/connectors").is_success
    except httpx.TransportError:
        return False
