"""Queries to Kafka that a plan needs, on the own cluster and on another target cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from dlqadmin.broker import clusters, groups, topics
from dlqadmin.broker.groups import GroupOnTopic
from dlqadmin.broker.topics import ClusterView
from engine.record.record import RawRecord

Place = tuple[str, int]  # topic and partition


class SourceClusterQueries(Protocol):
    """Queries to the cluster of the dead letters. All raise BrokerUnavailable."""

    def cluster(self) -> ClusterView: ...
    def configs(self, names: Sequence[str]) -> Mapping[str, Mapping[str, str]]: ...
    def ends(self, wanted: Sequence[Place]) -> Mapping[Place, int]: ...
    def begins(self, wanted: Sequence[Place]) -> Mapping[Place, int]: ...
    def groups_on(self, names: Iterable[str]) -> Sequence[GroupOnTopic]: ...
    def read_range(self, topic: str, partition: int, start: int, count: int, *, whole: bool) -> Sequence[RawRecord]: ...
    def read_to_end(self, topic: str, partition: int, start: int, timeout_s: float) -> Iterator[RawRecord]: ...


class TargetClusterQueries(Protocol):
    """Queries to the target cluster. All raise BrokerUnavailable."""

    def cluster(self) -> ClusterView: ...
    def configs(self, names: Sequence[str]) -> Mapping[str, Mapping[str, str]]: ...
    def ends(self, wanted: Sequence[Place]) -> Mapping[Place, int]: ...
    def begins(self, wanted: Sequence[Place]) -> Mapping[Place, int]: ...
    def read_range(self, topic: str, partition: int, start: int, count: int, *, whole: bool) -> Sequence[RawRecord]: ...


class Own:
    """The current cluster."""

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

    def read_range(self, topic: str, partition: int, start: int, count: int, *, whole: bool) -> Sequence[RawRecord]:
        return topics.read_range(topic, partition, start, count, whole=whole)

    def read_to_end(self, topic: str, partition: int, start: int, timeout_s: float) -> Iterator[RawRecord]:
        return topics.read_to_end(topic, partition, start, timeout_s)


class Other:
    """Another cluster, by its name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def cluster(self) -> ClusterView:
        with clusters.on(self._name):
            return topics.cluster()

    def configs(self, names: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
        with clusters.on(self._name):
            return topics.configs(names)

    def ends(self, wanted: Sequence[Place]) -> Mapping[Place, int]:
        with clusters.on(self._name):
            return topics.ends(wanted)

    def begins(self, wanted: Sequence[Place]) -> Mapping[Place, int]:
        with clusters.on(self._name):
            return topics.begins(wanted)

    def read_range(self, topic: str, partition: int, start: int, count: int, *, whole: bool) -> Sequence[RawRecord]:
        with clusters.on(self._name):
            return topics.read_range(topic, partition, start, count, whole=whole)
