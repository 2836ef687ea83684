"""The committed offsets of the connectors' groups: read for the plan, and kept from expiring."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import closing

from engine.errors import EngineError
from engine.herder.state import HerderState
from engine.herder.view import held
from engine.pipeline.task_state import TaskState, restore
from engine.ports import Admin, Committed, Consumer, TaskConfig
from engine.record.record import TopicPartition
from engine.record.stage import Stage

log = logging.getLogger(__name__)


def group_of(connector: str) -> str:
    """The consumer group whose offsets are the connector's positions."""
    return f"connect-{connector}"


class GroupOffsets:
    """Brokers forget the offsets of groups without members; `recommit` reminds them."""

    def __init__(self, admin: Admin, consumers: Callable[[str], Consumer]) -> None:
        self._admin = admin
        self._consumers = consumers

    def committed(self, task: TaskConfig) -> dict[TopicPartition, int]:
        """The committed next offset of each partition of a task; those never committed are missing."""
        return {partition: found.offset for partition, found in self._found(task).items()}

    def progress(self, task: TaskConfig, stages: Sequence[Stage]) -> tuple[dict[TopicPartition, int], TaskState]:
        """The committed next offsets of a task, and its memory as it was committed with them."""
        found = self._found(task)
        memory = restore(
            [one.metadata for one in found.values()],
            task=task.task,
            generation=task.generation,
            restarts=task.restarts,
            stages=stages,
        )
        return {partition: one.offset for partition, one in found.items()}, memory

    def recommit(self, state: HerderState) -> None:
        """Commit again, unchanged, what each task that no lease holds has committed: paused and failed ones too.

        A group that refuses does not keep the others from being reminded.
        """
        for task in state.tasks.values():
            if held(state, task.key):
                continue
            try:
                self._recommit(task.config)
            except EngineError as error:
                log.warning("the offsets of task %s were not committed again: %s", task.config.task_id, error)

    def _recommit(self, task: TaskConfig) -> None:
        offsets = self._found(task)
        if offsets:
            with closing(self._consumers(group_of(task.connector))) as consumer:
                consumer.commit(offsets)

    def _found(self, task: TaskConfig) -> dict[TopicPartition, Committed]:
        if not task.partitions:
            return {}  # a source's positions are not kept in a group
        found = self._admin.committed(group_of(task.connector), task.partitions)
        return {partition: committed for partition, committed in found.items() if committed is not None}
