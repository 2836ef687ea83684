"""The committed offsets of the connectors' groups: read for the plan, and kept from expiring."""

from __future__ import annotations

from collections.abc import Callable

from engine.herder.state import HerderState
from engine.herder.view import held
from engine.ports import Admin, Consumer, TaskConfig
from engine.record.record import TopicPartition


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
        committed = self._admin.committed(group_of(task.connector), task.partitions)
        return {partition: found.offset for partition, found in committed.items() if found is not None}

    def recommit(self, state: HerderState) -> None:
        """Commit again, unchanged, what each task that no lease holds has committed: paused and failed ones too."""
        for task in state.tasks.values():
            if held(state, task.key):
                continue
            group = group_of(task.config.connector)
            found = self._admin.committed(group, task.config.partitions)
            offsets = {partition: committed for partition, committed in found.items() if committed is not None}
            if offsets:
                consumer = self._consumers(group)
                consumer.commit(offsets)
                consumer.close()
