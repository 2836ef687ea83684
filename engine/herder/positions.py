"""The committed offsets of the connectors' consumer groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing

from engine.config.topic import TaskEntry
from engine.pipeline.task_state import TaskState, restore
from engine.ports import Admin, Committed, Consumer, TransactionalProducer
from engine.record.record import TopicPartition
from engine.record.stage import Stage
from engine.worker_messages import TaskConfig


def group_of(connector: str) -> str:
    """Return the consumer group whose offsets are the connector's positions."""
    return f"connect-{connector}"


class GroupOffsets:
    """Committed offsets. Anybody may read them; the herder writes them for tasks that no lease holds.

    For a connector that writes transactions, offsets are written in transactions under the task's own id. The id is
    taken over before the offsets are read. So a herder that slept and no longer leads can't move a position back. The
    process that runs the task has taken over the id, and the herder's transaction is refused.
    """

    def __init__(
        self,
        admin: Admin,
        consumers: Callable[[str], Consumer],
        producers: Callable[[Mapping[str, str], int], TransactionalProducer],
    ) -> None:
        self._admin = admin
        self._consumers = consumers
        self._producers = producers

    def of_connector(self, connector: str, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """Return the committed next offsets of these partitions."""
        offsets = self._admin.committed(group_of(connector), partitions) if partitions else {}
        return {partition: one.offset for partition, one in offsets.items() if one is not None}

    def committed(self, task: TaskConfig) -> dict[TopicPartition, int]:
        """Return the committed next offsets of a task, without partitions never committed."""
        return {
            partition: offset_and_metadata.offset for partition, offset_and_metadata in self._committed(task).items()
        }

    def progress(self, task: TaskConfig, stages: Sequence[Stage]) -> tuple[dict[TopicPartition, int], TaskState]:
        """Return a task's committed next offsets and the task state committed with them."""
        offsets = self._committed(task)
        memory = restore(
            [one.metadata for one in offsets.values()],
            task=task.task,
            generation=task.generation,
            restarts=task.restarts,
            stages=stages,
        )
        return {partition: one.offset for partition, one in offsets.items()}, memory

    def write(self, connector: str, task: int, entry: TaskEntry, offsets: Mapping[TopicPartition, Committed]) -> None:
        """Commit these offsets of a task."""
        if entry.exactly_once:
            self._commit_in_transaction(connector, task, entry.properties, lambda: offsets)
        else:
            self._commit_plainly(connector, offsets)

    def recommit(self, task: TaskConfig) -> None:
        """Commit the task's committed offsets again, unchanged."""
        if not task.partitions:
            return
        if task.exactly_once:
            self._commit_in_transaction(task.connector, task.task, task.config, lambda: self._committed(task))
        else:
            self._commit_plainly(task.connector, self._committed(task))

    def _commit_plainly(self, connector: str, offsets: Mapping[TopicPartition, Committed]) -> None:
        if offsets:
            with closing(self._consumers(group_of(connector))) as consumer:
                consumer.commit(offsets)

    def _commit_in_transaction(
        self,
        connector: str,
        task: int,
        properties: Mapping[str, str],
        offsets: Callable[[], Mapping[TopicPartition, Committed]],
    ) -> None:
        with closing(self._producers(properties, task)) as producer:
            # Fences a worker that sleeps with this id, and ends its open transaction.
            producer.init()
            current = offsets()  # read only now, when older transactions are settled
            if current:
                producer.begin()
                producer.send_offsets(current, group_of(connector))
                producer.commit()

    def _committed(self, task: TaskConfig) -> dict[TopicPartition, Committed]:
        if not task.partitions:
            return {}  # the positions of a source are not in a group
        offsets = self._admin.committed(group_of(task.connector), task.partitions)
        return {partition: committed for partition, committed in offsets.items() if committed is not None}
