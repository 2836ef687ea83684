"""Stage KAFKA_PRODUCE: writes records in batches and returns a result for each record.

A broker that rejects one record rejects its whole batch. The writer therefore splits a rejected batch in halves,
again and again, until only the guilty record is left.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import msgspec

from engine.errors import EngineError, FailureType, ProduceFailed, RetriableError
from engine.pipeline.guard import Guard
from engine.pipeline.outcome import FailedAttempts, Interrupted, PendingError, StageFailure
from engine.ports import Producer, Row
from engine.record.record import Headers, Origin, Record


class OutputRecord(msgspec.Struct, frozen=True):
    """A record to be written. `origin` is its input record, `given` the record that its error context shows.

    `index` is the stage index if it differs from the writer's.
    """

    topic: str
    partition: int | None
    timestamp: int | None
    key: bytes | None
    value: bytes | None
    headers: Headers
    origin: Origin
    given: Record
    index: int | None = None

    def as_row(self) -> Row:
        """Return the row that the producer takes."""
        return self.topic, self.key, self.value, self.headers, self.timestamp, self.partition


class Delivered(msgspec.Struct, frozen=True):
    """The record is durable."""


MOST_ABORTS = 3  # of transactions within one call of `write`
WRITTEN = Delivered()
HELD = Interrupted(None)  # not tried, or not tried again, because an earlier error stops the task
Answer = Delivered | PendingError | Interrupted


class RecordWriter:
    """Writes records for one task; `index` is the stage's, unless a record names its own."""

    def __init__(self, producer: Producer, guard: Guard, index: int = -1) -> None:
        self.producer = producer
        self.guard = guard
        self.index = index

    def write(self, records: Sequence[OutputRecord], between: Sequence[tuple[int, PendingError]] = ()) -> list[Answer]:
        """Return an answer for each record, in order: durable, an undecided error, or not written yet.

        Retriable failures are tried again under the retry policy; rejected records are not. Order within a partition
        is kept, except for records that wait while a guilty record is searched. `between` holds earlier undecided
        errors, each with the index of the record that it precedes. They count together with the errors found here.
        """
        return _WriteCall(self, records, between).run()


class _WriteCall:
    """One call of `write`: parts still to produce, in order, and the answers so far."""

    def __init__(
        self, writer: RecordWriter, records: Sequence[OutputRecord], between: Sequence[tuple[int, PendingError]]
    ) -> None:
        self._guard = writer.guard
        self._producer = writer.producer
        self._index = writer.index
        self._records = records
        self._answers: list[Answer] = [HELD] * len(records)
        self._end = len(records)  # records from here on are not written
        self._parts: list[list[int]] = [list(range(len(records)))] if records else []
        self._trial = writer.guard.state.tolerance
        self._between = deque(between)
        self._trouble = FailedAttempts()
        self._aborts = 0

    def run(self) -> list[Answer]:
        while self._parts:
            part = self._parts.pop()
            failed = self._produce(part)
            if failed is None:
                self._trouble = FailedAttempts()
                self._note_delivered(part, ())
                continue
            left = [part[ordinal] for ordinal in failed.ordinals]
            self._note_delivered(part, left)
            if failed.type is FailureType.TRANSACTION_FAILED:
                self._write_again(left, failed)
            elif failed.retriable:
                self._retry(left, failed)
            elif len(left) > 1:
                # `_parts` is a stack. The first half comes to lie on top, so records are written in order.
                self._parts += reversed(_halves(left, [part[ordinal] for ordinal in failed.guilty]))
            else:
                self._reject(left[0], failed)
        return self._answers

    def _produce(self, part: Sequence[int]) -> ProduceFailed | None:
        self._producer.produce_all([self._records[place].as_row() for place in part])
        try:
            self._producer.flush()
        except ProduceFailed as error:
            if not error.ordinals:
                raise  # the failure concerns no particular record
            return error
        return None

    def _note_delivered(self, part: Sequence[int], left: Sequence[int]) -> None:
        failed = set(left)
        for place in part:
            if place not in failed:
                self._answers[place] = WRITTEN

    def _write_again(self, left: list[int], failed: ProduceFailed) -> None:
        """Put the part back after its transaction was aborted. No record is to blame, so no handler is asked.

        Raises RetriableError if it is aborted again and again: the task begins again at its last commit.
        """
        self._aborts += 1
        if self._aborts > MOST_ABORTS:
            raise RetriableError(f"the transaction was aborted {self._aborts} times: {failed}") from failed
        self._parts.append(left)

    def _retry(self, left: list[int], failed: ProduceFailed) -> None:
        """Wait, then put the part back. When retries are exhausted, each guilty record becomes an error."""
        rows = dict(zip(failed.ordinals, zip(left, failed.failures, strict=True), strict=True))
        # If nothing names the guilty records, every failed record counts as guilty.
        errors = {
            place: _of_record(RetriableError(": ".join(row)), failed)
            for place, row in (rows[ordinal] for ordinal in failed.guilty or failed.ordinals)
        }
        first = next(iter(errors))
        verdict = self._guard.handle_failure(self._failure_of(first, errors[first]), self._origin(first), self._trouble)
        if isinstance(verdict, FailedAttempts):
            self._trouble = verdict
            self._parts.append(left)
            return
        self._trouble = FailedAttempts()
        if len(errors) < len(left):
            # The others failed only because they shared a batch with a guilty record.
            self._parts.append([place for place in left if place not in errors])
        if isinstance(verdict, Interrupted):
            self._answers[first] = verdict
            self._hold_from(first)
            return
        context, stops = verdict.context, self._note_error(first, verdict)
        trouble = FailedAttempts(context.attempt + 1, context.first_failure_time)
        for place, error in list(errors.items())[1:]:
            if stops or place >= self._end:
                return
            origin = self._origin(place)
            self._guard.count_failure(self._stage(place), FailedAttempts(), context.time_of_error)
            raised = self._failure_of(place, error)
            stops = self._note_error(
                place, self._guard.build_error(raised, origin, trouble, tolerable=verdict.tolerable)
            )

    def _reject(self, place: int, failed: ProduceFailed) -> None:
        error = _of_record(ProduceFailed(failed.failures), failed)
        self._note_error(place, self._guard.reject_record(self._failure_of(place, error), self._origin(place)))

    def _note_error(self, place: int, errored: PendingError) -> bool:
        """Note an error; if it will stop the task, hold back all records after it."""
        self._answers[place] = errored
        while self._between and self._between[0][0] <= place:
            _, self._trial = self._guard.would_fail(self._trial, self._between.popleft()[1])
        stops, self._trial = self._guard.would_fail(self._trial, errored)
        if stops:
            self._hold_from(place)
        else:
            self._hold_behind_later_stop()
        return stops

    def _hold_behind_later_stop(self) -> None:
        """Hold records back if one of the later errors in `between` now stops the task."""
        trial = self._trial
        for before, errored in self._between:
            stops, trial = self._guard.would_fail(trial, errored)
            if stops:
                self._hold_from(before)
                return

    def _hold_from(self, end: int) -> None:
        """Write no record from this index on."""
        self._end = min(self._end, end)
        kept = ([place for place in part if place < self._end] for part in self._parts)
        self._parts = [part for part in kept if part]

    def _failure_of(self, place: int, error: Exception) -> StageFailure:
        return StageFailure(self._stage(place), self._records[place].given, error)

    def _stage(self, place: int) -> int:
        index = self._records[place].index
        return self._index if index is None else index

    def _origin(self, place: int) -> Origin:
        return self._records[place].origin


def _halves(left: list[int], guilty: list[int]) -> list[list[int]]:
    """Split a rejected part, in halves around the guilty records if these are known."""
    first, end = left.index(guilty[0]) if guilty else 0, left.index(guilty[-1]) + 1 if guilty else len(left)
    middle = (first + end) // 2
    return [part for part in (left[:first], left[first:middle], left[middle:end], left[end:]) if part]


def _of_record(error: EngineError, failed: ProduceFailed) -> EngineError:
    """Return the error of one record, with the traceback of the whole batch."""
    return error.with_traceback(failed.__traceback__)
