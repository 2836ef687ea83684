from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupState, KafkaError, KafkaException, Node
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # not in its stubs' __all__
    AdminClient,
    ConsumerGroupDescription,
    ConsumerGroupListing,
    ListConsumerGroupsResult,
)
from pytest_django import Settings

from dlqadmin.broker import clusters, topics
from dlqadmin.broker.groups import GroupDescription, GroupOnTopic, group_names, groups_on
from dlqadmin.broker.messages import BrokerUnavailable

ORDERS = {("orders", 0): 7, ("orders", 1): 3}


class FakeAnswers:
    """Groups by name, with what each has committed."""

    def __init__(self, **groups: tuple[GroupDescription, Mapping[tuple[str, int], int]]) -> None:
        self.groups = groups
        self.asked: list[str] = []
        self.refusing: set[str] = set()  # groups whose offsets are not told
        self.consumed: set[tuple[str, int]] = set()  # partitions in which a consumer has committed

    def names(self) -> Sequence[str]:
        return list(self.groups)

    def described(self, names: Sequence[str]) -> Mapping[str, GroupDescription]:
        return {name: self.groups[name][0] for name in names if name in self.groups}

    def partitions(self, topic: str) -> int | None:
        return {"orders": 2}.get(topic)

    def commits(
        self, group: str, wanted: Sequence[tuple[str, int]]
    ) -> Mapping[tuple[str, int], topics.CommittedOffset]:
        self.asked.append(group)
        if group in self.refusing:
            raise BrokerUnavailable("Group authorization failed")
        found = {place: offset for place, offset in self.groups[group][1].items() if place in wanted}
        return {place: topics.CommittedOffset(offset, "", place in self.consumed) for place, offset in found.items()}


def test_only_groups_with_something_on_the_topics_are_told() -> None:
    owner = GroupDescription("billing", "stable", "consumer", 2, frozenset({("orders", 1), ("other", 0)}))
    kafka = FakeAnswers(billing=(owner, ORDERS), elsewhere=(GroupDescription("elsewhere", "stable"), {("other", 0): 1}))
    assert groups_on(["orders", "absent"], kafka=kafka) == (
        GroupOnTopic("billing", "stable", "consumer", 2, ORDERS, frozenset({("orders", 1)})),
    )


def test_it_is_told_where_a_consumer_has_committed() -> None:
    kafka = FakeAnswers(billing=(GroupDescription("billing", "empty"), ORDERS))
    kafka.consumed = {("orders", 1)}
    (group,) = groups_on(["orders"], kafka=kafka)
    assert group.consumed == group.of("orders").consumed == {("orders", 1)}
    assert group.of("other").consumed == frozenset()


def test_named_groups_are_told_even_if_they_are_not_there() -> None:
    kafka = FakeAnswers(billing=(GroupDescription("billing", "empty"), ORDERS))
    assert [(group.name, group.state) for group in groups_on(["orders"], ["nobody", "billing"], kafka)] == [
        ("billing", "empty"),
        ("nobody", "dead"),
    ]


def test_nobody_asks_a_group_that_is_dead_or_shares_for_offsets() -> None:
    shared = GroupDescription("shared", "stable", "share", 1)
    kafka = FakeAnswers(shared=(shared, ORDERS), gone=(GroupDescription("gone"), ORDERS))
    assert [group.committed for group in groups_on(["orders"], ["shared", "gone"], kafka)] == [{}, {}]
    assert kafka.asked == []


def test_the_groups_of_the_dashboard_itself_are_left_out() -> None:
    own = {"dlqadmin-index": (GroupDescription("dlqadmin-index", "stable"), ORDERS)}
    assert groups_on(["orders"], kafka=FakeAnswers(**own)) == ()


def test_a_group_that_cannot_be_described_is_unknown_and_the_others_are_told() -> None:
    refused = GroupDescription("audit", undescribed="Group authorization failed")
    kafka = FakeAnswers(
        audit=(refused, {}), billing=(GroupDescription("billing", "stable"), ORDERS), map=(GroupDescription("map"), {})
    )
    assert groups_on(["orders"], kafka=kafka) == (
        GroupOnTopic("audit", "unknown", "unknown", 0, {}, frozenset(), "Group authorization failed"),
        GroupOnTopic("billing", "stable", "classic", 0, ORDERS, frozenset()),
    )
    (named,) = groups_on(["orders"], ["audit"], kafka)
    assert named.undescribed == "Group authorization failed"


def test_a_group_whose_offsets_are_not_told_is_unknown_beside_the_others() -> None:
    kafka = FakeAnswers(
        audit=(GroupDescription("audit", "stable"), ORDERS), billing=(GroupDescription("billing", "stable"), ORDERS)
    )
    kafka.refusing = {"audit"}
    assert [(group.name, group.state, group.passing) for group in groups_on(["orders"], kafka=kafka)] == [
        ("audit", "unknown", False),
        ("billing", "stable", False),
    ]


@pytest.mark.parametrize(
    ("cause", "passing"),
    [
        (KafkaException(KafkaError(KafkaError.NOT_COORDINATOR)), True),
        (KafkaException(KafkaError(KafkaError.REQUEST_TIMED_OUT)), True),
        (TimeoutError(), True),
        (KafkaException(KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED)), False),
    ],
)
def test_offsets_that_are_not_told_may_be_told_the_next_time_by_what_the_client_said(
    cause: Exception, passing: bool
) -> None:
    class Silent(FakeAnswers):
        def commits(
            self, group: str, wanted: Sequence[tuple[str, int]]
        ) -> Mapping[tuple[str, int], topics.CommittedOffset]:
            raise BrokerUnavailable("no offsets") from cause

    (group,) = groups_on(["orders"], kafka=Silent(audit=(GroupDescription("audit", "stable"), ORDERS)))
    assert (group.undescribed, group.passing) == ("no offsets", passing)


@pytest.mark.parametrize("passing", [True, False])
def test_a_group_among_all_keeps_whether_it_may_be_described_the_next_time(passing: bool) -> None:
    hidden = GroupDescription("audit", undescribed="not now", passing=passing)
    (group,) = groups_on(["orders"], kafka=FakeAnswers(audit=(hidden, {})))
    assert group.passing is passing


def test_groups_whose_turn_does_not_come_in_time_are_unknown() -> None:
    kafka = FakeAnswers(
        audit=(GroupDescription("audit", "stable"), ORDERS), billing=(GroupDescription("billing", "stable"), ORDERS)
    )
    ticks = iter([0.0, 1.0, 21.0])
    with_time = groups_on(["orders"], kafka=kafka, clock=lambda: next(ticks))
    assert [group.undescribed for group in with_time if group.undescribed] == ["it was not described within 20 s"]
    assert [group.passing for group in with_time if group.undescribed] == [True]
    assert len(with_time) == 2


def test_a_named_group_that_may_be_told_of_soon_is_waited_for() -> None:
    moving = GroupDescription("billing", undescribed="Not coordinator", passing=True)
    with pytest.raises(BrokerUnavailable, match="billing: Not coordinator"):
        groups_on(["orders"], ["billing"], FakeAnswers(billing=(moving, {})))


def test_groups_that_one_broker_did_not_list_are_not_taken_for_absent() -> None:
    listed = ConsumerGroupListing("billing", is_simple_consumer_group=False)
    assert group_names(ListConsumerGroupsResult(valid=[listed])) == ["billing"]
    late: Any = KafkaError(KafkaError._TIMED_OUT)  # what the client puts there, see below
    with pytest.raises(KafkaException) as raised:
        group_names(ListConsumerGroupsResult(valid=[listed], errors=[late]))
    assert raised.value.args == (late,)


def test_the_client_tells_of_such_a_broker_by_an_error_that_is_no_exception() -> None:
    """By librdkafka's own mock cluster, whose brokers can't list groups."""
    client = AdminClient({"test.mock.num.brokers": 2, "bootstrap.servers": "", "log_level": 0})
    found = client.list_consumer_groups(request_timeout=10).result(20)
    assert [type(error) for error in found.errors] == [KafkaError] * 2


def test_offsets_are_asked_of_the_cluster_that_the_groups_are_on(settings: Settings) -> None:
    settings.OTHER_CLUSTERS = {"dr": {"bootstrap.servers": "dr:9092"}}
    asked: list[object] = []

    class There(FakeAnswers):
        def commits(
            self, group: str, wanted: Sequence[tuple[str, int]]
        ) -> Mapping[tuple[str, int], topics.CommittedOffset]:
            asked.append(topics.client_config()["bootstrap.servers"])
            return super().commits(group, wanted)

    with clusters.on("dr"):
        groups_on(["orders"], kafka=There(billing=(GroupDescription("billing", "stable"), ORDERS)))
    assert asked == ["dr:9092"]


def test_what_a_group_has_of_one_topic_is_told_apart() -> None:
    places = frozenset({("orders", 1), ("other", 0)})
    group = GroupOnTopic("billing", "stable", "classic", 1, {**ORDERS, ("other", 0): 2}, places)
    assert group.of("other") == GroupOnTopic(
        "billing", "stable", "classic", 1, {("other", 0): 2}, frozenset({("other", 0)})
    )
    assert not group.of("absent").on


class SleepyAdmin:
    """A client whose first requests for descriptions end at their time-out."""

    def __init__(self, sleeps: int) -> None:
        self.sleeps = sleeps
        self.timeouts: list[float] = []

    def describe_consumer_groups(self, names: Sequence[str], request_timeout: float) -> dict[str, Future[Any]]:
        self.timeouts.append(request_timeout)
        futures = {name: Future[Any]() for name in names}
        for name, future in futures.items():
            if len(self.timeouts) <= self.sleeps:
                future.set_exception(KafkaException(KafkaError(KafkaError._TIMED_OUT)))
            else:
                dead = ConsumerGroupDescription(name, False, [], "", ConsumerGroupState.DEAD, Node(0, "h", 1))
                future.set_result(dead)
        return futures


def test_a_client_that_waits_for_a_coordinator_in_vain_is_asked_a_second_time(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.KAFKA_TIMEOUT_S = 8.0
    admin = SleepyAdmin(sleeps=1)
    monkeypatch.setattr(topics, "admin", lambda: admin)
    [group] = groups_on([], ["billing"])
    assert (group.state, admin.timeouts) == ("dead", [2.0, 8.0])
    monkeypatch.setattr(topics, "admin", lambda: SleepyAdmin(sleeps=2))
    with pytest.raises(BrokerUnavailable):
        groups_on([], ["billing"])
