"""What a plan asks of Kafka: the own cluster, and the one that it writes to when that is another."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from dlqadmin.broker import groups, topics
from dlqadmin.broker.groups import GroupOnTopic
from dlqadmin.broker.topics import ClusterView
from engine.record.record import RawRecord

Place = tuple[str, int]  # topic and partition


class Cluster(Protocol):
    """All raise BrokerUnavailable."""

    def cluster(self) -> ClusterView: ...
    def configs(self, names: Sequence[str]) -> Mapping[str, Mapping[str, str]]: ...
    def ends(self, wanted: Sequence[Place]) -> Mapping[Place, int]: ...
    def begins(self, wanted: Sequence[Place]) -> Mapping[Place, int]: ...
    def groups_on(self, names: Iterable[str]) -> Sequence[GroupOnTopic]: ...
    def read_to_end(self, topic: str, partition: int, start: int, timeout_s: float) -> Iterator[RawRecord]: ...


class Target(Protocol):
    """The cluster that is written to. All raise BrokerUnavailable."""

    def cluster(self) -> ClusterView: ...
    def configs(self, names: Sequence[str]) -> Mapping[str, Mapping[str, str]]: ...


class Own:
    """The installation's own cluster."""

    def cluster(self) -> ClusterView:
        return topics.cluster()

    def configs(self, names: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
        return topics.configs(names)

    def ends(self, wanted: Sequence[Place]) -> Mapping[Place, int]:
        return topics.ends(wanted)

    def begins(self, wanted: Sequence[Place]) -> Mapping[Place, int]:
        return topics.begins(wanted)

    def groups_on(self, names: Iterable[str]) -> Sequence[GroupOnTopic]:
        return groups.groups_on(names)

    def read_to_end(self, topic: str, partition: int, start: int, timeout_s: float) -> Iterator[RawRecord]:
        return topics.read_to_end(topic, partition, start, timeout_s)


class Other:
    """Another cluster, by its name in OTHER_CLUSTERS."""

    def __init__(self, name: str) -> None:
        self._name = name

    def cluster(self) -> ClusterView:
        with topics.on(self._name):
            return topics.cluster()

    def configs(self, names: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
        with topics.on(self._name):
            return topics.configs(names)
