"""Connectors of every kind on a broker with an authorizer, each client with a user of its own."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from uuid import uuid4

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from engine.config.worker import WorkerConfig, parse_worker
from engine.errors import EngineError
from engine.herder.snapshot import HerderSnapshot
from engine.kafka.client_options import producer_settings
from engine.kafka.producer import KafkaProducer
from engine.record.record import Headers, Record, TopicPartition
from engine.record.replay import ATTEMPT, ID, ITEM
from engine.startup.wiring import build_herder
from tests.broker.connector import read_all
from tests.broker.driver import Threads
from tests.support.authorizer import AuthorizingBroker, credentials
from tests.support.permissions import ALLOWED

REPLAYED: Headers = ((ID, b"r"), (ITEM, b"r/1"), (ATTEMPT, b"1"))
PICKY = {"transforms": "picky", "transforms.picky.type": "tests.broker.steps.Picky"}
TIMEOUT_S = 60


class LoggedWarnings(logging.Handler):
    """The engine's warnings. They name topics and groups, so each trial finds its own."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.texts: list[str] = []
        logging.getLogger("engine").addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        self.texts.append(record.getMessage())


WARNINGS = LoggedWarnings()


class PickyBytes:
    """Rejects the bytes of "bad"."""

    def configure(self, configs: Mapping[str, str]) -> None:
        """It has no options."""

    def apply(self, record: Record) -> Record:
        if record.value == b"bad":
            raise ValueError("bad is not good")
        return record


class Trial:
    """A worker with one connector of a kind. Records are `good`, `bad` (a dead letter) and a replayed `again`."""

    def __init__(self, broker: AuthorizingBroker, kind: str, home: Path) -> None:
        self.mark = uuid4().hex[:6]
        self.broker, self.kind = broker, kind
        self.home = home / f"{kind}-{self.mark}"
        self.home.mkdir()
        if kind.startswith("mirror"):
            roles = ["worker", "source", "target"]
        else:
            roles = ["worker", "consumer", "producer", *(["admin"] if kind.startswith("source") else [])]
        self.users = {role: broker.user() for role in roles}
        self.origin, self.out, self.letters = f"in-{self.mark}", f"out-{self.mark}", f"letters-{self.mark}"
        self.name = f"c-{self.mark}"
        self.worker_properties = {
            "bootstrap.servers": broker.sasl_servers,
            **ALLOWED,
            **credentials(self.users["worker"]),
            "connector.client.config.override.policy": "All",
            "group.id": f"g-{self.mark}",
            "config.storage.topic": f"configs-{self.mark}",
            "status.storage.topic": f"status-{self.mark}",
            "offset.storage.topic": f"offsets-{self.mark}",
            "offset.storage.partitions": "1",
            "outcome.storage.topic": f"outcomes-{self.mark}",
            "offset.flush.interval.ms": "200",
            "session.timeout.ms": "6000",
            "exactly.once.source.enabled": str(kind in ("source", "mirror-source")).lower(),
        }
        self.properties = {
            "name": self.name,
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": self.letters,
            "errors.deadletterqueue.include.messages": "true",
            "errors.deadletterqueue.topic.partitions": "1",
            "errors.retry.limit": "0",
            **PICKY,
            **self._own(),
        }

    def _own(self) -> dict[str, str]:
        plain = {"key.converter": "StringConverter", "value.converter": "StringConverter"}
        reads = {**plain, "topics": self.origin}
        if not self.kind.startswith("mirror"):
            reads |= {**self._override("consumer"), **self._override("producer")}
        match self.kind:
            case "file":
                return {**reads, "connector.class": "FileStreamSink", "file": str(self.home / "out")}
            case "sql" | "sql-once":
                once = {"delivery.guarantee": "exactly_once"} if self.kind == "sql-once" else {}
                json = {"value.converter": "JsonConverter", "value.converter.schemas.enable": "false"}
                url = f"sqlite:///{self.home / 'rows.sqlite3'}"
                return {**reads, **json, **once, "connector.class": "SqlSink", "connection.url": url, "table.name": "t"}
            case "kafka" | "kafka-plain":
                once = {"delivery.guarantee": "at_least_once"} if self.kind == "kafka-plain" else {}
                return {**reads, **once, "connector.class": "KafkaSink", "topic": self.out}
            case "stream":
                return {
                    **reads,
                    "connector.class": "stream",
                    "processing.guarantee": "exactly_once_v2",
                    "sinks": "out",
                    "sinks.out.topic": self.out,
                    "value.converter": "StringConverter",
                }
            case "source" | "source-plain":
                own = {"offsets.storage.topic": f"own-{self.mark}"} if self.kind == "source" else {}
                self._write_file()
                return {
                    **plain,
                    **own,
                    "connector.class": "FileStreamSource",
                    "file": str(self.home / "in"),
                    "topic": self.out,
                    **self._override("consumer"),
                    **self._override("producer"),
                    **self._override("admin"),
                }
            case "mirror" | "mirror-plain" | "mirror-source":
                types = {
                    "mirror": {"connector.type": "sink", "transaction.producer": "true"},
                    "mirror-plain": {"connector.type": "sink"},
                    "mirror-source": {},
                }
                self.out = f"A.{self.origin}"
                source = {f"source.cluster.{k}": v for k, v in credentials(self.users["source"]).items()}
                target = {f"target.cluster.{k}": v for k, v in credentials(self.users["target"]).items()}
                return {
                    "transforms.picky.type": "tests.broker.acl_trials.PickyBytes",
                    "connector.class": "mirror",
                    "source.cluster.alias": "A",
                    "target.cluster.alias": "B",
                    "source.cluster.bootstrap.servers": self.broker.sasl_servers,
                    **source,
                    **types[self.kind],
                    "topics": self.origin,
                    "replication.factor": "1",
                    "heartbeats.topic": f"beats-{self.mark}",
                    "heartbeats.replication.enabled": "false",
                    "groups": f"app-{self.mark}",
                    "emit.checkpoints.interval.seconds": "1",
                    "refresh.groups.interval.seconds": "1",
                    "sync.topic.configs.interval.seconds": "1",
                    **target,
                }
        raise AssertionError(self.kind)

    def _override(self, family: str) -> dict[str, str]:
        return {f"{family}.override.{k}": v for k, v in credentials(self.users[family]).items()}

    def _write_file(self) -> None:
        (self.home / "in").write_text("good\nbad\nagain\n")

    @property
    def worker(self) -> WorkerConfig:
        return parse_worker(self.worker_properties)

    def prepare(self) -> None:
        """Create the topics of people, and send the records."""
        client = {"bootstrap.servers": self.broker.bootstrap_servers}
        topics = [self.origin, *([] if self.kind.startswith("mirror") else [self.out])]
        if self.kind.startswith("sql"):
            with closing(sqlite3.connect(self.home / "rows.sqlite3")) as connection, connection:
                connection.execute("CREATE TABLE t (a TEXT)")
        admin = AdminClient(dict(client))
        for done in admin.create_topics([NewTopic(name, 1, 1) for name in topics]).values():
            done.result(20)
        producer = KafkaProducer(producer_settings(client))
        values = (
            [b'{"a": "good"}', b"bad", b'{"a": "again"}']
            if self.kind.startswith("sql")
            else [b"good", b"bad", b"again"]
        )
        for value in values:
            producer.produce(self.origin, b"k", value, REPLAYED if b"again" in value else (), None, 0)
        producer.flush()

    def add_work(self) -> None:
        """Give a source another line, and its readers of offsets something to fetch."""
        if self.kind.startswith("source"):
            with (self.home / "in").open("a") as file:
                file.write("more\n")
        if self.count(self.worker.offset_topic) == 0:
            producer = KafkaProducer(producer_settings({"bootstrap.servers": self.broker.bootstrap_servers}))
            producer.produce(self.worker.offset_topic, b'["other",{"file":"f"}]', b'{"at":1}', partition=0)
            producer.flush()

    def run(self, until: Callable[[HerderSnapshot], object], timeout_s: float = TIMEOUT_S) -> HerderSnapshot:
        """Run the driver and its leases in this process until it holds, or time is up."""
        runner = Threads()
        herder = build_herder(self.worker, runner, "http://127.0.0.1:1", [self.properties])
        thread = threading.Thread(target=herder.run, daemon=True)
        thread.start()
        late = time.monotonic() + timeout_s
        while not until(herder.view()) and time.monotonic() < late:
            time.sleep(0.05)
        view = herder.view()
        herder.stop()
        thread.join(20)
        runner.close()
        return view

    def count(self, topic: str) -> int:
        try:
            return len(read_all(self.broker.bootstrap_servers, TopicPartition(topic, 0)))
        except EngineError:  # the topic is missing yet
            return 0

    def complaints(self, view: HerderSnapshot) -> list[str]:
        """Return what the driver and its tasks say is wrong."""
        tasks = [text for task in view.state.tasks.values() for text in (task.trace, task.parked_reason)]
        facts = [one.trace for one in view.facts.values()]
        return [text for text in (view.trouble, *view.troubles.values(), *tasks, *facts) if text]

    def logged(self) -> list[str]:
        """Return the warnings that name something of this trial."""
        return [text for text in WARNINGS.texts if self.mark in text]

    def is_done(self) -> bool:
        """Is each record where it belongs?"""
        match self.kind.partition("-")[0]:
            case "file":
                path = self.home / "out"
                delivered = path.exists() and len(path.read_text().splitlines()) == 2
            case "sql":
                with closing(sqlite3.connect(self.home / "rows.sqlite3")) as connection:
                    delivered = connection.execute("SELECT count(*) FROM t").fetchone() == (2,)
            case _:
                delivered = self.count(self.out) == 2
        return delivered and self.count(self.letters) == 1
