"""A source task: poll, transform, convert, produce, settle in the order of the records, commit."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from engine.errors import RetriableError
from engine.pipeline.guard import Guard, Step
from engine.pipeline.journey import convert, settle
from engine.pipeline.outcome import End, Errored, Failed, Interrupted, Trouble, Verdict
from engine.pipeline.producing import WRITTEN, Outgoing, RecordWriter
from engine.pipeline.source_boundary import Boundary, Cut, IntervalBoundary, parts
from engine.pipeline.source_commit import SourceCommit
from engine.pipeline.source_committing import Committing
from engine.pipeline.source_progress import canonical, forget_settled
from engine.pipeline.task_state import TaskFigures, TaskState
from engine.ports import Clock, Source
from engine.record.record import Punctuation, Record, TopicPartition
from engine.reporting.metrics import Metric

CHUNK_RECORDS = 1000
COMMIT_INTERVAL_MS = 500
OVERTIME_MS = 2000  # how much longer than its lease a transaction may last that the source itself is to end
PACE_MS = 50  # between two polls that find nothing, while such a transaction is open
POLL = 0  # the stage's index
log = logging.getLogger(__name__)


class SourceTask:
    """One task during one lease. What it polled and did not settle is polled again by the next lease.

    `boundary` says when to commit; `commit_interval_ms` where there is none.
    """

    last_count: int | None = None
    saves_aside = False

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
        boundary: Boundary | None = None,
    ) -> None:
        self.source = source
        self.steps = tuple(steps)
        self.writer = writer
        self.guard = guard
        self.state = state
        self.clock = clock
        self.boundary = boundary or IntervalBoundary(commit_interval_ms, clock.now_ms())
        self._committing = Committing(commit, state, self._confirm)
        self._is_whole = True  # is everything settled that was polled?
        self._was_empty = False

    @property
    def committed(self) -> Mapping[TopicPartition, int]:
        """Nothing: a source's positions are its own."""
        return {}

    @property
    def progressed(self) -> bool:
        """Did this lease commit anything new?"""
        return self._committing.progressed

    def step(self, timeout_s: float) -> End | None:  # noqa: ARG002, a source knows itself how long to wait
        """Poll and process what came; commit where the boundary says. None: it may go on.

        Raises RetriableError where a handler wants the task to begin again at its last commit.
        """
        polled = self._poll()
        if isinstance(polled, Failed | Interrupted):
            return self._end(polled)
        self._was_empty = not polled
        begin = 0
        for end, cut in parts(self.boundary, polled):
            verdict = self.process(polled[begin:end], polled[end:])
            if verdict is not None:
                return self._end(verdict)
            if (interrupted := self._cut(cut)) is not None:
                return interrupted
            begin = end
        cut = self.boundary.on_batch(self.clock.now_ms())
        if cut is Cut.NONE and self._committing.is_full and not self.boundary.is_own:
            cut = Cut.COMMIT
        interrupted = self._cut(cut)
        if interrupted is None and self._was_empty and self._waits_for_source:
            self.clock.wait(min(PACE_MS, self.source.idle_ms))
        return interrupted

    def process(self, polled: Sequence[Record], behind: Sequence[Record] = ()) -> Verdict | None:
        """Take records as far as they go, each one into exactly one bucket; `behind` came with them."""
        done = 0
        end: Verdict | None = None
        while end is None and done < len(polled):
            chunk = polled[done : done + CHUNK_RECORDS]
            settled, end = self._process(chunk)
            done += settled
        self._is_whole = self._is_whole and end is None
        unsettled = () if end is None else (*polled[done:], *behind)
        self._committing.progress.add(polled[:done], unsettled)
        forget_settled(self.state, polled[:done], unsettled)
        return end

    def save(self) -> End | None:
        """Commit what is settled. Where the source ends its transactions itself it is given a little time for that;
        then the open one is aborted, and polled again by the next lease.
        """
        if not self._waits_for_source:
            return self._commit()
        late_ms = self.clock.now_ms() + OVERTIME_MS
        while self._waits_for_source and self.clock.now_ms() < late_ms and not self.clock.wait(0):
            ended = self.step(0)
            if ended is not None:
                return ended
        if self._waits_for_source:
            log.warning("%s: its source did not end a transaction in time; it is read again", self.guard.connector)
            self._committing.give_up()
        return None

    def is_idle(self) -> bool:
        """Did the last poll find nothing, and is nothing open that the source is to end?"""
        return self._was_empty and not self._waits_for_source

    def wake_at(self) -> int:
        """When there may be something new (ms)."""
        return self.clock.now_ms() + self.source.idle_ms

    def known_ends(self) -> Mapping[TopicPartition, int]:
        """Nothing, as with `committed`."""
        return {}

    def figures(self) -> TaskFigures:
        """What was counted; of records as it was committed."""
        return self._committing.figures()

    @property
    def _waits_for_source(self) -> bool:
        return self.boundary.is_own and self._committing.is_open

    def _end(self, end: Verdict) -> End | None:
        """Commit what is settled before the task ends; not in the middle of what belongs together."""
        interrupted = None
        if self._waits_for_source or self._committing.is_torn:
            self._committing.undo(remember=end != Interrupted(None))
        else:
            interrupted = self._commit()
        if isinstance(end, RetriableError):
            raise end
        return interrupted or end

    def _cut(self, cut: Cut) -> Interrupted | None:
        if cut is Cut.NONE:
            return None
        if cut is Cut.ABORT:
            self._committing.abort()
        return self._commit()

    def _commit(self) -> Interrupted | None:
        self.boundary.committed(self.clock.now_ms())
        return self._committing.commit()

    def _poll(self) -> Sequence[Record] | End:
        trouble = Trouble()
        while True:
            out: list[Sequence[Record]] = []
            raised = self.guard.run(((POLL, self._next),), (self.source,), out)
            if raised is None:
                self._poll_again_succeeded()
                return out[0]
            verdict = self.guard.failed(raised, Punctuation(self.clock.now_ms()), trouble)
            if isinstance(verdict, Interrupted):
                return verdict
            if isinstance(verdict, Errored):
                return self._poll_errored(verdict) or ()
            trouble = verdict

    def _next(self, source: Source) -> Sequence[Record]:
        """What the source has, looked at before it is trusted. It may be somebody else's."""
        polled = list(source.poll() or ())
        last = None
        for record in polled:
            if not isinstance(record, Record):
                raise TypeError(f"poll answered with a {type(record).__name__}, not with records")
            if record.source_partition is not last:
                last = record.source_partition
                canonical(last)
            canonical(record.source_offset)
        return polled

    def _poll_again_succeeded(self) -> None:
        if self.state.parked is not None and self.state.parked.place.index == POLL:
            self.state.parked = None
            self.state.metrics[Metric.TOTAL_RETRIES] += 1

    def _poll_errored(self, errored: Errored) -> Failed | None:
        """An error of no record: logged and counted, but there is nothing to dead-letter or to skip."""
        fails, self.state.tolerance = self.guard.would_fail(self.state.tolerance, errored)
        self.state.metrics[Metric.TOTAL_RECORD_ERRORS] += 1
        self.guard.log(errored)
        context = errored.context
        if not fails:
            return None
        reason = "Tolerance exceeded" if errored.tolerable else "Not tolerable"
        return Failed(f"{reason}: {context.stage.class_name} could not be polled: {context.message}", context)

    def _process(self, chunk: Sequence[Record]) -> tuple[int, Verdict | None]:
        """How many records of the chunk are settled, and what ends the task there."""
        entries: list[Any] = []
        interrupted = convert(self.guard, self.steps, chunk, entries)
        written, unwritten = self._write(chunk, entries)
        failed, done = settle(self.guard, entries)
        if written > sum(isinstance(entry, Record) for entry in entries[:done]):
            self._committing.progress.is_torn = True  # something behind what ends the task is written already
        return done, failed or unwritten or interrupted

    def _write(self, chunk: Sequence[Record], entries: list[Any]) -> tuple[int, Interrupted | None]:
        """Produce the records among `entries`, and say how many are written; what is not yet is left out, with all
        behind it.
        """
        places: list[int] = []
        errors: list[tuple[int, Errored]] = []
        for place, entry in enumerate(entries):
            if isinstance(entry, Record):
                places.append(place)
            elif type(entry) is Errored:
                errors.append((len(places), entry))
        outgoing = [_outgoing(entries[place], chunk[place]) for place in places]
        answers = self.writer.write(outgoing, between=errors)
        written = sum(answer is WRITTEN for answer in answers)
        for place, answer in zip(places, answers, strict=True):
            if isinstance(answer, Errored):
                entries[place] = answer
            elif isinstance(answer, Interrupted):
                del entries[place:]
                return written, answer
        return written, None

    def _confirm(self, records: Sequence[Record]) -> None:
        """Tell the source. That it can't take the news changes nothing about what is committed: it is only logged."""
        todo = iter(records)
        while (raised := self.guard.run(((POLL, self._tell),), todo, [])) is not None:
            log.warning("%s: commit_record failed: %r", self.guard.connector, raised.error)
        if self._is_whole:
            raised = self.guard.run(((POLL, lambda source: source.commit()),), (self.source,), [])
            if raised is not None:
                log.warning("%s: commit failed: %r", self.guard.connector, raised.error)

    def _tell(self, record: Record) -> None:
        self.source.commit_record(record)


def _outgoing(record: Record, origin: Record) -> Outgoing:
    headers = tuple((name, value) for name, _, value in record.headers)
    return Outgoing(record.topic, record.partition, record.timestamp, record.key, record.value, headers, origin, record)
