"""The claim of a lease: permission from the config topic, positions from the committed offsets."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Protocol

from engine.config.topic import ConfigState, fold_config, owns
from engine.errors import OffsetsMissing, RetriableError
from engine.pipeline.task_state import MAX_MARKS, TaskState, marks_of, parse, restore
from engine.ports import Clock, Committed, Consumer
from engine.record.record import TopicPartition
from engine.record.stage import Stage
from engine.worker_messages import LeaseEnd, TaskConfig

READ_TIMEOUT_MS = 30_000
POLL_RECORDS = 2000


class ConfigTail:
    """The config topic, read from its beginning; it only moves forward."""

    def __init__(self, consumer: Consumer, topic: str, clock: Clock) -> None:
        self.consumer = consumer
        self.partition = TopicPartition(topic, 0)
        self.clock = clock
        self.state = ConfigState()
        self._lock = threading.Lock()  # background commits ask from their own threads whether the task must stop
        consumer.assign({self.partition: consumer.begin_offsets([self.partition])[self.partition]})

    def read_to_end(self) -> ConfigState:
        """Return the current state. Raises RetriableError if the topic can't be read to its end in time."""
        # The end at this moment is enough: a claim must see everything that was written before it began.
        end = self.consumer.end_offsets([self.partition])[self.partition]
        late_ms = self.clock.now_ms() + READ_TIMEOUT_MS
        while self.consumer.positions()[self.partition] < end:
            self.poll(timeout_s=0.1)
            if self.clock.now_ms() > late_ms:
                topic, limit_s = self.partition.topic, READ_TIMEOUT_MS // 1000
                raise RetriableError(f"the config topic {topic} could not be read to its end within {limit_s} s")
        return self.poll()  # another thread may have polled the last records; its fold is visible once the lock is free

    def poll(self, timeout_s: float = 0) -> ConfigState:
        """Return the state after the records that have arrived."""
        with self._lock:
            for raw in self.consumer.poll(POLL_RECORDS, timeout_s):
                self.state = fold_config(self.state, raw.key, raw.value)
            return self.state


def end_of_ownership(state: ConfigState, task: TaskConfig, leader_epoch: int) -> LeaseEnd | None:
    """Return why a lease must give up the task, or None if it may go on.

    FENCED: a newer leader or generation exists. STOPPED: the task is to stop.
    """
    if owns(state, task, leader_epoch):
        return None
    connector = state.connectors.get(task.connector)
    newer = state.leader.epoch != leader_epoch or (connector is not None and connector.generation != task.generation)
    return LeaseEnd.FENCED if newer else LeaseEnd.STOPPED


class PositionStore(Protocol):
    """A store of a task's positions, with the task's memory as their metadata."""

    def committed(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, Committed | None]: ...
    def remember(self, offsets: Mapping[TopicPartition, Committed]) -> None: ...


def claim_positions(
    task: TaskConfig, stages: Sequence[Stage], consumer: Consumer, store: PositionStore
) -> tuple[dict[TopicPartition, int], TaskState]:
    """Return the start positions of the task, and its memory.

    A partition without a committed offset begins at its earliest record, and that position is committed at once.
    If that commit is missing later, for any reason, the next claim raises OffsetsMissing.
    """
    committed = store.committed(task.partitions)
    existing = {partition: one for partition, one in committed.items() if one is not None}
    state = restore(
        [one.metadata for one in existing.values()],
        task=task.task,
        generation=task.generation,
        restarts=task.restarts,
        stages=stages,
    )
    # A partition may have belonged to another task before, and its metadata then holds that task's marks.
    marks = marks_of({partition: one.metadata for partition, one in existing.items()})
    own_marks = [mark for mark in state.reported if mark in marks]
    state.reported = (*(mark for mark in marks if mark not in own_marks), *own_marks)[-MAX_MARKS:]
    missing = [partition for partition in task.partitions if partition not in existing]
    positions = {partition: one.offset for partition, one in existing.items()}
    state.forget_passed(positions)  # an operator may have moved the offsets
    # The herder only suspects it: its ends are older than these positions. So the ends are read again.
    if task.beyond and (past_end := _positions_past_end(positions, consumer.end_offsets(list(positions)))):
        raise OffsetsMissing(_past_end_message(task, positions, past_end))
    if missing:
        # Offsets that were committed once and are missing were lost, by expiry or by hand. To begin at the earliest
        # record would process the whole topic again, and nobody would notice.
        if task.has_committed or any(_is_of(one, task) for one in existing.values()):
            raise OffsetsMissing(_missing_offset_message(task, missing))
        # Looked up, because the consumer never resets a position by itself (`auto.offset.reset=error`).
        begins = consumer.begin_offsets(missing)
        # `restore` takes the copy with the highest number. The other partitions keep their older copies for now.
        state.seq += 1
        store.remember({partition: Committed(offset, state.to_metadata()) for partition, offset in begins.items()})
        positions |= begins
    return positions, state


def _positions_past_end(
    positions: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    return {partition: end for partition, end in ends.items() if positions[partition] > end}


def _past_end_message(
    task: TaskConfig, positions: Mapping[TopicPartition, int], gone: Mapping[TopicPartition, int]
) -> str:
    rows = ", ".join(
        f"{partition.topic}-{partition.partition} (committed {positions[partition]}, end {end})"
        for partition, end in gone.items()
    )
    return (
        f"{task.task_id} has committed offsets beyond the end of {rows}: the topic was deleted and created again, or "
        f"lost records; set the offsets of group connect-{task.connector}, then restart the task"
    )


def _is_of(committed: Committed, task: TaskConfig) -> bool:
    body = parse(committed.metadata)
    return body is not None and body["t"] == task.task and body["g"] == task.generation


def _missing_offset_message(task: TaskConfig, missing: Sequence[TopicPartition]) -> str:
    names = ", ".join(f"{partition.topic}-{partition.partition}" for partition in missing)
    return (
        f"{task.task_id} committed offsets before, but group connect-{task.connector} has no offset for {names}; "
        "set the group's offsets, then restart the task"
    )
