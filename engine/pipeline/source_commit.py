"""Durable, then commit: how a source's progress is written down. Exactly-once replaces this, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from engine.pipeline.outcome import Interrupted
from engine.ports import SourcePosition

SourceOffset = tuple[SourcePosition, SourcePosition]  # a source partition, and the offset reached in it


class OffsetStore(Protocol):
    """Where offsets of one task of a source are kept, and its memory beside them."""

    memory: str | None

    def position(self, partition: SourcePosition) -> SourcePosition | None:
        """The offset committed last."""
        ...

    def write(self, offsets: Sequence[SourceOffset], memory: str) -> None:
        """Return when all is durable. Raises RetriableError where the brokers stay away."""
        ...


class SourceCommit(Protocol):
    """Writes down offsets and the task's state, once everything before them is durable.

    Interrupted: nothing was committed, because a wait was ended or would outlast the lease.
    """

    delivery: str

    def commit(self, offsets: Sequence[SourceOffset], memory: Callable[[], str]) -> Interrupted | None: ...
    def remember(self, memory: str) -> None:
        """Write the task's memory alone."""
        ...


class DurableThenOffsets:
    """At least once: the records are durable already, as their writer answers for each; flush dead letters, then
    write the offsets.
    """

    delivery = "at_least_once"

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
