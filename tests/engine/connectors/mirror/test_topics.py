"""Topics and groups of two clusters in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from engine.connectors.mirror.groups import GroupFollower
from engine.connectors.mirror.offset_sync import OffsetSync, OffsetSyncStore
from engine.connectors.mirror.options import MirrorConfig, read_mirror
from engine.connectors.mirror.topics import TargetTopics
from engine.errors import FatalError, RetriableError
from engine.ports import Committed
from engine.record.record import TopicPartition


class Cluster:
    """What a mirror asks of a cluster; `refuses` are topics and groups it may not touch."""

    def __init__(self, sizes: Mapping[str, int] | None = None) -> None:
        self.sizes = dict(sizes or {})
        self.settings: dict[str, dict[str, str]] = {}
        self.offsets: dict[str, dict[TopicPartition, Committed]] = {}
        self.active: set[str] = set()
        self.refuses: set[str] = set()
        self.away = False

    def topics(self) -> dict[str, int]:
        if self.away:
            raise RetriableError("away")
        return dict(self.sizes)

    def create(self, topic: str, partitions: int, factor: int, config: Mapping[str, str]) -> None:
        self._check(topic)
        self.sizes[topic] = partitions
        self.settings[topic] = dict(config)

    def grow(self, topic: str, partitions: int) -> None:
        self._check(topic)
        self.sizes[topic] = partitions

    def configs(self, topics: Sequence[str]) -> dict[str, dict[str, str]]:
        return {topic: dict(self.settings.get(topic, {})) for topic in topics}

    def alter(self, topic: str, changes: Mapping[str, str | None]) -> None:
        self._check(topic)
        after: dict[str, Any] = {**self.settings.get(topic, {}), **changes}
        self.settings[topic] = {name: value for name, value in after.items() if value is not None}

    def groups(self) -> dict[str, bool]:
        return {group: group in self.active for group in self.offsets}

    def committed(self, group: str, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, Committed]:
        self._check(group)
        return {at: one for at, one in self.offsets.get(group, {}).items() if at in partitions}

    def commit(self, group: str, offsets: Mapping[TopicPartition, Committed]) -> None:
        self._check(group)
        self.offsets.setdefault(group, {}).update(offsets)

    def _check(self, name: str) -> None:
        if name in self.refuses:
            raise FatalError("not allowed")


def config(**more: str) -> MirrorConfig:
    props = {"source.cluster.alias": "A", "target.cluster.alias": "B", "source.cluster.bootstrap.servers": "a:1"}
    return read_mirror(props | {name.replace("_", "."): value for name, value in more.items()})[0]


def topics_of(source: Cluster, target: Cluster, **more: str) -> TargetTopics:
    return TargetTopics(config(**more), source, target)  # type: ignore[arg-type]  # fakes and raw options


def test_topics_are_made_and_grown_as_they_are_on_the_source() -> None:
    source, target = Cluster({"new": 3, "old": 4, "B.back": 1}), Cluster({"A.old": 2})
    source.settings = {"new": {"retention.ms": "1", "min.insync.replicas": "2"}}
    topics = topics_of(source, target)
    topics.refresh()
    assert target.sizes == {"A.new": 3, "A.old": 4}
    assert target.settings["A.new"] == {"retention.ms": "1"}
    assert len(topics.partitions) == 7
    source.sizes = {"new": 1}
    topics.refresh()
    assert target.sizes == {"A.new": 3, "A.old": 4}, "nothing is taken away"


def test_what_is_only_looked_at_is_not_made() -> None:
    target = Cluster()
    topics = topics_of(Cluster({"t": 1}), target)
    topics.refresh(makes=False)
    assert (target.sizes, topics.names) == ({}, {"t": "A.t"})


def test_one_topic_that_can_not_be_made_keeps_no_other_out() -> None:
    source, target = Cluster({"bad": 1, "good": 1}), Cluster()
    target.refuses = {"A.bad"}
    topics = topics_of(source, target)
    topics.refresh()
    assert topics.partitions == (TopicPartition("good", 0),)


def test_a_cluster_that_is_away_changes_nothing() -> None:
    source, target = Cluster({"t": 1}), Cluster()
    topics = topics_of(source, target)
    topics.refresh()
    source.away = True
    with pytest.raises(RetriableError):
        topics.refresh()
    assert topics.partitions == (TopicPartition("t", 0),)


def test_partitions_out_of_sight_stay_while_they_are_wanted() -> None:
    topics = topics_of(Cluster(), Cluster(), topics="t.*")
    seen = {TopicPartition("t1", 0), TopicPartition("x", 0)}
    assert topics.wanted(seen) == {TopicPartition("t1", 0)}


def test_configurations_follow_the_source() -> None:
    source, target = Cluster({"t": 1}), Cluster()
    topics = topics_of(source, target)
    topics.refresh()
    source.settings = {"t": {"retention.ms": "1", "unclean.leader.election.enable": "true"}}
    target.settings = {"A.t": {"cleanup.policy": "compact", "min.insync.replicas": "2"}}
    topics.sync_configs()
    assert target.settings["A.t"] == {"retention.ms": "1", "min.insync.replicas": "2"}


def follower(source: Cluster, target: Cluster, store: OffsetSyncStore) -> GroupFollower:
    made = GroupFollower(config(groups="g.*"), source, target, store)  # type: ignore[arg-type]  # fakes and raw options
    made.refresh()
    return made


def test_groups_are_followed_and_those_in_use_or_refused_left_alone() -> None:
    at, there = TopicPartition("t", 0), TopicPartition("A.t", 0)
    source, target, store = Cluster(), Cluster(), OffsetSyncStore()
    source.offsets = {name: {at: Committed(7, "m")} for name in ("g1", "g2", "g3", "other")}
    source.refuses = {"g3"}
    target.offsets, target.active = {"g2": {there: Committed(1)}}, {"g2"}
    groups = follower(source, target, store)
    assert groups.look([at], {"t": "A.t"}) == [], "nothing is known yet"
    store.started()
    store.add(OffsetSync(at, 5, 50))
    news = groups.look([at], {"t": "A.t"})
    assert [(one.group, one.partition, one.upstream, one.downstream) for one in news] == [
        ("g1", there, 7, 51),
        ("g2", there, 7, 51),
    ]
    assert groups.look([at], {"t": "A.t"}) == news, "they were not written down"
    groups.note_written(news)
    assert groups.look([at], {"t": "A.t"}) == []
    assert groups.sync() == 1
    assert target.offsets == {"g1": {there: Committed(51, "m")}, "g2": {there: Committed(1)}}
    assert groups.sync() == 0
