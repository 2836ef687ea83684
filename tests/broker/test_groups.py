"""Consumer groups of every kind on a real broker."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from demo.broker import LocalBroker
from dlqadmin.broker.groups import GroupOnTopic, groups_on
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.host.network import wait_until
from tests.support.broker import lasting_broker


class Members:
    """Consumers of one topic of two partitions, six records in it."""

    def __init__(self, broker: str) -> None:
        self.broker, self.topic, self.open = broker, f"groups-{uuid.uuid4().hex}", list[Consumer]()
        admin = AdminClient({"log_level": 0, "bootstrap.servers": broker})
        admin.create_topics([NewTopic(self.topic, 2, 1)])[self.topic].result(20)
        producer = Producer({"log_level": 0, "bootstrap.servers": broker})
        for number in range(6):
            producer.produce(self.topic, b"v", partition=number % 2)
        producer.flush(20)

    def join(self, protocol: str = "classic") -> str:
        """A group with one member, which has read and committed all; its name."""
        name = f"{protocol}-{uuid.uuid4().hex}"
        options = {"group.id": name, "group.protocol": protocol, "auto.offset.reset": "earliest"}
        member = Consumer({"log_level": 0, "bootstrap.servers": self.broker, "enable.auto.commit": False, **options})
        member.subscribe([self.topic])
        read: list[Any] = []

        def is_read() -> bool:
            read.extend(member.consume(6, 0.2))
            return len(read) >= 6

        wait_until(is_read, "all records read", 60)
        member.commit(asynchronous=False)
        self.open.append(member)
        return name

    def join_too(self, name: str, protocol: str) -> None:
        """A second member, which the first one has not heard of yet."""
        options = {"group.id": name, "group.protocol": protocol, "enable.auto.commit": False}
        member = Consumer({"log_level": 0, "bootstrap.servers": self.broker, **options})
        self.open.append(member)
        member.subscribe([self.topic])
        member.poll(0.5)

    def commit(self, offset: int) -> str:
        """A group nobody is in, with an offset for partition 0; its name."""
        name = f"simple-{uuid.uuid4().hex}"
        hand = Consumer(
            {"log_level": 0, "bootstrap.servers": self.broker, "group.id": name, "enable.auto.commit": False}
        )
        hand.commit(offsets=[TopicPartition(self.topic, 0, offset)], asynchronous=False)
        hand.close()
        return name

    def leave(self) -> None:
        # `close` of a client in the middle of a rebalance may never return (librdkafka).
        wait_until(self._have_partitions, "partitions for all members", 60)
        while self.open:
            self.open.pop().close()

    def _have_partitions(self) -> bool:
        for member in self.open:
            member.poll(0.1)
        return all(member.assignment() for member in self.open)

    def groups(self, *named: str) -> dict[str, GroupOnTopic]:
        return {group.name: group for group in groups_on([self.topic], named or None)}


@pytest.fixture
def members(broker: str, settings: Any) -> Iterator[Members]:
    settings.KAFKA_BOOTSTRAP_SERVERS = broker
    made = Members(broker)
    yield made
    made.leave()


def test_groups_of_each_kind_are_found_by_what_they_have_of_the_topic(members: Members) -> None:
    topic = members.topic
    classic, consumer, simple = members.join(), members.join("consumer"), members.commit(2)
    both = frozenset({(topic, 0), (topic, 1)})
    assert members.groups() == {
        classic: GroupOnTopic(classic, "stable", "classic", 1, dict.fromkeys(sorted(both), 3), both, consumed=both),
        consumer: GroupOnTopic(consumer, "stable", "consumer", 1, dict.fromkeys(sorted(both), 3), both, consumed=both),
        simple: GroupOnTopic(simple, "empty", "simple", 0, {(topic, 0): 2}, frozenset()),
    }


def test_a_group_whose_members_left_is_empty_and_keeps_its_offsets(members: Members) -> None:
    name = members.join()
    members.leave()
    (group,) = members.groups(name).values()
    assert (group.state, group.members, group.owned) == ("empty", 0, frozenset())
    assert set(group.committed.values()) == {3}


def test_a_named_group_that_does_not_exist_is_dead(members: Members) -> None:
    members.commit(1)
    (group,) = members.groups("nobody").values()
    assert (group.state, group.committed) == ("dead", {})


@pytest.fixture
def new_broker(tmp_path: Path) -> Iterator[LocalBroker]:
    started = lasting_broker(tmp_path).start()
    yield started
    started.kill()


def test_a_cluster_that_never_had_a_group_is_asked_without_harm(new_broker: LocalBroker, settings: Any) -> None:
    settings.KAFKA_BOOTSTRAP_SERVERS, settings.KAFKA_TIMEOUT_S = new_broker.bootstrap_servers, 20.0
    assert groups_on(["absent"]) == ()  # the broker makes its topic of groups first
    (group,) = groups_on(["absent"], ["nobody"])
    assert group.state == "dead"
    new_broker.kill()
    settings.KAFKA_TIMEOUT_S = 1.0
    with pytest.raises(BrokerUnavailable):
        groups_on(["absent"])


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_that_a_second_member_joins_shares_out_anew_whatever_its_protocol_calls_that(
    members: Members, protocol: str
) -> None:
    name = members.join(protocol)
    assert not members.groups(name)[name].rebalances
    members.join_too(name, protocol)
    wait_until(lambda: members.groups(name)[name].rebalances, "a rebalance", 20, 0.02)
    members.leave()
    assert not members.groups(name)[name].rebalances
