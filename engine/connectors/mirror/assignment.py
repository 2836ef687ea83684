"""Assignment of a mirror's partitions to its tasks, in the tasks' properties. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from engine.connectors.mirror.options import ASSIGNED
from engine.errors import ConfigError
from engine.record.record import TopicPartition


def task_configs(partitions: Iterable[TopicPartition], tasks_max: int) -> list[dict[str, str]]:
    """Return each task's `task.assigned.partitions`: the sorted partitions, round robin."""
    rows = sorted(set(partitions))
    tasks = min(tasks_max, len(rows))
    return [{ASSIGNED: ",".join(f"{topic}-{number}" for topic, number in rows[task::tasks])} for task in range(tasks)]


def assigned_partitions(properties: Mapping[str, str]) -> tuple[TopicPartition, ...]:
    """Return the partitions of a task. Raises ConfigError for text that names no partition."""
    partitions = []
    for name in filter(None, properties.get(ASSIGNED, "").split(",")):
        topic, _, number = name.rpartition("-")
        if not topic or not number.isdecimal():
            raise ConfigError(((ASSIGNED, name, "is not a partition; write topic-number"),))
        partitions.append(TopicPartition(topic, int(number)))
    return tuple(partitions)


def known_partitions(tasks: Sequence[Mapping[str, str]]) -> set[TopicPartition]:
    """Return the partitions of all tasks. Partitions stay known, so that a short absence does not move work."""
    return {partition for task in tasks for partition in assigned_partitions(task)}
