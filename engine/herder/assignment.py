"""The assignment of partitions to connectors and tasks. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from engine.config.java_regex import compile_java
from engine.config.topic import ConnectorState, TaskEntry
from engine.errors import ConfigError
from engine.record.record import TopicPartition
from engine.worker_messages import ConnectorKind


def named_topics(properties: Mapping[str, str]) -> tuple[str, ...]:
    """Return the topics that the option `topics` names."""
    return tuple(sorted({name.strip() for name in properties.get("topics", "").split(",")} - {""}))


def wanted_topics(properties: Mapping[str, str], existing: Iterable[str]) -> tuple[str, ...]:
    """Return the existing topics that a connector reads: the named ones, or full matches of `topics.regex`.

    Internal topics (`__consumer_offsets` …) match only a regex that spells out the underscores. Raises ConfigError.
    """
    regex = properties.get("topics.regex", "").strip()
    if not regex:
        names = set(named_topics(properties))
        return tuple(sorted(names.intersection(existing)))
    try:
        pattern = compile_java(regex)
    except ValueError as error:
        raise ConfigError((("topics.regex", regex, str(error)),)) from error
    return tuple(
        sorted(name for name in existing if pattern.fullmatch(name) and (name[:2] != "__" or regex[:2] == "__"))
    )


def assign(partitions: Iterable[TopicPartition], tasks_max: int) -> tuple[tuple[TopicPartition, ...], ...]:
    """Assign the sorted partitions round robin.

    There are as many tasks as partitions, but at most `tasks_max`.
    """
    # Sorted, so that the order in which brokers list partitions does not change an assignment.
    rows = sorted(set(partitions))
    tasks = min(tasks_max, len(rows))
    return tuple(tuple(rows[task::tasks]) for task in range(tasks))


def assign_by_number(partitions: Iterable[TopicPartition], tasks_max: int) -> tuple[tuple[TopicPartition, ...], ...]:
    """Assign partitions with equal numbers to the same task, as Kafka Streams does.

    Records with the same key in two topics then reach the same task.
    """
    rows = sorted(set(partitions))
    numbers = sorted({partition.partition for partition in rows})
    tasks = min(tasks_max, len(numbers))
    place = {number: index % tasks for index, number in enumerate(numbers)}
    return tuple(tuple(row for row in rows if place[row.partition] == task) for task in range(tasks))


def source_generation(
    entry: ConnectorState, task_configs: Sequence[Mapping[str, str]], exactly_once: bool = False
) -> tuple[TaskEntry, ...] | None:
    """Return the tasks of a source's new generation, or None when the current tasks still fit.

    Each task configuration becomes one task.
    """
    if entry.properties is None:
        return None
    wanted = [({**entry.properties, **own}, exactly_once) for own in task_configs]
    if [(task.properties, task.exactly_once) for task in entry.tasks] == wanted:
        return None
    generation = entry.generation + 1
    return tuple(TaskEntry(generation, properties, (), ConnectorKind.SOURCE, exactly_once) for properties, _ in wanted)


def next_generation(
    entry: ConnectorState,
    partitions: Iterable[TopicPartition],
    kind: ConnectorKind = ConnectorKind.SINK,
    exactly_once: bool = False,
) -> tuple[TaskEntry, ...] | None:
    """Return a sink's or stream's tasks of a new generation, or None if the current one fits.

    A change of the delivery guarantee needs a new generation, because transactional producers are fenced differently.
    Partitions stay assigned once they were seen: a topic that disappears for a moment must not move work between tasks.
    """
    if entry.properties is None:
        return None
    assigned = {partition for task in entry.tasks for partition in task.partitions}
    as_wanted = entry.properties, exactly_once
    fresh = not entry.tasks or any((task.properties, task.exactly_once) != as_wanted for task in entry.tasks)
    existing = set(partitions)
    if existing <= assigned and not fresh:
        return None
    vanished = _still_read(assigned, entry.properties)
    share = assign_by_number if kind is ConnectorKind.STREAM else assign
    rows = share(existing | vanished, int(entry.properties.get("tasks.max", "1")))
    # A generation without tasks is worth a record only if it ends tasks.
    if not rows and not entry.tasks:
        return None
    return tuple(TaskEntry(entry.generation + 1, entry.properties, own, kind, exactly_once) for own in rows)


def _still_read(known: set[TopicPartition], properties: Mapping[str, str]) -> set[TopicPartition]:
    topics: Sequence[str] = wanted_topics(properties, {partition.topic for partition in known})
    return {partition for partition in known if partition.topic in topics}
