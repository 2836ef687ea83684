"""Positions that a database keeps beside the rows it was given: what they are, and who is right where Kafka differs.

The table is the truth. The group keeps a copy, for whoever looks at lag, and with it the number of the last letter that
Kafka has: letters wait in the database until then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec
import orjson

from engine.errors import OffsetsMissing
from engine.exactly_once.buffered import Written
from engine.leases import TaskConfig
from engine.pipeline.task_state import parse
from engine.ports import Committed, Consumer
from engine.record.record import TopicPartition

LETTER_KEY = "l"  # in the metadata of the group's offsets: the number of the last letter that Kafka has


class Kept(msgspec.Struct, frozen=True):
    """A partition's row: the next offset, the task's memory, the number of the last letter written with it."""

    next: int
    memory: str
    letters: int = 0


class Letter(msgspec.Struct, frozen=True):
    """A record for Kafka that waits in the database; they are numbered by the partition they came with."""

    seq: int
    record: Written


class DatabaseOffsets(Protocol):
    """The rows of a task's partitions. Each method but `rollback` raises Fenced, RetriableError or ConfigError."""

    @property
    def is_open(self) -> bool:
        """Are rows written that are not committed?"""
        ...

    def claim(self) -> Mapping[TopicPartition, Kept]:
        """What is there; from now on nobody who claimed before can write."""
        ...

    def adopt(self, rows: Mapping[TopicPartition, Kept]) -> None:
        """Write these, whatever was there."""
        ...

    def save(
        self, rows: Mapping[TopicPartition, Kept], carrier: TopicPartition, letters: Sequence[Letter], sent: int
    ) -> None:
        """Write these with the open transaction, and letters that come with the partition `carrier`; forget those up to
        `sent`; commit. Nothing of it is there if it raises, unless it can't be known (RetriableError).
        """
        ...

    def carriers(self) -> Sequence[TopicPartition]:
        """Partitions with letters."""
        ...

    def letters(self, carrier: TopicPartition, after: int, limit: int) -> Sequence[Letter]: ...
    def forget(self, carrier: TopicPartition, sent: int) -> None: ...
    def rollback(self) -> None: ...


class DatabaseStore:
    """A task's positions, claimed. `rows` is what its tables say, `sent` the last letter of each that Kafka has."""

    def __init__(self, task: TaskConfig, database: DatabaseOffsets, consumer: Consumer) -> None:
        self.task = task
        self.database = database
        self.consumer = consumer
        self.rows: dict[TopicPartition, Kept] = {}
        self.sent: dict[TopicPartition, int] = {}
        self.group: dict[TopicPartition, Committed] = {}  # as we know it

    def committed(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, Committed | None]:
        """Claim them. The transactional id is ours by now: nobody else moves the group any more."""
        rows = self.database.claim()
        committed = self.consumer.committed(partitions)
        adopted: dict[TopicPartition, Kept] = {}
        for partition in partitions:
            row, group = rows.get(partition), committed[partition]
            if group is not None:
                self.group[partition] = group
            mark = None if group is None else mark_of(group.metadata)
            if row is None and mark is not None:
                raise OffsetsMissing(_lost(self.task, partition))
            self.sent[partition] = mark or 0
            if group is not None and mark is None and _is_newer(group, row):
                row = adopted[partition] = Kept(group.offset, group.metadata, 0 if row is None else row.letters)
            if row is not None:
                self.rows[partition] = row
        if adopted:
            self.database.adopt(adopted)
        found = self.rows
        return {one: Committed(found[one].next, found[one].memory) if one in found else None for one in partitions}

    def remember(self, offsets: Mapping[TopicPartition, Committed]) -> None:
        """Begin with these."""
        rows = {partition: Kept(one.offset, one.metadata) for partition, one in offsets.items()}
        self.database.adopt(rows)
        self.rows |= rows


def marked(memory: str, letters: int) -> str:
    """The metadata of the group's offset: the task's memory, and the last letter that Kafka has."""
    return orjson.dumps({**(parse(memory) or {}), LETTER_KEY: letters}).decode()


def mark_of(metadata: str) -> int | None:
    """The last letter that Kafka has; None where no database was in charge when this was committed."""
    try:
        body = orjson.loads(metadata)
    except orjson.JSONDecodeError:
        return None
    mark = body.get(LETTER_KEY) if isinstance(body, dict) else None
    return mark if isinstance(mark, int) else None


def _is_newer(group: Committed, row: Kept | None) -> bool:
    """Has the sink worked without its table since? What an older generation commits late does not count."""
    if row is None:
        return True
    there, here = parse(group.metadata), parse(row.memory)
    return there is not None and (here is None or there["g"] > here["g"])


def _lost(task: TaskConfig, partition: TopicPartition) -> str:
    return (
        f"{task.task_id} has worked with the table engine_offsets, and {partition.topic}-{partition.partition} is not "
        f"in it any more: is it another database? To begin at the offsets of group connect-{task.connector}, set them "
        "again by hand while the connector is stopped, then restart the task"
    )
