"""Two ways to commit a source's progress.

Flush records, then write offsets; or write everything in one transaction (KIP-618).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from engine.errors import ProduceFailed, RetriableError
from engine.exactly_once.transaction import Transaction
from engine.pipeline.outcome import Interrupted
from engine.ports import SourcePosition
from engine.worker_messages import Delivery

SourceOffset = tuple[SourcePosition, SourcePosition]  # a source partition, and the offset reached in it
Row = tuple[bytes, bytes]  # key and value of a record of the offsets topic


class OffsetStore(Protocol):
    """A store of one source task's offsets, and of its memory."""

    memory: str | None

    def position(self, partition: SourcePosition) -> SourcePosition | None:
        """Return the last committed offset."""
        ...

    def write(self, offsets: Sequence[SourceOffset], memory: str) -> None:
        """Write the offsets; return when all are durable. Raises RetriableError if the brokers are unavailable."""
        ...


class OffsetRecords(Protocol):
    """The same store for callers that write its records themselves, in a transaction."""

    topic: str

    def rows(self, offsets: Sequence[SourceOffset], memory: str) -> Sequence[Row]:
        """Return the records to write for these offsets and this memory."""
        ...

    def committed(self, rows: Sequence[Row], memory: str) -> None:
        """Note that these records are committed."""
        ...


class SourceCommit(Protocol):
    """Writes offsets and the task's state, when or after everything before them is durable.

    Interrupted: nothing was committed, because a wait was ended or would outlast the lease.
    """

    delivery: Delivery

    @property
    def is_full(self) -> bool:
        """Return whether it is time to commit regardless of the boundary."""
        ...

    @property
    def is_open(self) -> bool:
        """Return whether something is written that readers see only after the commit."""
        ...

    def commit(self, offsets: Sequence[SourceOffset], memory: Callable[[], str]) -> Interrupted | None: ...
    def remember(self, memory: str) -> None:
        """Write the task's memory alone, and discard other writes since the last commit if possible."""
        ...

    def abort(self) -> None:
        """Discard what was written since the last commit, if possible; dead letters stay."""
        ...

    def forget_letters(self, keep: int) -> None:
        """Drop the dead letters of records that will be polled again, except for the last `keep`."""
        ...


class DurableThenOffsets:
    """At least once: flush dead letters, then write the offsets.

    Records are durable already, because their writer waits for each of them.
    """

    delivery = Delivery.AT_LEAST_ONCE
    is_full = False
    is_open = False

    def __init__(self, flush_dead_letters: Callable[[], Interrupted | None], store: OffsetStore) -> None:
        self.flush_dead_letters = flush_dead_letters
        self.store = store

    def commit(self, offsets: Sequence[SourceOffset], memory: Callable[[], str]) -> Interrupted | None:
        interrupted = self.flush_dead_letters()
        if interrupted is None:
            self.store.write(offsets, memory())  # after the flush, because the metadata counts the letters it wrote
        return interrupted

    def remember(self, memory: str) -> None:
        self.store.write((), memory)

    def abort(self) -> None:
        """Do nothing: durable records can't be taken back."""

    def forget_letters(self, keep: int) -> None:
        """Do nothing: durable letters can't be taken back."""


class TransactionalOffsets:
    """Exactly once: records, offsets, memory and dead letters in one transaction.

    Source: KIP-618, offset and record writes. `drop_letters(keep)` implements `forget_letters`.
    """

    delivery = Delivery.EXACTLY_ONCE

    def __init__(
        self,
        transaction: Transaction,
        flush_dead_letters: Callable[[], Interrupted | None],
        drop_letters: Callable[[int], None],
        store: OffsetRecords,
    ) -> None:
        self.transaction = transaction
        self.flush_dead_letters = flush_dead_letters
        self.forget_letters = drop_letters
        self.store = store

    @property
    def is_full(self) -> bool:
        return self.transaction.is_full

    @property
    def is_open(self) -> bool:
        return self.transaction.is_open

    def commit(self, offsets: Sequence[SourceOffset], memory: Callable[[], str]) -> Interrupted | None:
        interrupted = self.flush_dead_letters()
        if interrupted is not None:
            self.transaction.abort()
            return interrupted
        self._write(offsets, memory())  # after the flush, because the metadata counts the letters it wrote
        return None

    def remember(self, memory: str) -> None:
        self.transaction.abort()
        self._write((), memory)

    def abort(self) -> None:
        self.transaction.abort()

    def _write(self, offsets: Sequence[SourceOffset], memory: str) -> None:
        rows = self.store.rows(offsets, memory)
        for key, value in rows:
            self.transaction.produce(self.store.topic, key, value)
        try:
            self.transaction.flush()
        except ProduceFailed as error:
            if error.retriable:
                raise RetriableError(f"offsets were not written to topic {self.store.topic}: {error}") from error
            raise
        # No positions of a group: a source's offsets are records of the same transaction.
        self.transaction.commit({})
        self.store.committed(rows, memory)
