"""Stores of a mirror's positions.

They are kept in a stand-in group on the target (KIP-656), or in the offsets topic in MirrorMaker 2's format.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from engine.errors import DataError, GenerationFenced, OffsetsMissing
from engine.exactly_once.transaction import Transaction
from engine.kafka.offsets import TaskOffsets
from engine.pipeline.claim import PositionStore
from engine.pipeline.commit import with_metadata
from engine.pipeline.outcome import Interrupted
from engine.pipeline.source_commit import SourceOffset
from engine.ports import Committed, Consumer, SourcePosition
from engine.record.record import TopicPartition

Offsets = Mapping[TopicPartition, Committed]
Remote = Callable[[str], str]
OFFSET = "offset"


class PositionsGroup:
    """The group on the target that stores source positions; it never has members.

    Its partitions have the target's topic names, because brokers store offsets only for topics they have. The offsets
    are the source's. They are written in transactions, together with the records.
    """

    def __init__(self, consumer: Consumer, transaction: Transaction, group: str, remote: Remote) -> None:
        self._consumer = consumer
        self._transaction = transaction
        self._group = group
        self._remote = remote
        self._there: tuple[TopicPartition, ...] = ()

    def committed(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, Committed | None]:
        targets = {partition: self.on_target(partition) for partition in partitions}
        found = self._consumer.committed(list(targets.values()))
        answer = {partition: found.get(at) for partition, at in targets.items()}
        self._there = tuple(targets.values())
        self._transaction.committed = {at: one for at, one in found.items() if one is not None}
        return answer

    def remember(self, offsets: Offsets) -> None:
        self._transaction.commit({self.on_target(at): one for at, one in offsets.items()}, self._group)

    def check(self) -> None:
        """Raise GenerationFenced if another process has moved the positions since we did."""
        committed = self._consumer.committed(self._there)
        if {at: one for at, one in committed.items() if one is not None} != self._transaction.committed:
            raise GenerationFenced(f"another process has committed offsets of consumer group {self._group}")

    def on_target(self, partition: TopicPartition) -> TopicPartition:
        return TopicPartition(self._remote(partition.topic), partition.partition)


class CheckedPositionStore:
    """A position store that never starts a partition anew if the target has records of it.

    A position may be missing because brokers expire offsets of groups without members, or because a mirror of another
    type wrote the records.
    """

    def __init__(
        self,
        store: PositionStore,
        ends: Callable[[Sequence[TopicPartition]], Mapping[TopicPartition, int]],
        remote: Remote,
        group: str,
    ) -> None:
        self._store = store
        self._ends = ends
        self._remote = remote
        self._group = group

    def committed(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, Committed | None]:
        found = self._store.committed(partitions)
        missing = {
            at: TopicPartition(self._remote(at.topic), at.partition) for at in partitions if found.get(at) is None
        }
        if missing:
            ends = self._ends(list(missing.values()))
            non_empty = sorted(
                f"{target.topic}-{target.partition}" for target in missing.values() if ends.get(target, 0) > 0
            )
            if non_empty:
                raise OffsetsMissing(
                    f"{', '.join(non_empty)} on the target cluster has records, but consumer group {self._group} has "
                    "no offset for it. Starting at the earliest record would duplicate them. Set the offsets with "
                    "`python -m engine mirror-offsets`"
                )
        return found

    def remember(self, offsets: Offsets) -> None:
        self._store.remember(offsets)


class ConnectOffsets:
    """Positions in the offsets topic, written in transactions if there are any.

    The stored offset is that of the last mirrored record, not the next one; −1 if none was read yet. A partition
    without an offset is new, or its offset was deleted. It begins where `begins(partitions)` says.
    """

    def __init__(
        self,
        offsets: TaskOffsets,
        alias: str,
        transaction: Transaction | None,
        begins: Callable[[Sequence[TopicPartition]], Mapping[TopicPartition, int]],
    ) -> None:
        self._offsets = offsets
        self._alias = alias
        self._transaction = transaction
        self._begins = begins
        self._written: dict[TopicPartition, int] = {}
        self.check = offsets.check

    def committed(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, Committed | None]:
        memory = self._offsets.memory or ""
        answer: dict[TopicPartition, Committed | None] = {}
        for partition in partitions:
            offset = self._offsets.position(self._source_position(partition))
            answer[partition] = None
            if offset is not None:
                self._written[partition] = parse_offset(offset, least=-1) + 1
                answer[partition] = Committed(self._written[partition], memory)
        missing = [partition for partition, one in answer.items() if one is None]
        begins = self._begins(missing) if missing else {}
        return answer | {partition: Committed(begin, memory) for partition, begin in begins.items()}

    def remember(self, offsets: Offsets) -> None:
        moved = {at: one.offset for at, one in offsets.items() if self._written.get(at) != one.offset}
        news: list[SourceOffset] = [(self._source_position(at), {OFFSET: offset - 1}) for at, offset in moved.items()]
        memory = next((one.metadata for one in offsets.values()), self._offsets.memory or "")
        if self._transaction is None:
            self._offsets.write(news, memory)
        else:
            rows = self._offsets.rows(news, memory)
            for key, value in rows:
                self._transaction.produce(self._offsets.topic, key, value)
            self._transaction.commit({})
            self._offsets.committed(rows, memory)
        self._written |= moved

    def _source_position(self, partition: TopicPartition) -> SourcePosition:
        return {"cluster": self._alias, "topic": partition.topic, "partition": partition.partition}


def position_problem(partition: Mapping[str, Any], offset: Mapping[str, Any] | None) -> str | None:
    """Return the problem of a position that an operator sets; None if it is valid or deleted."""
    types = {name: type(value) for name, value in partition.items()}
    if types != {"cluster": str, "topic": str, "partition": int} or partition["partition"] < 0:
        return "a mirror's partition must have exactly the fields `cluster`, `topic` and `partition`"
    try:
        if offset is not None:
            parse_offset(offset)
    except DataError as error:
        return str(error)
    return None


def parse_offset(body: Mapping[str, Any], least: int = 0) -> int:
    """Return the offset of the last mirrored record. Raises DataError for an invalid one."""
    offset = body.get(OFFSET)
    if type(offset) is not int or offset < least:
        raise DataError(f"{offset!r} is not a valid offset: it must be a whole number of at least {least}")
    return offset


class MirrorCommit:
    """Makes records and dead letters durable, then stores the positions.

    With a transaction, it does all of this in one.

    `then` is called with the committed positions; it must not raise.
    """

    def __init__(
        self,
        store: PositionStore,
        transaction: Transaction | None,
        flush: Callable[[], None],
        flush_dead_letters: Callable[[], Interrupted | None],
        flush_outcomes: Callable[[], Interrupted | None],
        then: Callable[[Mapping[TopicPartition, int]], None],
    ) -> None:
        self._store = store
        self._transaction = transaction
        self._flush = flush
        self._flush_dead_letters = flush_dead_letters
        self._flush_outcomes = flush_outcomes
        self._then = then

    @property
    def is_full(self) -> bool:
        return self._transaction is not None and self._transaction.is_full

    def commit(self, positions: Mapping[TopicPartition, int], metadata: Callable[[], str]) -> Interrupted | None:
        if self._transaction is None:
            self._flush()
        interrupted = self._flush_dead_letters() or self._flush_outcomes()
        if interrupted is not None:
            if self._transaction is not None:
                self._transaction.abort()
            return interrupted
        # After the flush, because the metadata counts the letters it wrote.
        self._store.remember(with_metadata(positions, metadata()))
        self._then(positions)
        return None

    def remember(self, committed: Mapping[TopicPartition, int], metadata: str) -> None:
        self._store.remember(with_metadata(committed, metadata))
