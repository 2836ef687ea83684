"""Durable, then commit: how a task's progress is written down. Exactly-once replaces this, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from engine.pipeline.outcome import Interrupted, Trouble
from engine.pipeline.task_state import TaskState
from engine.ports import Committed, Consumer
from engine.record.record import TopicPartition
from engine.reporting.deadletter import DeadLetterReporter


class Commit(Protocol):
    """Writes down positions and the task's state, once everything before them is durable.

    Interrupted: nothing was committed, because a wait was ended or would outlast the lease.
    """

    delivery: str

    def commit(self, positions: Mapping[TopicPartition, int], metadata: Callable[[], str]) -> Interrupted | None: ...
    def remember(self, committed: Mapping[TopicPartition, int], metadata: str) -> None:
        """Change the metadata of what is committed already."""
        ...


class DurableThenCommit:
    """At least once: flush sink, dead letters and outcomes of replayed records, then commit offsets with metadata."""

    delivery = "at_least_once"

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
        self.flush_sink()
        interrupted = self.flush_dead_letters() or self.flush_outcomes()
        if interrupted is not None:
            return interrupted
        text = metadata()  # after the flush: it counts what was written
        self.remember(positions, text)
        return None

    def remember(self, committed: Mapping[TopicPartition, int], metadata: str) -> None:
        self.consumer.commit({partition: Committed(offset, metadata) for partition, offset in committed.items()})


def flush_letters(letters: DeadLetterReporter | None, state: TaskState) -> Interrupted | None:
    """Make the dead letters durable; how often that failed in a row is for the task to remember."""
    if letters is None:
        return None
    unwritten = letters.flush()
    state.unwritten = Trouble(letters.failures, letters.first_ms)
    return None if unwritten is None else Interrupted(unwritten.wake_at)
