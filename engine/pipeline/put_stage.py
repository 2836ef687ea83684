"""The put stage of a sink task: put a chunk, retry what failed, and find the records to blame."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from engine.errors import RetriableError
from engine.pipeline.guard import Guard
from engine.pipeline.key_lanes import KeyLanes, Put
from engine.pipeline.outcome import Failed, FailedAttempts, Interrupted, PendingError, StageFailure, TaskEnding
from engine.pipeline.put_results import PutResult, put_result
from engine.pipeline.recordless_errors import fail_batch
from engine.policy.classification import STOP
from engine.ports import Clock, Sink
from engine.record.record import RawRecord, Record
from engine.reporting.metrics import Metric


class HeldRecords:
    """Failed records of a chunk: they wait until the others are put, and are then tried again together."""

    def __init__(self) -> None:
        self.places = set[int]()
        self.cause: Exception | None = None
        self.trouble = FailedAttempts()
        self.names_delivered = False  # the sink itself has named delivered records of this chunk

    def hold(self, places: Collection[int], cause: Exception) -> None:
        """Hold these records too. An error that is not retriable is kept in preference to one that is."""
        if not self.places or not isinstance(cause, RetriableError):
            self.cause = cause
        self.places.update(places)


class PutStage:
    """Puts chunks, in lanes if there are any. It decides on the task's thread, when all lanes have returned.

    Records that share the lane of a failed record wait with it, so none with its key overtakes it.
    """

    def __init__(self, guard: Guard, sink: Sink, index: int, clock: Clock, lanes: KeyLanes | None = None) -> None:
        self.sink = sink
        self._guard = guard
        self._index = index
        self._clock = clock
        self._lanes = lanes
        self._delivered = set[int]()  # places in the chunk of records that a put has delivered

    def put(self, raws: Sequence[RawRecord], entries: list[Any], late_ms: int) -> TaskEnding | None:
        """Put the records in `entries`; rejected ones become errors, and the others are put again.

        Entries from the first undelivered record on are cut off. From `late_ms` on, this is the rest of a partial put.
        """
        places = undelivered(entries, self._delivered)
        if not places:
            return None
        raised = self._put_batch([entries[place] for place in places])
        if raised is None:  # the usual case, without a second look at each record
            self._clear_parked_put()
            self._delivered.clear()
            return None
        end = self._put_rest(raws, entries, late_ms, places, put_result(raised.error, len(places)))
        if left := undelivered(entries, self._delivered):
            del entries[left[0] :]
        return end

    def pass_by(self, done: int) -> None:
        """Begin the next chunk `done` records later. Records behind them that are delivered are not put again."""
        self._delivered = {place - done for place in self._delivered if place >= done}

    def _put_rest(
        self, raws: Sequence[RawRecord], entries: list[Any], late_ms: int, places: list[int], result: PutResult
    ) -> TaskEnding | None:
        """Go on after the `result` of a put of the records at `places`."""
        held = HeldRecords()
        while True:
            self._take_in(raws, entries, places, result, held)
            left = undelivered(entries, self._delivered)
            if not left:
                return None
            held.places.intersection_update(left)
            is_late = self._clock.now_ms() >= late_ms
            if not held.places:  # the sink has named each failed record, so the rest is put again at once
                if is_late and result.delivered and left[0] > places[0]:
                    return None
            elif is_late or len(held.places) == len(left) or not isinstance(held.cause, RetriableError):
                end = self._handle_held(raws, entries, held)
                if end is not None:
                    return end
            places = [place for place in undelivered(entries, self._delivered) if place not in held.places]
            if not places:
                return None
            raised = self._put_batch([entries[place] for place in places])
            result = PutResult(range(len(places))) if raised is None else put_result(raised.error, len(places))

    def _take_in(
        self, raws: Sequence[RawRecord], entries: list[Any], places: list[int], result: PutResult, held: HeldRecords
    ) -> None:
        """Note the delivered and the failed records of a put, and make the rejected ones errors."""
        if result.delivered:
            self._delivered.update(places[index] for index in result.delivered)
            held.trouble = FailedAttempts()  # the failures so far were not those of the rest
            # In lanes, the records of a parked put may be failing again while others are delivered.
            if self._lanes is None or (result.error is None and not held.places):
                self._clear_parked_put()
        held.names_delivered |= result.names_delivered
        if result.error is not None:
            held.hold([places[index] for index in result.failed], result.error)
        self._reject(raws, entries, {places[index]: cause for index, cause in result.rejected.items()})

    def _handle_held(self, raws: Sequence[RawRecord], entries: list[Any], held: HeldRecords) -> TaskEnding | None:
        """Wait until the held records may be put again, make them errors, or fail the task with them."""
        failed, cause = sorted(held.places), held.cause
        assert cause is not None
        raised = StageFailure(self._index, None, cause)
        verdict = self._guard.handle_failure(raised, raws[failed[0]], held.trouble)
        if isinstance(verdict, Interrupted):
            return verdict
        held.places.clear()
        held.trouble = verdict if isinstance(verdict, FailedAttempts) else FailedAttempts()
        if isinstance(verdict, FailedAttempts):
            return None
        if self.sink.put_is_idempotent and not held.names_delivered:
            context = verdict.context
            trouble = FailedAttempts(context.attempt + 1, context.first_failure_time)
            return self._bisect(raws, entries, failed, raised, trouble)
        if verdict.tolerable:
            return self._blame_each(raws, entries, failed, verdict)
        batch = [entries[place] for place in failed]
        return fail_batch(self._guard, verdict, batch, [raws[place] for place in failed])

    def _put_batch(self, batch: Sequence[Record]) -> StageFailure | None:
        return self._try_put(self.sink.put if self._lanes is None else self._lanes.put, batch)

    def _try_put(self, put: Put, batch: Sequence[Record]) -> StageFailure | None:
        return self._guard.run(((self._index, put),), (batch,), [])

    def _clear_parked_put(self) -> None:
        """Clear a parked put, so that its failures do not count for another batch."""
        state = self._guard.state
        if state.parked is not None and state.parked.place.index == self._index:
            state.parked = None
            state.metrics[Metric.TOTAL_RETRIES] += 1

    def _bisect(
        self,
        raws: Sequence[RawRecord],
        entries: list[Any],
        places: list[int],
        raised: StageFailure,
        trouble: FailedAttempts,
    ) -> Interrupted | None:
        """Find rejected records that the sink does not name by putting ever smaller halves in order.

        If the batch was rejected, but a half fails with a retriable error, the half is retried: no record is to blame.
        """
        parts: list[tuple[list[int], StageFailure | None]] = [(places, raised)]
        waited, was_rejected = FailedAttempts(), not isinstance(raised.error, RetriableError)
        while parts:
            part, failure = parts.pop()
            part = [place for place in part if place < len(entries)]  # the rest is behind an error that fails the task
            if not part:
                continue
            if failure is None:
                failure = self._try_put(self.sink.put, [entries[place] for place in part])
                if failure is None:
                    self._delivered.update(part)
                    waited = FailedAttempts()
                    continue
                if was_rejected and isinstance(failure.error, RetriableError):
                    verdict = self._guard.handle_failure(failure, raws[part[0]], waited)
                    if isinstance(verdict, Interrupted):
                        return verdict
                    if isinstance(verdict, FailedAttempts):
                        waited = verdict
                        parts.append((part, None))
                        continue
                else:
                    self._guard.count_failure(self._index, trouble, self._clock.now_ms())
            if len(part) > 1:
                middle = len(part) // 2
                # A stack: the first half comes off first, so that records are put in their order.
                parts += [(part[middle:], None), (part[:middle], None)]
                continue
            guilty = StageFailure(self._index, entries[part[0]], failure.error)
            tolerable = not isinstance(failure.error, STOP)
            entries[part[0]] = self._guard.build_error(guilty, raws[part[0]], trouble, tolerable=tolerable)
            self._drop_after_stop(entries)
        return None

    def _blame_each(
        self, raws: Sequence[RawRecord], entries: list[Any], places: Sequence[int], errored: PendingError
    ) -> Failed | None:
        """Make the record at each place an error, because its put stayed retriable after its retries (KIP-298).

        The records are not put again, alone or in parts: a sink may write in one transaction, and a later failure
        would undo an earlier part. If not even the first record is tolerated, the batch fails the task.
        """
        trouble = FailedAttempts(errored.context.attempt + 1, errored.context.first_failure_time)
        batch = [entries[place] for place in places]
        blamed = frozenset(places)
        trial = self._guard.state.tolerance
        for place, entry in enumerate(entries):
            if place in blamed:
                guilty = StageFailure(self._index, entry, errored.error)
                entries[place] = self._guard.build_error(guilty, raws[place], trouble, tolerable=True)
            if type(entries[place]) is not PendingError:
                continue
            fails, trial = self._guard.would_fail(trial, entries[place])
            if fails and place == places[0] and entries[place].reply is None:
                del entries[place:]
                return fail_batch(self._guard, errored, batch, [raws[place] for place in places])
            if fails:
                del entries[place + 1 :]
                return None
        return None

    def _reject(self, raws: Sequence[RawRecord], entries: list[Any], causes: Mapping[int, Exception]) -> None:
        """Make the records at these places errors, and drop the entries after an error that will fail the task."""
        for place, cause in causes.items():
            entries[place] = self._guard.reject_record(StageFailure(self._index, entries[place], cause), raws[place])
        if causes:
            self._drop_after_stop(entries)

    def _drop_after_stop(self, entries: list[Any]) -> None:
        """Drop the entries after the first error that will fail the task."""
        trial = self._guard.state.tolerance
        for place, entry in enumerate(entries):
            if type(entry) is PendingError:
                fails, trial = self._guard.would_fail(trial, entry)
                if fails:
                    del entries[place + 1 :]
                    return


def undelivered(entries: Sequence[Any], delivered: Collection[int]) -> list[int]:
    """Return the places of the records that are still to be put."""
    return [place for place, entry in enumerate(entries) if isinstance(entry, Record) and place not in delivered]
