"""Positions of a task that reads partitions: the committed ones and the current ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.pipeline.commit import Commit
from engine.pipeline.outcome import Interrupted
from engine.pipeline.task_state import TaskFigures, TaskState, first_unprocessed
from engine.ports import Clock, Consumer
from engine.record.record import RawRecord, TopicPartition
from engine.reporting.metrics import Metric

REMIND_MS = 600_000  # brokers expire offsets that are not committed again; a standing lease has no successor that would


class TaskProgress:
    """A task's positions and state, which are saved together."""

    def __init__(
        self,
        consumer: Consumer,
        commit: Commit,
        state: TaskState,
        committed: Mapping[TopicPartition, int],
        clock: Clock,
        interval_ms: int,
    ) -> None:
        self.committed: dict[TopicPartition, int] = dict(committed)
        self.has_progressed = False
        self._consumer = consumer
        self._commit = commit
        self._state = state
        self._clock = clock
        self._interval_ms = interval_ms
        self._due_ms = clock.now_ms() + interval_ms
        self._forgotten_ms = clock.now_ms() + REMIND_MS
        self._held: dict[TopicPartition, int] = {}
        self._saved = self._memory()
        self._last = state.copy()

    @property
    def is_due(self) -> bool:
        """Return whether it is time to save."""
        return self._commit.is_full or self._clock.now_ms() >= self._due_ms

    @property
    def is_held(self) -> bool:
        """Return whether a polled record is not processed."""
        return bool(self._held)

    def hold(self, raws: Sequence[RawRecord]) -> None:
        """Note polled records that are not processed. Commits stop before the first of each partition."""
        self._held = first_unprocessed(raws)

    def positions(self) -> dict[TopicPartition, int]:
        """Return the offset of the next unprocessed record of each partition."""
        return {**self._consumer.positions(), **self._held}

    def save(self) -> Interrupted | None:
        """Commit positions and state if anything changed since the last commit."""
        positions = self.positions()
        now = self._clock.now_ms()
        self._due_ms = now + self._interval_ms
        if positions == self.committed and self._memory() == self._saved and now < self._forgotten_ms:
            return None
        if self._state.forget_passed(positions):
            self._state.metrics[Metric.TOTAL_RETRIES] += 1  # the parked operation succeeded at its next attempt
        self._state.seq += 1
        interrupted = self._commit.commit(positions, self._state.to_metadata)
        if interrupted is not None:
            # The positions stay. The count of failures must outlive the lease, because it decides when the retries are
            # exhausted.
            if interrupted.wake_at is not None and self.committed:
                self._commit.remember(self.committed, self._state.as_of(self._last).to_metadata())
            return interrupted
        self.has_progressed = self.has_progressed or any(
            offset > self.committed.get(partition, -1) for partition, offset in positions.items()
        )
        self.committed = positions
        self._forgotten_ms = now + REMIND_MS
        self._saved = self._memory()
        self._last = self._state.copy()
        return None

    def figures(self) -> TaskFigures:
        """Return the figures. Records are counted as of the last commit, so that they agree with `committed`."""
        return self._state.figures(self._last.metrics)

    def _memory(self) -> tuple[Any, ...]:
        """Return the part of the state that a commit stores beside the positions."""
        return self._state.reported, self._state.parked, dict(self._state.metrics)
