"""Commit, abort or undo the records that a source task has settled."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from engine.pipeline.outcome import Interrupted
from engine.pipeline.source_commit import SourceCommit
from engine.pipeline.source_progress import SourceProgress
from engine.pipeline.task_state import TaskFigures, TaskState
from engine.record.record import Record
from engine.reporting.metrics import SIZE_AVG, SIZE_MAX, SIZE_MIN, Metric
from engine.worker_messages import Delivery


class SettledRecords:
    """Settled records and state between two commits. `confirm(records)` tells the source about a commit."""

    def __init__(self, commit: SourceCommit, state: TaskState, confirm: Callable[[Sequence[Record]], None]) -> None:
        self.progress = SourceProgress()
        self.has_progressed = False
        self._commit = commit
        self._state = state
        self._confirm = confirm
        self._saved = self._memory()
        self._last = state.copy()  # as of the last commit
        self._sizes: list[int] = []  # smallest, largest, sum and number of this lease's transactions
        self._is_aborted = False  # the source aborted since the last commit, so the commit writes offsets only

    @property
    def is_open(self) -> bool:
        """Return whether something is polled or written that is not committed."""
        return bool(self.progress.records) or self._commit.is_open

    @property
    def is_full(self) -> bool:
        """Return whether it is time to commit regardless of the boundary."""
        return self._commit.is_full

    @property
    def is_torn(self) -> bool:
        """Return whether settled records must be polled again together with unsettled ones.

        Always false without transactions, because written records can't be taken back.
        """
        return self.progress.is_torn and self._commit.delivery is Delivery.EXACTLY_ONCE

    def commit(self) -> Interrupted | None:
        """Commit offsets and state if anything changed since the last commit, and tell the source."""
        if not self.is_open and self._memory() == self._saved:
            self._confirm(())
            return None
        self._state.seq += 1
        interrupted = self._commit.commit(self.progress.offsets, self._state.to_metadata)
        if interrupted is not None:
            # As for partitions: the count of failures must outlive the lease.
            if interrupted.wake_at is not None:
                self._commit.remember(self._state.as_of(self._last).to_metadata())
            return interrupted
        self.has_progressed = self.has_progressed or bool(self.progress.records)
        self._measure()
        # Never before the commit: a source may delete what it is told is durable.
        self._confirm(self.progress.records)
        self.progress.clear()
        self._saved = self._memory()
        self._last = self._state.copy()
        return None

    def abort(self) -> None:
        """Abort the writes since the last commit, as the source asked.

        The next commit still passes their records, which count as filtered. Errors among them keep their dead letters.
        """
        if not self._commit.is_open:
            return
        self._commit.abort()
        metrics = self._state.metrics
        delivered = metrics[Metric.RECORDS_DELIVERED] - self._last.metrics[Metric.RECORDS_DELIVERED]
        metrics[Metric.RECORDS_DELIVERED] -= delivered
        metrics[Metric.RECORDS_FILTERED] += delivered
        self._is_aborted = True

    def undo(self, *, remember: bool) -> None:
        """Go back to the last commit because the task ends; the next lease polls the records again.

        With `remember`, the cause of the stop is stored: a parked retry, or the mark of a written dead letter.
        """
        self.give_up()
        if not remember:
            return
        state, last = self._state, self._last
        # Only the letter of the error that stops the task is kept. The records before it fail again, and write theirs
        # then.
        self._commit.forget_letters(sum(mark not in last.reported for mark in state.reported))
        state.seq += 1

        def memory() -> str:
            return replace(state.as_of(last), reported=state.reported, parked=state.parked).to_metadata()

        self._commit.commit((), memory)

    def give_up(self) -> None:
        """Abort the open transaction and remember nothing of it."""
        self._commit.abort()
        self.progress.clear()

    def figures(self) -> TaskFigures:
        """Return the figures. Records count as of the last commit. Transaction sizes cover this lease."""
        figures = self._state.figures(self._last.metrics)
        if self._sizes:
            least, most, total, count = self._sizes
            figures.metrics.update({SIZE_MIN: least, SIZE_MAX: most, SIZE_AVG: total // count})
        return figures

    def _measure(self) -> None:
        """Note the committed transaction's size in written records (as Kafka shipped KIP-618)."""
        if self._commit.delivery is not Delivery.EXACTLY_ONCE:
            return
        written = Metric.RECORDS_DELIVERED
        size = 0 if self._is_aborted else self._state.metrics[written] - self._last.metrics[written]
        self._is_aborted = False
        least, most, total, count = self._sizes or (size, size, 0, 0)
        self._sizes = [min(least, size), max(most, size), total + size, count + 1]

    def _memory(self) -> tuple[Any, ...]:
        return self._state.reported, self._state.parked, dict(self._state.metrics)
