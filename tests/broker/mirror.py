"""A mirror between two real brokers: its topics, its watch and its leases, as the herder would make them."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import uuid4

import msgspec

from engine.assembly.lease import run_lease
from engine.assembly.task_discovery import watch_of
from engine.assembly.validation import validate
from engine.config.topic import (
    Leader,
    TaskEntry,
    commit_record,
    connector_record,
    count_record,
    leader_record,
    task_record,
)
from engine.config.worker import parse_worker
from engine.connectors.mirror.cluster_admin import MirrorAdmin
from engine.connectors.mirror.watch import MirrorWatch
from engine.kafka.admin import KafkaAdmin
from engine.kafka.client_options import admin_settings, producer_settings
from engine.kafka.consumer import retry_while_retriable
from engine.kafka.producer import KafkaProducer
from engine.ports import Committed
from engine.record.record import Headers, RawRecord, Record, TopicPartition
from engine.worker_messages import ConnectorKind, Delivery, Lease, TaskConfig, TaskReport
from tests.broker.connector import read_all
from tests.support.permissions import ALLOWED

QUICKLY = {
    "refresh.topics.interval.seconds": "1",
    "sync.topic.configs.interval.seconds": "1",
    "emit.checkpoints.interval.seconds": "1",
    "sync.group.offsets.interval.seconds": "1",
    "refresh.groups.interval.seconds": "1",
    "replication.factor": "1",
}
ONCE = {"connector.type": "sink", "transaction.producer": "true"}
SINK = {"connector.type": "sink"}


class Slowly:
    """A transform that takes a third of a millisecond a record."""

    def configure(self, configs: Mapping[str, str]) -> None:
        """It has no options."""

    def apply(self, record: Record) -> Record:
        time.sleep(0.0003)
        return record


class Cluster:
    """One broker, as a test uses it."""

    def __init__(self, servers: str) -> None:
        self.servers = servers
        self.client = {"bootstrap.servers": servers}
        self.admin = KafkaAdmin(admin_settings(self.client))
        self.mirror_admin = MirrorAdmin(admin_settings(self.client))
        self.producer = KafkaProducer(producer_settings(self.client, {"message.max.bytes": "20000000"}))

    def create(self, topic: str, partitions: int = 1, config: Mapping[str, str] | None = None) -> str:
        self.admin.create_topic(topic, partitions, 1, config)
        return topic

    def send(
        self, topic: str, values: Iterable[bytes | None], partition: int = 0, key: bytes | None = None,
        headers: Headers = (), timestamp: int | None = None,
    ) -> None:  # fmt: skip
        for value in values:
            self.producer.produce(topic, key, value, headers, timestamp, partition)
        self.producer.flush()

    def read(self, topic: str, partition: int = 0) -> list[RawRecord]:
        """All that a read_committed reader sees."""
        return read_all(self.servers, TopicPartition(topic, partition))

    def values(self, topic: str, partition: int = 0) -> list[bytes | None]:
        return [record.value for record in self.read(topic, partition)]

    def committed(self, group: str, topic: str, partition: int = 0) -> Committed | None:
        at = TopicPartition(topic, partition)
        return self.mirror_admin.committed(group, [at]).get(at)

    def commit(self, group: str, topic: str, offset: int, partition: int = 0) -> None:
        at = {TopicPartition(topic, partition): Committed(offset)}
        retry_while_retriable(lambda: self.mirror_admin.commit(group, at))  # a broker that has just started may refuse


class Mirror:
    """One mirror from `source` to `target`, aliases A and B; its worker is on the target unless it has another home."""

    def __init__(
        self, source: Cluster, target: Cluster, props: Mapping[str, str], worker: Mapping[str, str] | None = None,
        aliases: tuple[str, str] = ("A", "B"), home: Cluster | None = None,
    ) -> None:  # fmt: skip
        mark = uuid4().hex[:8]
        self.source, self.target = source, target
        self.home = home or target  # the worker's
        self.name = f"m-{mark}"
        self.worker = {
            **self.home.client,
            **ALLOWED,
            "config.storage.topic": f"configs-{mark}",
            "offset.storage.topic": f"offsets-{mark}",
            "offset.storage.partitions": "2",
            "outcome.storage.topic": f"outcomes-{mark}",
            "status.storage.topic": f"status-{mark}",
            "offset.flush.interval.ms": "100",
            "group.id": f"g-{mark}",
            **(worker or {}),
        }
        self.home.create(self.worker["config.storage.topic"], 1, {"cleanup.policy": "compact"})
        self.props = {
            "name": self.name,
            "connector.class": "mirror",
            "source.cluster.alias": aliases[0],
            "target.cluster.alias": aliases[1],
            "source.cluster.bootstrap.servers": source.servers,
            **QUICKLY,
            **props,
        }
        self.generation = 0
        self.tasks: list[dict[str, str]] = []
        self._watch: MirrorWatch | None = None
        self.write(leader_record(Leader(1, "w", 0)))

    @property
    def once(self) -> bool:
        return validate(self.props, parse_worker(self.worker)).delivery is Delivery.EXACTLY_ONCE

    @property
    def watch(self) -> MirrorWatch:
        if self._watch is None:
            worker = parse_worker(self.worker)
            make = watch_of(validate(self.props, worker), worker)
            assert make is not None
            self._watch = make()
        return self._watch

    def look(self) -> bool:
        """Look once, as the driver does again and again; a new assignment is a new generation. Was it one?"""
        found = [{**self.props, **own} for own in self.watch.look(self.tasks)]
        if found == self.tasks:
            return False
        self.generation += 1
        self.tasks = found
        self.write(connector_record(self.name, self.props))
        for number, properties in enumerate(found):
            self.write(
                task_record(
                    self.name, number, TaskEntry(self.generation, properties, (), ConnectorKind.SOURCE, self.once)
                )
            )
        self.write(commit_record(self.name, len(found), self.generation))
        self.write(count_record(self.name, len(found)))
        return True

    def write(self, row: tuple[bytes, bytes | None]) -> None:
        self.home.producer.produce(self.worker["config.storage.topic"], *row)
        self.home.producer.flush()

    def lease(self, budget_ms: int = 20_000, tasks: Iterable[int] | None = None) -> Lease:
        chosen = range(len(self.tasks)) if tasks is None else tasks
        rows = tuple(
            TaskConfig(
                self.name, number, self.generation, self.tasks[number], (), 0, has_committed=True,
                kind=ConnectorKind.SOURCE, exactly_once=self.once,
            )
            for number in chosen
        )  # fmt: skip
        return Lease("lease", rows, 1, budget_ms, self.worker)

    def run(self, budget_ms: int = 20_000) -> list[TaskReport]:
        """Look, then one lease of all tasks in this process."""
        self.look()
        return list(run_lease(self.lease(budget_ms))) if self.tasks else []

    def again(self) -> Mirror:
        """The same mirror with its properties as they are now, watched anew."""
        self.close()
        self._watch = None
        return self

    def close(self) -> None:
        if self._watch is not None:
            self._watch.close()


def encoded(lease: Lease) -> bytes:
    """For a process of its own."""
    return msgspec.json.encode(lease)


def total(reports: Iterable[TaskReport], name: str) -> Any:
    return sum(report.metrics.get(name, 0) for report in reports)
