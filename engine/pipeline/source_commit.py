"""How a source's progress is written down: durable, then commit; or all of it in one transaction (KIP-618)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from engine.errors import ProduceFailed, RetriableError
from engine.exactly_once.transaction import Transaction
from engine.leases import Delivery
from engine.pipeline.outcome import Interrupted
from engine.ports import SourcePosition

SourceOffset = tuple[SourcePosition, SourcePosition]  # a source partition, and the offset reached in it
Row = tuple[bytes, bytes]  # key and value of a record of the offsets topic


class OffsetStore(Protocol):
    """Where offsets of one task of a source are kept, and its memory beside them."""

    memory: str | None

    def position(self, partition: SourcePosition) -> SourcePosition | None:
        """The offset committed last."""
        ...

    def write(self, offsets: Sequence[SourceOffset], memory: str) -> None:
        """Return when all is durable. Raises RetriableError where the brokers stay away."""
        ...


class OffsetRecords(Protocol):
    """The same store for who writes its records elsewhere: in a transaction."""

    topic: str

    def rows(self, offsets: Sequence[SourceOffset], memory: str) -> Sequence[Row]:
        """The records that say so."""
        ...

    def committed(self, rows: Sequence[Row], memory: str) -> None:
        """These are committed."""
        ...


class SourceCommit(Protocol):
    """Writes down offsets and the task's state, once everything before them is durable, or together with it.

    Interrupted: nothing was committed, because a wait was ended or would outlast the lease.
    """

    delivery: Delivery

    @property
    def is_full(self) -> bool:
        """Is it time to commit, whatever the boundary says?"""
        ...

    @property
    def is_open(self) -> bool:
        """Is anything written that readers don't see before the commit?"""
        ...

    def commit(self, offsets: Sequence[SourceOffset], memory: Callable[[], str]) -> Interrupted | None: ...
    def remember(self, memory: str) -> None:
        """Write the task's memory alone; what was written since the last commit comes to nothing, where it can."""
        ...

    def abort(self) -> None:
        """Let what was written since the last commit come to nothing, where it can; dead letters stay."""
        ...

    def forget_letters(self, keep: int) -> None:
        """Drop dead letters of records that will be polled again, but for the last ones."""
        ...


class DurableThenOffsets:
    """At least once: the records are durable already, as their writer answers for each; flush dead letters, then
    write the offsets.
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
            self.store.write(offsets, memory())  # after the flush: it counts what was written
        return interrupted

    def remember(self, memory: str) -> None:
        self.store.write((), memory)

    def abort(self) -> None:
        """Nothing can be taken back."""

    def forget_letters(self, keep: int) -> None:
        """Nothing can be taken back."""


class TransactionalOffsets:
    """Exactly once: records, source offsets, the task's memory and its dead letters in one transaction (KIP-618,
    offset and record writes).

    `drop_letters(keep)` is what `forget_letters` does.
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
        self._write(offsets, memory())  # after the flush: it counts what was written
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
                raise RetriableError(f"offsets were not written: {error}") from error
            raise
        self.transaction.commit({})
        self.store.committed(rows, memory)
