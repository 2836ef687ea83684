"""A source connector on a real broker; `out` is the topic it writes to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from engine.config.topic import TaskEntry, commit_record, connector_record, task_record
from engine.ports import Kind, Lease, TaskConfig
from engine.record.record import RawRecord, TopicPartition
from tests.broker.connector import Connector, read_all

OFFSET_PARTITIONS = 3


class SourceConnector(Connector):
    """One source with one task."""

    def __init__(self, broker: str, props: Mapping[str, str]) -> None:
        super().__init__(broker, {"value.converter": "StringConverter", **props})
        self.offset_topic = f"offsets-{self.name}"
        self.worker |= {
            "offset.storage.topic": self.offset_topic,
            "offset.storage.partitions": str(OFFSET_PARTITIONS),
            "offset.flush.interval.ms": "100",
        }

    def configure(self, generation: int) -> None:
        self.generation = generation
        self.props.pop("topics", None)
        if "Json" not in self.props["value.converter"]:
            self.props.pop("value.converter.schemas.enable", None)
        self.write(connector_record(self.name, self.props))
        self.write(task_record(self.name, 0, TaskEntry(generation, self.props, (), Kind.SOURCE)))
        self.write(commit_record(self.name, 1, generation))

    def lease(self, budget_ms: int = 20_000, **more: Any) -> Lease:
        task = TaskConfig(self.name, 0, self.generation, dict(self.props), (), self.restarts, kind=Kind.SOURCE, **more)
        return Lease("lease", (task,), 1, budget_ms, self.worker)

    def out(self, topic: str | None = None) -> list[RawRecord]:
        """What was written."""
        return read_all(self.broker, TopicPartition(topic or self.topic, 0))

    def values(self) -> list[str]:
        return [(record.value or b"").decode() for record in self.out()]

    def offsets(self) -> dict[str, Any]:
        """The offsets topic by key, as it would be compacted; without memories of tasks."""
        rows: dict[str, Any] = {}
        for number in range(OFFSET_PARTITIONS):
            for record in read_all(self.broker, TopicPartition(self.offset_topic, number)):
                if b"engine.task" not in (record.key or b""):
                    rows[(record.key or b"").decode()] = orjson.loads(record.value or b"null")
        return rows
