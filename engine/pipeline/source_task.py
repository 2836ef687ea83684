"""A source task: poll, transform, convert, produce, settle in record order, commit."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from engine.errors import Message, RetriableError
from engine.pipeline.chunk_results import convert, settle
from engine.pipeline.guard import Guard, Step
from engine.pipeline.outcome import Failed, FailedAttempts, Interrupted, PendingError, StepVerdict, TaskEnding
from engine.pipeline.produce_stage import WRITTEN, OutputRecord, RecordWriter
from engine.pipeline.recordless_errors import forget_poll, settle_poll
from engine.pipeline.source_boundary import BoundaryAction, BoundaryRule, IntervalBoundary, split_batch
from engine.pipeline.source_commit import SourceCommit
from engine.pipeline.source_progress import canonical, forget_settled
from engine.pipeline.source_settled import SettledRecords
from engine.pipeline.task_state import TaskFigures, TaskState
from engine.ports import Clock, Source
from engine.record.record import Punctuation, Record, TopicPartition
from engine.reporting.metrics import Metric

CHUNK_RECORDS = 1000
COMMIT_INTERVAL_MS = 500
OVERTIME_MS = 2000  # extra time for a source that ends its transactions itself, after its lease's budget
PACE_MS = 50  # between two empty polls while such a transaction is open
POLL = 0  # stage index
log = logging.getLogger(__name__)


class SourceTask:
    """One source task during one lease. Polled records that are not settled are polled again by the next lease.

    `boundary` decides when to commit; without one, `commit_interval_ms` does.
    """

    last_count: int | None = None
    can_commit_in_background = False

    def __init__(
        self,
        *,
        source: Source,
        steps: Sequence[Step],
        writer: RecordWriter,
        guard: Guard,
        commit: SourceCommit,
        state: TaskState,
        clock: Clock,
        commit_interval_ms: int = COMMIT_INTERVAL_MS,
        boundary: BoundaryRule | None = None,
    ) -> None:
        self.source = source
        self.steps = tuple(steps)
        self.writer = writer
        self._topics: set[str] = set()
        self.guard = guard
        self.state = state
        self.clock = clock
        self.boundary = boundary or IntervalBoundary(commit_interval_ms, clock.now_ms())
        self._settled = SettledRecords(commit, state, self._confirm)
        self._is_whole = True  # all polled records are settled
        self._was_empty = False

    @property
    def committed(self) -> Mapping[TopicPartition, int]:
        """Return nothing: a source has no Kafka positions."""
        return {}

    @property
    def has_progressed(self) -> bool:
        """Return whether this lease has committed anything new."""
        return self._settled.has_progressed

    def step(self, timeout_s: float) -> TaskEnding | None:  # noqa: ARG002, a source decides itself how long it waits
        """Poll and process records; commit where the boundary says. Returns None if the task goes on.

        Raises RetriableError if a handler wants the task to begin again at its last commit.
        """
        polled = self._poll()
        if isinstance(polled, Failed | Interrupted):
            return self._end(polled)
        self._was_empty = not polled
        begin = 0
        for end, cut in split_batch(self.boundary, polled):
            verdict = self.process(polled[begin:end], polled[end:])
            if verdict is not None:
                return self._end(verdict)
            if (interrupted := self._end_transaction(cut)) is not None:
                return interrupted
            begin = end
        cut = self.boundary.on_batch(self.clock.now_ms())
        if cut is BoundaryAction.NONE and self._settled.is_full and not self.boundary.is_own:
            cut = BoundaryAction.COMMIT
        interrupted = self._end_transaction(cut)
        if interrupted is None and self._was_empty and self._waits_for_source:
            # The task is not idle while the transaction is open. Without this wait, the lease would poll in a tight
            # loop.
            self.clock.wait(min(PACE_MS, self.source.idle_ms))
        return interrupted

    def process(self, polled: Sequence[Record], behind: Sequence[Record] = ()) -> StepVerdict | None:
        """Process records as far as possible, each into exactly one bucket. `behind` is the rest of their poll."""
        done = 0
        end: StepVerdict | None = None
        while end is None and done < len(polled):
            chunk = polled[done : done + CHUNK_RECORDS]
            settled, end = self._process(chunk)
            done += settled
        self._is_whole = self._is_whole and end is None
        unsettled = () if end is None else (*polled[done:], *behind)
        # Records of one poll may share an offset. Then the offset is reached only when all of them are settled.
        self._settled.progress.add(polled[:done], unsettled)
        forget_settled(self.state, polled[:done], unsettled)
        return end

    def save(self) -> TaskEnding | None:
        """Commit settled records.

        A source that ends its transactions itself gets a little time to do so. After it, the open transaction is
        aborted, and the next lease polls its records again.
        """
        if not self._waits_for_source:
            return self._commit()
        late_ms = self.clock.now_ms() + OVERTIME_MS
        # A wait of 0 ms only asks whether the task must stop.
        while self._waits_for_source and self.clock.now_ms() < late_ms and not self.clock.wait(0):
            ended = self.step(0)
            if ended is not None:
                return ended
        if self._waits_for_source:
            log.warning(
                "%s: the source did not end its transaction within %d ms; the transaction is aborted, and the next "
                "lease polls its records again",
                self.guard.connector,
                OVERTIME_MS,
            )
            self._settled.give_up()
        return None

    def is_idle(self) -> bool:
        """Return whether the last poll was empty and no transaction waits for the source to end it."""
        return self._was_empty and not self._waits_for_source

    def wake_at(self) -> int:
        """Return when to poll an idle source again (ms)."""
        return self.clock.now_ms() + self.source.idle_ms

    def end_offsets(self) -> Mapping[TopicPartition, int]:
        """Return nothing, as `committed` does."""
        return {}

    def topics_written(self) -> Collection[str]:
        return self._topics

    def figures(self) -> TaskFigures:
        """Return the figures; records are counted as of the last commit."""
        return self._settled.figures()

    @property
    def _waits_for_source(self) -> bool:
        return self.boundary.is_own and self._settled.is_open

    def _end(self, end: StepVerdict) -> TaskEnding | None:
        """Commit settled records before the task ends, unless they belong with unsettled ones."""
        interrupted = None
        if self._waits_for_source or self._settled.is_torn:
            self._settled.undo(remember=end != Interrupted(None))
        else:
            interrupted = self._commit()
        if isinstance(end, RetriableError):
            raise end
        return interrupted or end

    def _end_transaction(self, cut: BoundaryAction) -> Interrupted | None:
        if cut is BoundaryAction.NONE:
            return None
        if cut is BoundaryAction.ABORT:
            self._settled.abort()
        return self._commit()

    def _commit(self) -> Interrupted | None:
        self.boundary.committed(self.clock.now_ms())
        return self._settled.commit()

    def _poll(self) -> Sequence[Record] | TaskEnding:
        trouble = FailedAttempts()
        while True:
            out: list[Sequence[Record]] = []
            raised = self.guard.run(((POLL, self._poll_source),), (self.source,), out)
            if raised is None:
                self._clear_parked_poll()
                forget_poll(self.guard, POLL)
                return out[0]
            # A poll that fails has no record. Its error gets the origin of a punctuation, which has no coordinates
            # either.
            verdict = self.guard.handle_failure(raised, Punctuation(self.clock.now_ms()), trouble)
            if isinstance(verdict, Interrupted):
                return verdict
            if isinstance(verdict, PendingError):
                return settle_poll(self.guard, verdict) or ()
            trouble = verdict

    def _poll_source(self, source: Source) -> Sequence[Record]:
        """Return the source's records after a type check; the source may be third-party code."""
        polled = list(source.poll() or ())
        last = None
        for record in polled:
            if not isinstance(record, Record):
                raise TypeError(Message(f"poll returned a {type(record).__name__}, not a record"))
            # `canonical` raises TypeError for a position that is not JSON. Here the poll is to blame, not a later
            # commit.
            if record.source_partition is not last:
                last = record.source_partition
                canonical(last)
            canonical(record.source_offset)
        return polled

    def _clear_parked_poll(self) -> None:
        if self.state.parked is not None and self.state.parked.place.index == POLL:
            self.state.parked = None
            self.state.metrics[Metric.TOTAL_RETRIES] += 1

    def _process(self, chunk: Sequence[Record]) -> tuple[int, StepVerdict | None]:
        """Return the number of settled records in the chunk, and the verdict that ends the task."""
        entries: list[Any] = []
        interrupted = convert(self.guard, self.steps, chunk, entries)
        written, unwritten = self._write(chunk, entries)
        failed, done = settle(self.guard, entries)
        if written > sum(isinstance(entry, Record) for entry in entries[:done]):
            self._settled.progress.is_torn = True  # a record after the one that ends the task is written already
        return done, failed or unwritten or interrupted

    def _write(self, chunk: Sequence[Record], entries: list[Any]) -> tuple[int, Interrupted | None]:
        """Produce the records in `entries` and return how many are written.

        Entries from the first unwritten record on are dropped.
        """
        places: list[int] = []
        errors: list[tuple[int, PendingError]] = []
        for place, entry in enumerate(entries):
            if isinstance(entry, Record):
                places.append(place)
            elif type(entry) is PendingError:
                errors.append((len(places), entry))
        outgoing = [_outgoing(entries[place], chunk[place]) for place in places]
        answers = self.writer.write(outgoing, between=errors)
        written = sum(answer is WRITTEN for answer in answers)
        self._topics |= {record.topic for record, answer in zip(outgoing, answers, strict=True) if answer is WRITTEN}
        for place, answer in zip(places, answers, strict=True):
            if isinstance(answer, PendingError):
                entries[place] = answer
            elif isinstance(answer, Interrupted):
                del entries[place:]
                return written, answer
        return written, None

    def _confirm(self, records: Sequence[Record]) -> None:
        """Tell the source about a commit. Its exceptions are only logged, because the commit is done."""
        todo = iter(records)
        while (raised := self.guard.run(((POLL, self._confirm_record),), todo, [])) is not None:
            text = self.guard.content_policy.sentence(raised.error)
            log.warning("%s: commit_record failed: %s", self.guard.connector, text)
        # `Source.commit` says that everything polled is settled. That is false while a part of a poll is left.
        if self._is_whole:
            raised = self.guard.run(((POLL, lambda source: source.commit()),), (self.source,), [])
            if raised is not None:
                text = self.guard.content_policy.sentence(raised.error)
                log.warning("%s: commit failed: %s", self.guard.connector, text)

    def _confirm_record(self, record: Record) -> None:
        self.source.commit_record(record)


def _outgoing(record: Record, origin: Record) -> OutputRecord:
    headers = tuple((name, value) for name, _, value in record.headers)
    return OutputRecord(
        record.topic, record.partition, record.timestamp, record.key, record.value, headers, origin, record
    )
