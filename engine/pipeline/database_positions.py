"""Positions that a database keeps beside a sink's rows.

The table is authoritative. The consumer group holds a copy, so that lag tools work. The copy's metadata holds the
number of the last letter that Kafka has; later letters wait in the database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec
import orjson

from engine.errors import OffsetsMissing
from engine.exactly_once.buffered import BufferedRecord
from engine.pipeline.task_state import parse
from engine.ports import Committed, Consumer
from engine.record.record import TopicPartition
from engine.worker_messages import TaskConfig

LETTER_KEY = "l"  # key in the metadata of the group's offsets, for the number of the last letter that Kafka has


class PositionRow(msgspec.Struct, frozen=True):
    """A partition's row: next offset, the task's memory, and the number of its last letter."""

    next: int
    memory: str
    letters: int = 0


class OutboxRecord(msgspec.Struct, frozen=True):
    """A record for Kafka that waits in the database, numbered within the partition it came with."""

    seq: int
    record: BufferedRecord


class DatabaseOffsets(Protocol):
    """The position rows of a task's partitions.

    Each method but `rollback` raises GenerationFenced, RetriableError or ConfigError.
    """

    @property
    def is_open(self) -> bool:
        """Return whether rows are written that are not committed."""
        ...

    def claim(self) -> Mapping[TopicPartition, PositionRow]:
        """Return the existing rows, and fence every earlier claimant: it can no longer write."""
        ...

    def adopt(self, rows: Mapping[TopicPartition, PositionRow]) -> None:
        """Write these rows over the existing ones."""
        ...

    def save(
        self,
        rows: Mapping[TopicPartition, PositionRow],
        carrier: TopicPartition,
        letters: Sequence[OutboxRecord],
        sent: int,
    ) -> None:
        """Write rows and letters in the open transaction, delete letters up to `sent`, and commit.

        The letters belong to the partition `carrier`. If this raises, nothing is written, except that
        RetriableError may mean that the result of the commit is unknown.
        """
        ...

    def carriers(self) -> Sequence[TopicPartition]:
        """Return the partitions that have letters."""
        ...

    def letters(self, carrier: TopicPartition, after: int, limit: int) -> Sequence[OutboxRecord]: ...
    def forget(self, carrier: TopicPartition, sent: int) -> None: ...
    def rollback(self) -> None: ...


class DatabaseStore:
    """A task's claimed positions.

    `rows` holds the table's rows. `sent` holds the number of the last letter of each partition that Kafka has.
    """

    def __init__(self, task: TaskConfig, database: DatabaseOffsets, consumer: Consumer) -> None:
        self.task = task
        self.database = database
        self.consumer = consumer
        self.rows: dict[TopicPartition, PositionRow] = {}
        self.sent: dict[TopicPartition, int] = {}
        self.group: dict[TopicPartition, Committed] = {}  # the group's offsets as last read or written

    def committed(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, Committed | None]:
        """Claim the partitions and return their positions.

        Our client already owns the transactional id here, so that nobody else can move the group's offsets.
        """
        # First the table, then the group: after the claim nobody else can write rows that the group's offsets would
        # miss.
        rows = self.database.claim()
        committed = self.consumer.committed(partitions)
        adopted: dict[TopicPartition, PositionRow] = {}
        for partition in partitions:
            row, group = rows.get(partition), committed[partition]
            if group is not None:
                self.group[partition] = group
            mark = None if group is None else parse_last_letter(group.metadata)
            # The group was committed with a table, but this table has no row: it may be another database.
            if row is None and mark is not None:
                raise OffsetsMissing(_missing_offset_message(self.task, partition))
            self.sent[partition] = mark or 0
            # The sink ran without its table in the meantime, so the group is ahead of the row.
            if group is not None and mark is None and _is_newer(group, row):
                row = adopted[partition] = PositionRow(group.offset, group.metadata, 0 if row is None else row.letters)
            if row is not None:
                self.rows[partition] = row
        if adopted:
            self.database.adopt(adopted)
        found = self.rows
        return {one: Committed(found[one].next, found[one].memory) if one in found else None for one in partitions}

    def remember(self, offsets: Mapping[TopicPartition, Committed]) -> None:
        """Store the initial positions."""
        rows = {partition: PositionRow(one.offset, one.metadata) for partition, one in offsets.items()}
        self.database.adopt(rows)
        self.rows |= rows


def group_metadata(memory: str, letters: int) -> str:
    """Return the metadata of a group offset: the task's memory and the last letter that Kafka has."""
    return orjson.dumps({**(parse(memory) or {}), LETTER_KEY: letters}).decode()


def parse_last_letter(metadata: str) -> int | None:
    """Return the last letter that Kafka has; None if no database was used for the commit."""
    try:
        body = orjson.loads(metadata)
    except orjson.JSONDecodeError:
        return None
    mark = body.get(LETTER_KEY) if isinstance(body, dict) else None
    return mark if isinstance(mark, int) else None


def _is_newer(group: Committed, row: PositionRow | None) -> bool:
    """Return whether the sink has committed without its table after it wrote the row.

    A late commit of an older generation does not count.
    """
    if row is None:
        return True
    group_state, row_state = parse(group.metadata), parse(row.memory)
    return group_state is not None and (row_state is None or group_state["g"] > row_state["g"])


def _missing_offset_message(task: TaskConfig, partition: TopicPartition) -> str:
    return (
        f"{task.task_id} has used the table engine_offsets before, but the table has no row for "
        f"{partition.topic}-{partition.partition}; check that the connector uses the same database. To start at the "
        f"offsets of group connect-{task.connector}, stop the connector, set the offsets by hand, then restart the task"
    )
