"""The queries to Kafka that outcomes need."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from dlqadmin.broker import groups, topics
from dlqadmin.broker.groups import GroupOnTopic
from engine.record.record import RawRecord

Partition = tuple[str, int]
Offsets = Mapping[Partition, int]


class ClusterQueries(Protocol):
    """Queries to a cluster. All raise BrokerUnavailable."""

    def all_topics(self) -> Mapping[str, int]: ...
    def partitions(self, topic: str) -> int | None: ...
    def ends(self, wanted: Sequence[Partition]) -> dict[Partition, int]: ...
    def begins(self, wanted: Sequence[Partition]) -> dict[Partition, int]: ...
    def committed(self, group: str, wanted: Sequence[Partition]) -> dict[Partition, int]: ...
    def groups_on(self, topics: Sequence[str], named: Sequence[str] | None = None) -> Sequence[GroupOnTopic]: ...
    def groups_lately(self, topics: Sequence[str], within_s: float) -> Mapping[str, Sequence[GroupOnTopic]]: ...
    def topic_ids(self, names: Sequence[str]) -> dict[str, str]: ...
    def read_to_end(
        self, topic: str, partition: int, start: int, timeout_s: float = 30.0, *, whole: bool = False
    ) -> Iterator[RawRecord]: ...


class Live:
    """Queries to the dashboard's own cluster."""

    partitions = staticmethod(topics.partitions)
    ends = staticmethod(topics.ends)
    begins = staticmethod(topics.begins)
    committed = staticmethod(topics.committed)
    topic_ids = staticmethod(topics.topic_ids)
    read_to_end = staticmethod(topics.read_to_end)
    groups_lately = staticmethod(groups.recent_groups_on)

    def all_topics(self) -> Mapping[str, int]:
        return topics.cluster().topics

    def groups_on(self, topics: Sequence[str], named: Sequence[str] | None = None) -> Sequence[GroupOnTopic]:
        return groups.groups_on(topics, named)
