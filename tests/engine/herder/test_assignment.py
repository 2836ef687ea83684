from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.config.topic import ConnectorState, TaskEntry
from engine.herder.assignment import assign, assign_by_number, next_generation, source_generation, wanted_topics
from engine.record.record import TopicPartition
from engine.worker_messages import ConnectorKind

PARTITIONS = st.lists(st.builds(TopicPartition, st.sampled_from("abc"), st.integers(0, 20)), max_size=40)


def parts(topic: str, count: int) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for number in range(count)]


@given(PARTITIONS, st.integers(1, 12))
def test_every_partition_has_exactly_one_task_and_no_task_is_idle(found: list[TopicPartition], most: int) -> None:
    tasks = assign(found, most)
    assert sorted(partition for task in tasks for partition in task) == sorted(set(found))
    assert len(tasks) == min(most, len(set(found)))
    sizes = [len(task) for task in tasks]
    assert not sizes or max(sizes) - min(sizes) <= 1


@given(PARTITIONS, st.integers(1, 12))
def test_equal_numbers_of_a_streams_topics_share_a_task(found: list[TopicPartition], most: int) -> None:
    tasks = assign_by_number(found, most)
    assert sorted(partition for task in tasks for partition in task) == sorted(set(found))
    owner = {partition: number for number, task in enumerate(tasks) for partition in task}
    assert all(owner[a] == owner[b] for a in owner for b in owner if a.partition == b.partition)
    assert all(tasks)


def test_a_source_has_a_task_for_each_of_its_configurations() -> None:
    entry = ConnectorState({"name": "c"}, generation=3)
    tasks = source_generation(entry, [{"tables": "a"}, {"tables": "b"}])
    assert tasks == (
        TaskEntry(4, {"name": "c", "tables": "a"}, (), ConnectorKind.SOURCE),
        TaskEntry(4, {"name": "c", "tables": "b"}, (), ConnectorKind.SOURCE),
    )
    settled = ConnectorState({"name": "c"}, generation=4, tasks=tasks)
    assert source_generation(settled, [{"tables": "a"}, {"tables": "b"}]) is None
    assert source_generation(settled, [{"tables": "a"}]) is not None


def test_partitions_go_round_robin() -> None:
    assert assign(parts("t", 4), 2) == (
        (TopicPartition("t", 0), TopicPartition("t", 2)),
        (TopicPartition("t", 1), TopicPartition("t", 3)),
    )


def test_a_regex_must_match_the_whole_name_and_spares_internal_topics() -> None:
    names = ["orders", "orders.dlq", "my-orders", "__consumer_offsets"]
    assert wanted_topics({"topics.regex": "orders"}, names) == ("orders",)
    assert wanted_topics({"topics.regex": ".*"}, names) == ("my-orders", "orders", "orders.dlq")
    assert wanted_topics({"topics.regex": "__.*"}, names) == ("__consumer_offsets",)


def test_named_topics_wait_until_they_exist() -> None:
    assert wanted_topics({"topics": "a, b"}, ["b", "c"]) == ("b",)


def state(properties: dict[str, str], tasks: tuple[tuple[TopicPartition, ...], ...] = ()) -> ConnectorState:
    return ConnectorState(properties, 3, tuple(TaskEntry(3, properties, own) for own in tasks))


def test_a_fitting_generation_stays() -> None:
    properties = {"topics": "t", "tasks.max": "2"}
    assert next_generation(state(properties, assign(parts("t", 4), 2)), parts("t", 4)) is None


def test_growth_is_a_new_generation() -> None:
    properties = {"topics": "t", "tasks.max": "2"}
    tasks = next_generation(state(properties, assign(parts("t", 1), 2)), parts("t", 2))
    assert tasks is not None
    assert [(task.generation, task.partitions) for task in tasks] == [(4, (one,)) for one in parts("t", 2)]


def test_a_partition_out_of_sight_keeps_its_task() -> None:
    properties = {"topics": "t", "tasks.max": "2"}
    assert next_generation(state(properties, assign(parts("t", 4), 2)), []) is None


def test_changed_properties_are_a_new_generation() -> None:
    entry = ConnectorState({"topics": "t", "tasks.max": "1"}, 3, state({"topics": "t"}, (tuple(parts("t", 2)),)).tasks)
    tasks = next_generation(entry, parts("t", 2))
    assert tasks is not None
    assert tasks[0].properties == {"topics": "t", "tasks.max": "1"}


def test_partitions_of_topics_no_longer_read_are_given_up() -> None:
    entry = ConnectorState({"topics": "u"}, 3, state({"topics": "t"}, (tuple(parts("t", 2)),)).tasks)
    tasks = next_generation(entry, parts("u", 1))
    assert tasks is not None
    assert [task.partitions for task in tasks] == [tuple(parts("u", 1))]


def test_without_partitions_there_is_no_generation() -> None:
    assert next_generation(state({"topics": "t"}), []) is None


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [
        (r"\p{Alpha}+", ("ab", "b")),
        ("[a-z&&[^a]]+", ("b",)),
        (r"\Qa.b\E", ("a.b",)),
        ("a*+b", ("ab", "b")),
        (r"(?<x>a)\.b", ("a.b",)),
    ],
)
def test_a_regex_means_what_it_means_to_java(pattern: str, matched: tuple[str, ...]) -> None:
    assert wanted_topics({"topics.regex": pattern}, ["a.b", "ab", "b", "1"]) == matched
