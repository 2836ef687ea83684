"""Two ways to commit a sink's progress: flush, then commit offsets; or everything in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from engine.errors import GenerationFenced
from engine.exactly_once.transaction import Transaction
from engine.pipeline.outcome import FailedAttempts, Interrupted
from engine.pipeline.task_state import TaskState
from engine.ports import Committed, Consumer
from engine.record.record import TopicPartition
from engine.reporting.deadletter import DeadLetterReporter


class Commit(Protocol):
    """Commits positions and the task's state once everything before them is durable.

    Interrupted: nothing was committed, because a wait was ended or would outlast the lease.
    """

    @property
    def is_full(self) -> bool:
        """Return whether it is time to commit before the interval is over."""
        ...

    def commit(self, positions: Mapping[TopicPartition, int], metadata: Callable[[], str]) -> Interrupted | None: ...
    def remember(self, committed: Mapping[TopicPartition, int], metadata: str) -> None:
        """Change the metadata of positions that are already committed."""
        ...


class DurableThenCommit:
    """At least once: flush sink, dead letters and replay outcomes, then commit offsets with metadata."""

    is_full = False

    def __init__(
        self,
        flush_sink: Callable[[], None],
        flush_dead_letters: Callable[[], Interrupted | None],
        flush_outcomes: Callable[[], Interrupted | None],
        consumer: Consumer,
    ) -> None:
        self.flush_sink = flush_sink
        self.flush_dead_letters = flush_dead_letters
        self.flush_outcomes = flush_outcomes
        self.consumer = consumer

    def commit(self, positions: Mapping[TopicPartition, int], metadata: Callable[[], str]) -> Interrupted | None:
        # First of all: a position must never be ahead of the records that it stands for.
        self.flush_sink()
        interrupted = self.flush_dead_letters() or self.flush_outcomes()
        if interrupted is not None:
            return interrupted
        text = metadata()  # after the flush, because the metadata counts the letters it wrote
        self.remember(positions, text)
        return None

    def remember(self, committed: Mapping[TopicPartition, int], metadata: str) -> None:
        self.consumer.commit(with_metadata(committed, metadata))


class TransactionalCommit:
    """Exactly once: records, dead letters, replay outcomes and offsets of `group` in one transaction."""

    def __init__(
        self,
        transaction: Transaction,
        flush_dead_letters: Callable[[], Interrupted | None],
        flush_outcomes: Callable[[], Interrupted | None],
        group: str,
    ) -> None:
        self.transaction = transaction
        self.flush_dead_letters = flush_dead_letters
        self.flush_outcomes = flush_outcomes
        self.group = group

    @property
    def is_full(self) -> bool:
        return self.transaction.is_full

    def commit(self, positions: Mapping[TopicPartition, int], metadata: Callable[[], str]) -> Interrupted | None:
        interrupted = self.flush_dead_letters() or self.flush_outcomes()
        if interrupted is not None:
            # The letters are not durable, so the records before them must not be committed without them.
            self.transaction.abort()
            return interrupted
        text = metadata()  # after the flush, because the metadata counts the letters it wrote
        self.transaction.commit(with_metadata(positions, text), self.group)
        return None

    def remember(self, committed: Mapping[TopicPartition, int], metadata: str) -> None:
        self.transaction.commit(with_metadata(committed, metadata), self.group)


class TransactionalStore:
    """Committed offsets of a group, written only in transactions.

    A plain commit has no fencing: a worker whose lease has been replaced could still move the offsets with one.
    """

    def __init__(self, consumer: Consumer, transaction: Transaction, group: str) -> None:
        self._consumer = consumer
        self._transaction = transaction
        self._group = group
        self._claimed: Sequence[TopicPartition] = ()

    def committed(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, Committed | None]:
        self._claimed = partitions
        offsets = self._consumer.committed(partitions)
        # What the claim finds counts as ours. `check` raises if it changes without us.
        self._transaction.committed = _without_missing(offsets)
        return offsets

    def check(self) -> None:
        """Raise GenerationFenced if the group's offsets or metadata differ from our last commit.

        Metadata count too: a commit may have written only a dead letter and moved no offset. Called when a task
        takes its own transactional id over again.
        """
        if _without_missing(self._consumer.committed(self._claimed)) != self._transaction.committed:
            raise GenerationFenced(f"another process has committed offsets for group {self._group}")

    def remember(self, offsets: Mapping[TopicPartition, Committed]) -> None:
        self._transaction.commit(offsets, self._group)


class GroupStore:
    """Committed offsets of the consumer's own group."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer

    def committed(self, partitions: Sequence[TopicPartition]) -> Mapping[TopicPartition, Committed | None]:
        return self._consumer.committed(partitions)

    def remember(self, offsets: Mapping[TopicPartition, Committed]) -> None:
        self._consumer.commit(offsets)


def _without_missing(offsets: Mapping[TopicPartition, Committed | None]) -> dict[TopicPartition, Committed]:
    return {partition: one for partition, one in offsets.items() if one is not None}


def with_metadata(positions: Mapping[TopicPartition, int], metadata: str) -> dict[TopicPartition, Committed]:
    """Return the positions as commits, with the task's memory in the metadata of each."""
    return {partition: Committed(offset, metadata) for partition, offset in positions.items()}


def flush_letters(letters: DeadLetterReporter | None, state: TaskState) -> Interrupted | None:
    """Make the dead letters durable, and store the count of failed flushes in the task's state."""
    if letters is None:
        return None
    unwritten = letters.flush()
    state.unwritten = FailedAttempts(letters.failures, letters.first_ms)
    return None if unwritten is None else Interrupted(unwritten.wake_at)
