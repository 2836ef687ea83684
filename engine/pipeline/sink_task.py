"""A sink task: poll, convert, put, settle in record order, commit."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from engine.errors import PartialPut, RecordError, RetriableError
from engine.pipeline.chunk_results import convert, settle
from engine.pipeline.commit import Commit
from engine.pipeline.guard import BATCHED, Guard, Step
from engine.pipeline.outcome import (
    Failed,
    FailedAttempts,
    Filtered,
    Interrupted,
    PendingError,
    Skipped,
    StageFailure,
    StepVerdict,
    TaskEnding,
)
from engine.pipeline.poll_stage import PollStage
from engine.pipeline.progress import TaskProgress
from engine.pipeline.recordless_errors import fail_batch
from engine.pipeline.task_state import TaskFigures, TaskState
from engine.policy.classification import STOP
from engine.ports import Clock, Consumer, Sink
from engine.record.record import RawRecord, Record, TopicPartition
from engine.reporting.metrics import Metric
from engine.reporting.replay_outcomes import Outcome, ReplayReporter

CHUNK_RECORDS = 1000  # larger chunks fall out of the processor's cache
CAREFUL_RECORDS = 50  # small steps: each rejected record costs a transaction, and no chunk is cut off midway
COMMIT_INTERVAL_MS = 500
SLOW_MS = 10_000  # a slower chunk is put and committed in part, because an open transaction gets old


class SinkTask:
    """One sink task during one lease. It processes no record before all earlier ones are processed.

    `commits_in_background` means that nothing that a commit calls, above all the sink's flush, is bound to a thread.
    """

    def __init__(
        self,
        *,
        steps: Sequence[Step],
        sink: Sink,
        guard: Guard,
        consumer: Consumer,
        replayed: ReplayReporter,
        commit: Commit,
        state: TaskState,
        committed: Mapping[TopicPartition, int],
        clock: Clock,
        commit_interval_ms: int = COMMIT_INTERVAL_MS,
        chunk_records: int = CHUNK_RECORDS,
        commits_in_background: bool = False,
    ) -> None:
        self.steps = tuple(steps)
        self.sink = sink
        self.guard = guard
        self.consumer = consumer
        self.replayed = replayed
        self.state = state
        self.clock = clock
        self.chunk_records = chunk_records
        self.commits_in_background = commits_in_background
        self.progress = TaskProgress(consumer, commit, state, committed, clock, commit_interval_ms)
        self.put_index = max(index for index, stage in enumerate(guard.stages) if stage.type in BATCHED)
        self._consume = PollStage(guard, consumer, clock)
        self.last_count = 0  # number of records of the last poll
        self._left: Sequence[RawRecord] = ()  # rest of a slow chunk, to be processed after the first part is committed

    @property
    def committed(self) -> Mapping[TopicPartition, int]:
        return self.progress.committed

    @property
    def has_progressed(self) -> bool:
        return self.progress.has_progressed

    @property
    def can_commit_in_background(self) -> bool:
        return self.commits_in_background and self.progress.is_due

    def step(self, timeout_s: float) -> TaskEnding | None:
        """Poll and process one chunk; commit when it is due. Returns None if the task goes on.

        Raises RetriableError if a handler wants the task to begin again at its last commit, and Aborted if the
        transaction was aborted.
        """
        raws = self._left or self._consume.poll(self.chunk_records, timeout_s)
        if isinstance(raws, Failed | Interrupted):
            self.last_count = 0
            return self._consume.end(raws, self.save)
        self.last_count = len(raws)
        end = self.process(raws) if raws else None
        if isinstance(end, RetriableError):
            self.save()
            # The records before it are committed first. Then the lease begins again behind them.
            raise end
        if end is not None:
            return self.save() or end
        return self.save() if self.progress.is_due or self._left else None

    def process(self, raws: Sequence[RawRecord]) -> StepVerdict | None:
        """Process a chunk as far as possible, each record into exactly one bucket. Keeps the rest for the next step."""
        late_ms, entries = self.clock.now_ms() + SLOW_MS, list[Any]()
        end: TaskEnding | None = convert(self.guard, self.steps, raws, entries, lambda: self.clock.now_ms() >= late_ms)
        end = self._put(raws, entries, late_ms) or end
        failed, done = settle(self.guard, entries)
        self._report_outcomes(raws[:done], entries)
        # Not given back to the consumer: it has moved past these records, and a seek would drop what it has fetched.
        self._left = raws[done:]
        self.progress.hold(self._left)
        return failed or end

    def save(self) -> Interrupted | None:
        """Commit positions and state if anything changed since the last commit."""
        return self.progress.save()

    def is_idle(self) -> bool:
        """Return whether all records are processed, as far as the last fetch knows."""
        # A full poll means that more records are probably waiting.
        if self.last_count == self.chunk_records or self.progress.is_held:
            return False
        ends = self.consumer.ends()
        # An unknown end is -1 and equals no position, so a partition that was never fetched is not idle.
        return all(ends[partition] == at for partition, at in self.consumer.positions().items())

    def wake_at(self) -> None:
        """Return None: new records in its partitions wake the task."""

    def end_offsets(self) -> dict[TopicPartition, int]:
        """Return the end offset of each partition as last seen."""
        return dict(self.consumer.ends())

    def topics_written(self) -> tuple[str, ...]:
        """Return nothing: the positions tell which topics the task reads."""
        return ()

    def figures(self) -> TaskFigures:
        return self.progress.figures()

    def _put(self, raws: Sequence[RawRecord], entries: list[Any], late_ms: int) -> TaskEnding | None:
        """Put the records in `entries`; rejected ones become errors, and the others are put again.

        From `late_ms` on, the rest of a partial put is cut off, for the next step.
        """
        trouble = FailedAttempts()
        delivered = set[int]()  # places of records that a partial put has delivered
        while places := undelivered(entries, delivered):
            batch = [entries[place] for place in places]
            raised = self._try_put(batch)
            if raised is None:
                self._clear_parked_put()
                return None
            done, rejected, error = put_results(raised.error, len(batch))
            if done:
                delivered.update(places[index] for index in done)
                self._clear_parked_put()
                trouble = FailedAttempts()  # the failures so far were not those of the rest
            self._reject(raws, entries, {places[index]: cause for index, cause in rejected.items()})
            left = undelivered(entries, delivered)
            if error is None or not left:  # the sink has named each failed record, so the rest is put again at once
                if left and left[0] > places[0] and done and self.clock.now_ms() >= late_ms:
                    del entries[left[0] :]
                    return None
                continue
            verdict = self.guard.handle_failure(StageFailure(self.put_index, None, error), raws[left[0]], trouble)
            if isinstance(verdict, FailedAttempts):
                trouble = verdict
                continue
            if isinstance(verdict, PendingError) and self.sink.put_is_idempotent and not delivered:
                context = verdict.context
                trouble = FailedAttempts(context.attempt + 1, context.first_failure_time)
                return self._bisect(raws, entries, left, raised, trouble)
            return self._end_put(raws, entries, left, verdict)
        return None

    def _end_put(
        self, raws: Sequence[RawRecord], entries: list[Any], left: Sequence[int], verdict: PendingError | Interrupted
    ) -> TaskEnding | None:
        """End a put without another attempt for the records at the places `left`."""
        if isinstance(verdict, PendingError) and verdict.tolerable:
            return self._blame_each(raws, entries, left, verdict)
        batch = [entries[place] for place in left]
        del entries[left[0] :]
        if isinstance(verdict, Interrupted):
            return verdict
        return fail_batch(self.guard, verdict, batch, [raws[place] for place in left])

    def _clear_parked_put(self) -> None:
        """Clear a parked put, so that its failures do not count for another batch."""
        if self.state.parked is not None and self.state.parked.place.index == self.put_index:
            self.state.parked = None
            self.state.metrics[Metric.TOTAL_RETRIES] += 1

    def _try_put(self, batch: Sequence[Record]) -> StageFailure | None:
        return self.guard.run(((self.put_index, self.sink.put),), (batch,), [])

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
                failure = self._try_put([entries[place] for place in part])
                if failure is None:
                    waited = FailedAttempts()
                    continue
                if was_rejected and isinstance(failure.error, RetriableError):
                    verdict = self.guard.handle_failure(failure, raws[part[0]], waited)
                    if isinstance(verdict, Interrupted):
                        del entries[part[0] :]
                        return verdict
                    if isinstance(verdict, FailedAttempts):
                        waited = verdict
                        parts.append((part, None))
                        continue
                else:
                    self.guard.count_failure(self.put_index, trouble, self.clock.now_ms())
            if len(part) > 1:
                middle = len(part) // 2
                # A stack: the first half comes off first, so that records are put in their order.
                parts += [(part[middle:], None), (part[:middle], None)]
                continue
            guilty = StageFailure(self.put_index, entries[part[0]], failure.error)
            tolerable = not isinstance(failure.error, STOP)
            entries[part[0]] = self.guard.build_error(guilty, raws[part[0]], trouble, tolerable=tolerable)
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
        trial = self.state.tolerance
        for place, entry in enumerate(entries):
            if place in blamed:
                guilty = StageFailure(self.put_index, entry, errored.error)
                entries[place] = self.guard.build_error(guilty, raws[place], trouble, tolerable=True)
            if type(entries[place]) is not PendingError:
                continue
            fails, trial = self.guard.would_fail(trial, entries[place])
            if fails and place == places[0] and entries[place].reply is None:
                del entries[place:]
                return fail_batch(self.guard, errored, batch, [raws[place] for place in places])
            if fails:
                del entries[place + 1 :]
                return None
        return None

    def _reject(self, raws: Sequence[RawRecord], entries: list[Any], causes: Mapping[int, Exception]) -> None:
        """Make the records at these places errors, and drop the entries after an error that will fail the task."""
        for place, cause in causes.items():
            entries[place] = self.guard.reject_record(StageFailure(self.put_index, entries[place], cause), raws[place])
        if causes:
            self._drop_after_stop(entries)

    def _drop_after_stop(self, entries: list[Any]) -> None:
        """Drop the entries after the first error that will fail the task."""
        trial = self.state.tolerance
        for place, entry in enumerate(entries):
            if type(entry) is PendingError:
                fails, trial = self.guard.would_fail(trial, entry)
                if fails:
                    del entries[place + 1 :]
                    return

    def _report_outcomes(self, raws: Sequence[RawRecord], settled: Sequence[Record | Filtered | Skipped]) -> None:
        """Report outcomes of replayed records; most records have no headers and cost one check."""
        for place, raw in enumerate(raws):
            if raw.headers:
                self.replayed.report(raw, outcome_of(settled[place]))


def outcome_of(entry: Record | Filtered | Skipped) -> Outcome:
    """Return a settled record's outcome as it is reported."""
    if isinstance(entry, Record):
        return Outcome.DELIVERED
    if isinstance(entry, Filtered):
        return Outcome.FILTERED
    return Outcome.DEAD_LETTERED if entry.dead_lettered else Outcome.SKIPPED


def undelivered(entries: Sequence[Any], delivered: Collection[int]) -> list[int]:
    """Return the places of the records that are still to be put."""
    return [place for place, entry in enumerate(entries) if isinstance(entry, Record) and place not in delivered]


def put_results(error: Exception, count: int) -> tuple[Sequence[int], Mapping[int, Exception], Exception | None]:
    """Return what the exception of a put says of a batch of `count` records.

    The results are the indexes of delivered records, the causes of rejected ones by index, and the error of the rest.
    An exception that contradicts itself is the error of the whole batch.
    """
    if isinstance(error, PartialPut):
        causes = _causes(error.rejected, count)
        done = set(error.delivered)
        is_valid = done.isdisjoint(causes) and done <= set(range(count)) and len(causes) == len(error.rejected)
        return (
            (error.delivered, causes, error.error) if is_valid and (done or causes or error.error) else ((), {}, error)
        )
    leaves = error.exceptions if isinstance(error, BaseExceptionGroup) else (error,)
    causes = _causes(leaves, count)
    return (), causes, None if causes else error


def _causes(leaves: Sequence[BaseException], count: int) -> Mapping[int, Exception]:
    """Return the causes of RecordErrors by index; nothing if there is any other exception."""
    causes: dict[int, Exception] = {}
    for leaf in leaves:
        if not isinstance(leaf, RecordError) or not 0 <= leaf.index < count or not isinstance(leaf.cause, Exception):
            return {}
        causes[leaf.index] = leaf.cause
    return causes
