"""The brokers' partitions that connectors read, and their end offsets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from engine.errors import EngineError
from engine.herder.assignment import named_topics, wanted_topics
from engine.ports import Admin
from engine.record.record import TopicPartition
from engine.worker_messages import TaskConfig


class ConnectorTopics:
    """The topics of all connectors, read together once per turn."""

    def __init__(self, admin: Admin) -> None:
        self._admin = admin
        self._counts: Mapping[str, int] | None = None

    def forget(self) -> None:
        """Read the list of partitions again at the next use."""
        self._counts = None

    def partitions(self, properties: Mapping[str, str]) -> list[TopicPartition]:
        """Return the partitions of the topics that a connector reads. They are cached until `forget`.

        Raises FatalError without the right to see a named topic.
        """
        if self._counts is None:
            self._counts = self._admin.partition_counts()
        if properties.get("topics.regex", "").strip():
            names: Sequence[str] = sorted(self._counts)
        else:
            names = named_topics(properties)
            for topic in names:
                if topic not in self._counts:
                    self._admin.partitions(topic)  # raises without the right to see it; else the topic does not exist
        return [
            TopicPartition(topic, number)
            for topic in wanted_topics(properties, names)
            for number in range(self._counts.get(topic, 0))
        ]

    def ends(self, tasks: Iterable[TaskConfig]) -> dict[TopicPartition, int]:
        """Return the end offsets of all partitions of these tasks, without deleted topics."""
        partitions = sorted({partition for task in tasks for partition in task.partitions})
        if not partitions:
            return {}
        try:
            return dict(self._admin.end_offsets(partitions))
        except EngineError:
            # One deleted topic must not block all connectors.
            existing = set(self._admin.topics())
            return dict(self._admin.end_offsets([partition for partition in partitions if partition.topic in existing]))
