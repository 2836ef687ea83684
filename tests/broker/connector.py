"""A connector on a real broker: topic, config records and leases, as the herder would make them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Self
from uuid import uuid4

import orjson

from engine.assembly.lease import run_lease
from engine.config.topic import (
    Leader,
    TargetState,
    TaskEntry,
    commit_record,
    connector_record,
    leader_record,
    restart_record,
    target_record,
    task_record,
)
from engine.kafka.admin import KafkaAdmin
from engine.kafka.client_options import admin_settings, consumer_settings, producer_settings
from engine.kafka.consumer import KafkaConsumer
from engine.kafka.producer import KafkaProducer
from engine.ports import Committed
from engine.record.record import Headers, RawRecord, TopicPartition
from engine.worker_messages import Lease, TaskConfig, TaskReport
from tests.support.permissions import ALLOWED

BIG = "20000000"


class Connector:
    """One connector with one task, of generation 1 under leader epoch 1."""

    def __init__(self, broker: str, props: Mapping[str, str], partitions: int = 1) -> None:
        mark = uuid4().hex[:8]
        self.broker = broker
        self.client = {"bootstrap.servers": broker}
        self.name, self.topic, self.dlq = f"c-{mark}", f"in-{mark}", f"in-{mark}.dlq"
        self.outcome_topic = f"outcomes-{mark}"
        self.worker = {
            **self.client,
            **ALLOWED,
            "config.storage.topic": f"configs-{mark}",
            "outcome.storage.topic": self.outcome_topic,
            "group.id": f"g-{mark}",
        }
        self.admin = KafkaAdmin(admin_settings(self.client))
        self.admin.create_topic(self.worker["config.storage.topic"], 1, 1, {"cleanup.policy": "compact"})
        self.admin.create_topic(self.topic, partitions, 1, {"max.message.bytes": BIG})
        self.producer = KafkaProducer(producer_settings(self.client, {"message.max.bytes": BIG}))
        self.props = {
            "name": self.name,
            "topics": self.topic,
            "key.converter": "StringConverter",
            "value.converter": "JsonConverter",
            "value.converter.schemas.enable": "false",
            "errors.log.include.messages": "true",  # what steps of tests raise is seen in traces
            **props,
        }
        self.partitions = tuple(TopicPartition(self.topic, number) for number in range(partitions))
        self.generation, self.restarts = 1, 0
        self.write(leader_record(Leader(1, "w", 0)))
        self.configure(1)

    def with_dead_letters(self, **more: str) -> Self:
        """Tolerate everything, with dead letters on `self.dlq`."""
        letters = "errors.deadletterqueue."
        self.props |= {
            "errors.tolerance": "all",
            f"{letters}topic.name": self.dlq,
            f"{letters}include.messages": "true",
            f"{letters}topic.partitions": "1",
            **more,
        }
        return self

    def configure(self, generation: int) -> None:
        """Write the task of a generation."""
        self.generation = generation
        self.write(connector_record(self.name, self.props))
        self.write(task_record(self.name, 0, TaskEntry(generation, self.props, self.partitions)))
        self.write(commit_record(self.name, 1, generation))

    def target(self, target: TargetState) -> None:
        self.write(target_record(self.name, target))

    def restart(self) -> None:
        self.restarts += 1
        self.write(restart_record(self.name, self.restarts, {}))

    def write(self, row: tuple[bytes, bytes | None]) -> None:
        self.producer.produce(self.worker["config.storage.topic"], *row)
        self.producer.flush()

    def send(
        self, values: Iterable[bytes | None], key: bytes | None = b"k", headers: Headers = (), partition: int = 0
    ) -> None:
        for value in values:
            self.producer.produce(self.topic, key, value, headers, None, partition)
        self.producer.flush()

    def lease(self, budget_ms: int = 20_000, **more: Any) -> Lease:
        task = TaskConfig(self.name, 0, self.generation, dict(self.props), self.partitions, self.restarts, **more)
        return Lease("lease", (task,), 1, budget_ms, self.worker)

    def run(self, budget_ms: int = 20_000, **more: Any) -> TaskReport:
        """One lease in this process."""
        (report,) = run_lease(self.lease(budget_ms, **more))
        return report

    def committed(self) -> dict[TopicPartition, Committed | None]:
        return self.admin.committed(f"connect-{self.name}", self.partitions)

    def letters(self) -> list[RawRecord]:
        """All records of the dead letter topic."""
        return self.read(TopicPartition(self.dlq, 0))

    def contexts(self) -> list[dict[str, Any]]:
        return [orjson.loads(letter.value or b"null") for letter in self.letters()]

    def outcomes(self) -> list[dict[str, Any]]:
        """All reports about replayed records."""
        return [orjson.loads(report.value or b"null") for report in self.read(TopicPartition(self.outcome_topic, 0))]

    def read(self, partition: TopicPartition) -> list[RawRecord]:
        return read_all(self.broker, partition)


def read_all(broker: str, partition: TopicPartition) -> list[RawRecord]:
    """All records of a partition."""
    client = {"bootstrap.servers": broker}
    end = KafkaAdmin(admin_settings(client)).end_offsets([partition])[partition]
    consumer = KafkaConsumer(consumer_settings("reader", client))
    consumer.assign({partition: 0})
    found: list[RawRecord] = []
    while consumer.positions()[partition] < end:
        found += consumer.poll(1000, 0.1)
    consumer.close()
    return found


def file_sink(path: Path) -> dict[str, str]:
    """Options of a file sink."""
    return {"connector.class": "FileStreamSink", "file": str(path)}
