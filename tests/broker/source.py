"""A source connector on a real broker; `out` is the topic it writes to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from engine.config.topic import TaskEntry, commit_record, connector_record, count_record, task_record
from engine.record.record import RawRecord, TopicPartition
from engine.worker_messages import ConnectorKind, Lease, TaskConfig
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
        self.write(task_record(self.name, 0, TaskEntry(generation, self.props, (), ConnectorKind.SOURCE)))
        self.write(commit_record(self.name, 1, generation))

    def lease(self, budget_ms: int = 20_000, **more: Any) -> Lease:
        task = TaskConfig(
            self.name, 0, self.generation, dict(self.props), (), self.restarts, kind=ConnectorKind.SOURCE, **more
        )
        return Lease("lease", (task,), 1, budget_ms, self.worker)

    def out(self, topic: str | None = None) -> list[RawRecord]:
        """What was written."""
        return read_all(self.broker, TopicPartition(topic or self.topic, 0))

    def emitted(self) -> list[int]:
        """The numbers that a read_committed reader sees."""
        return [int(value) for value in self.values()]

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


class ExactlyOnce(SourceConnector):
    """One source whose worker delivers exactly once; with as many tasks as `tasks`, all in one lease."""

    def __init__(self, broker: str, props: Mapping[str, str], tasks: int = 1, **worker: str) -> None:
        self.tasks = tasks
        super().__init__(broker, props)
        self.worker |= {"exactly.once.source.enabled": "true"} | {
            name.replace("_", "."): value for name, value in worker.items()
        }

    @property
    def is_exactly_once(self) -> bool:
        return self.worker.get("exactly.once.source.enabled") == "true"

    def configure(self, generation: int) -> None:
        """Write the tasks of a generation, and let them in."""
        self.generation = generation
        self.props.pop("topics", None)
        if "Json" not in self.props["value.converter"]:
            self.props.pop("value.converter.schemas.enable", None)
        self.write(connector_record(self.name, self.props))
        for number in range(self.tasks):
            entry = TaskEntry(generation, self.task_props(number), (), ConnectorKind.SOURCE, self.is_exactly_once)
            self.write(task_record(self.name, number, entry))
        self.write(commit_record(self.name, self.tasks, generation))
        if self.is_exactly_once:
            self.write(count_record(self.name, self.tasks))

    def task_props(self, number: int) -> dict[str, str]:
        """What a task is given; each has a number of its own."""
        return {**self.props, "task.number": str(number)} if self.tasks > 1 else dict(self.props)

    def lease(self, budget_ms: int = 20_000, only: int | None = None, **more: Any) -> Lease:
        numbers = range(self.tasks) if only is None else (only,)
        tasks = tuple(
            TaskConfig(
                self.name, number, self.generation, self.task_props(number), (), self.restarts,
                kind=ConnectorKind.SOURCE, exactly_once=self.is_exactly_once, **more,
            )
            for number in numbers
        )  # fmt: skip
        return Lease("lease", tasks, 1, budget_ms, self.worker)
