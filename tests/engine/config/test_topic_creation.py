from __future__ import annotations

import pytest

from engine.config.connector import ConnectorConfig, read_connector
from engine.config.topic_creation import NewTopics, group_of
from engine.worker_messages import ConnectorKind

BASE = {"name": "s", "connector.class": "FileStreamSource"}
DEFAULT = {"default.partitions": "3", "default.replication.factor": "2"}
LOGS = {"groups": "logs", "logs.include": r"log\..*, audit", "logs.exclude": r"log\.debug"}


def groups_of(options: dict[str, str]) -> tuple[NewTopics, ...]:
    config, problems = read(options)
    assert problems == {}
    return config.new_topics


def read(options: dict[str, str], kind: ConnectorKind = ConnectorKind.SOURCE) -> tuple[ConnectorConfig, dict[str, str]]:
    props = {**BASE, **{f"topic.creation.{name}": value for name, value in options.items()}}
    config, problems = read_connector(
        {**props, **({} if kind is ConnectorKind.SOURCE else {"topics": "t"})}, None, (), kind
    )
    return config, {option: message for option, _, message in problems}


def test_nothing_is_made_unless_a_connector_says_so() -> None:
    assert groups_of({}) == ()


def test_the_default_group_holds_every_topic() -> None:
    (group,) = groups_of({**DEFAULT, "default.cleanup.policy": "compact", "default.retention.ms": "1"})
    assert (group.partitions, group.replication_factor) == (3, 2)
    assert group.config == {"cleanup.policy": "compact", "retention.ms": "1"}
    assert group_of((group,), "anything") is group


def test_a_group_has_its_topics_and_takes_from_the_default_what_it_does_not_say() -> None:
    groups = groups_of({**DEFAULT, **LOGS, "logs.partitions": "9", "logs.compression.type": "zstd"})
    logs, default = groups
    assert (logs.partitions, logs.replication_factor, logs.config) == (9, 2, {"compression.type": "zstd"})
    assert [group_of(groups, topic) for topic in ("log.a", "audit", "log.debug", "xlog.a", "audits")] == [
        logs, logs, default, default, default,
    ]  # fmt: skip


def test_the_first_group_that_holds_a_topic_counts() -> None:
    groups = groups_of({**DEFAULT, "groups": "a,b", "a.include": "x.*", "b.include": ".*", "b.partitions": "-1"})
    assert [group_of(groups, topic) for topic in ("xy", "y")] == [groups[0], groups[1]]
    assert groups[1].partitions == -1


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"default.partitions": "3"}, ["default.replication.factor"]),
        ({"groups": "logs", "logs.include": "x"}, ["default.partitions", "default.replication.factor"]),
        ({**DEFAULT, "groups": "logs"}, ["logs.include"]),
        ({**DEFAULT, "groups": "default"}, ["groups"]),
        ({**DEFAULT, "groups": "a,a", "a.include": "x"}, ["groups"]),
        ({**DEFAULT, "logs.partitions": "1"}, ["logs.partitions"]),
        ({**DEFAULT, "default.partitions": "0"}, ["default.partitions"]),
        ({**DEFAULT, "default.replication.factor": "many"}, ["default.replication.factor"]),
        ({**DEFAULT, "groups": "a", "a.include": "("}, ["a.include"]),
        ({**DEFAULT, "groups": "a", "a.include": "x", "a.exclude": "["}, ["a.exclude"]),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(options: dict[str, str], names: list[str]) -> None:
    assert sorted(read(options)[1]) == sorted(f"topic.creation.{name}" for name in names)


def test_only_a_source_makes_topics() -> None:
    assert "topic.creation.default.partitions" in read(DEFAULT, ConnectorKind.SINK)[1]
