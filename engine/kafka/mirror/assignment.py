"""Which task of a mirror reads which partitions, as its properties say it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from engine.config.mirror import ASSIGNED
from engine.errors import ConfigError
from engine.record.record import TopicPartition


def task_configs(partitions: Iterable[TopicPartition], tasks_max: int) -> list[dict[str, str]]:
    """What each task adds to the properties: `task.assigned.partitions`, round robin over the sorted partitions."""
    rows = sorted(set(partitions))
    tasks = min(tasks_max, len(rows))
    return [{ASSIGNED: ",".join(f"{topic}-{number}" for topic, number in rows[task::tasks])} for task in range(tasks)]


def assigned(properties: Mapping[str, str]) -> tuple[TopicPartition, ...]:
    """The partitions of a task. Raises ConfigError for what names none."""
    found = []
    for name in filter(None, properties.get(ASSIGNED, "").split(",")):
        topic, _, number = name.rpartition("-")
        if not topic or not number.isdecimal():
            raise ConfigError(((ASSIGNED, name, "names no partition"),))
        found.append(TopicPartition(topic, int(number)))
    return tuple(found)


def known_partitions(tasks: Sequence[Mapping[str, str]]) -> set[TopicPartition]:
    """The partitions of all tasks. One that was seen once stays: out of sight for a moment it must not move work."""
    return {partition for task in tasks for partition in assigned(task)}
