from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import pytest

from engine.config.topic_creation import NewTopics
from engine.kafka.topic_creation import TopicMaker
from engine.ports import Admin
from engine.record.record import Record

GROUPS = (
    NewTopics("logs", ("log.*",), (), 9, 1, {"cleanup.policy": "compact"}),
    NewTopics("default", (".*",), (), 3, 2, {}),
)


class Made:
    """An admin client that only makes topics."""

    def __init__(self) -> None:
        self.topics: list[tuple[str, int, int, Any]] = []
        self.opened = 0

    def create_topic(
        self, name: str, partitions: int, replication_factor: int, config: Mapping[str, str] | None = None
    ) -> None:
        self.topics.append((name, partitions, replication_factor, config))


@pytest.fixture
def made() -> Made:
    return Made()


def maker(made: Made) -> TopicMaker:
    def open_admin() -> Admin:
        made.opened += 1
        return cast("Admin", made)

    return TopicMaker(open_admin, GROUPS)


def record(topic: Any) -> Record:
    return Record(topic, None, None, None, None)


def test_each_topic_is_made_once_as_its_group_says(made: Made) -> None:
    making = maker(made)
    assert made.opened == 0
    for topic in ("logs", "orders", "logs", "orders"):
        assert making.ensure(record(topic)) == record(topic)
    assert made.topics == [("logs", 9, 1, {"cleanup.policy": "compact"}), ("orders", 3, 2, {})]
    assert made.opened == 1


@pytest.mark.parametrize("topic", ["", "not a topic", "x" * 300])
def test_a_name_that_no_topic_can_have_is_left_to_the_brokers(made: Made, topic: str) -> None:
    assert maker(made).ensure(record(topic)) == record(topic)
    assert made.topics == []
