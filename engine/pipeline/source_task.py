"""A source task: poll, transform, convert, produce, settle in the order of the records, commit."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from engine.errors import RetriableError
from engine.pipeline.guard import Guard, Step
from engine.pipeline.journey import convert, settle
from engine.pipeline.outcome import End, Errored, Failed, Interrupted, Trouble, Verdict
from engine.pipeline.producing import Outgoing, RecordWriter
from engine.pipeline.source_commit import SourceCommit
from engine.pipeline.source_progress import SourceProgress, canonical, forget_settled
from engine.pipeline.task_state import TaskFigures, TaskState
from engine.ports import Clock, Source
from engine.record.record import Punctuation, Record, TopicPartition
from engine.reporting.metrics import Metric

CHUNK_RECORDS = 1000
COMMIT_INTERVAL_MS = 500
POLL = 0  # the stage's index
log = logging.getLogger(__name__)


class SourceTask:
    """One task during one lease. What it polled and did not settle is polled again by the next lease."""

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
    ) -> None:
        self.source = source
        self.steps = tuple(steps)
        self.writer = writer
        self.guard = guard
        self.commit = commit
        self.state = state
        self.clock = clock
        self.commit_interval_ms = commit_interval_ms
        self.progressed = False
        self._progress = SourceProgress()
        self._is_whole = True  # is everything settled that was polled?
        self._was_empty = False
        self._due_ms = clock.now_ms() + commit_interval_ms
        self._saved = self._memory()
        self._last = state.copy()

    @property
    def committed(self) -> Mapping[TopicPartition, int]:
        """Nothing: a source's positions are its own."""
        return {}

    def step(self, timeout_s: float) -> End | None:  # noqa: ARG002, a source knows itself how long to wait
        """Poll and process what came; commit when it is time. None: it may go on.

        Raises RetriableError where a handler wants the task to begin again at its last commit.
        """
        polled = self._poll()
        if isinstance(polled, Failed | Interrupted):
            return self.save() or polled
        self._was_empty = not polled
        end = self.process(polled)
        if isinstance(end, RetriableError):
            self.save()
            raise end
        if end is not None:
            return self.save() or end
        return self.save() if self.clock.now_ms() >= self._due_ms else None

    def process(self, polled: Sequence[Record]) -> Verdict | None:
        """Take records as far as they go, each one into exactly one bucket."""
        done = 0
        end: Verdict | None = None
        while end is None and done < len(polled):
            chunk = polled[done : done + CHUNK_RECORDS]
            settled, end = self._process(chunk)
            done += settled
        self._is_whole = self._is_whole and end is None
        self._progress.add(polled[:done], polled[done:])
        forget_settled(self.state, polled[:done])
        return end

    def save(self) -> Interrupted | None:
        """Commit offsets and state, if anything changed since the last time."""
        self._due_ms = self.clock.now_ms() + self.commit_interval_ms
        if not self._progress.records and self._memory() == self._saved:
            return None
        self.state.seq += 1
        interrupted = self.commit.commit(self._progress.offsets, self.state.to_metadata)
        if interrupted is not None:
            if interrupted.wake_at is not None:
                self.commit.remember(self.state.as_of(self._last).to_metadata())
            return interrupted
        self.progressed = self.progressed or bool(self._progress.records)
        self._confirm()
        self._progress.clear()
        self._saved = self._memory()
        self._last = self.state.copy()
        return None

    def is_idle(self) -> bool:
        """Did the last poll find nothing?"""
        return self._was_empty

    def wake_at(self) -> int:
        """When there may be something new (ms)."""
        return self.clock.now_ms() + self.source.idle_ms

    def known_ends(self) -> Mapping[TopicPartition, int]:
        """Nothing, as with `committed`."""
        return {}

    def figures(self) -> TaskFigures:
        """What was counted; of records as it was committed."""
        return self.state.figures(self._last.metrics)

    def _memory(self) -> tuple[Any, ...]:
        return self.state.reported, self.state.parked, dict(self.state.metrics)

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
        interrupted = self._write(chunk, entries) or interrupted
        failed, done = settle(self.guard, entries)
        return done, failed or interrupted

    def _write(self, chunk: Sequence[Record], entries: list[Any]) -> Interrupted | None:
        """Produce the records among `entries`; what is not written yet is left out, with all behind it."""
        places: list[int] = []
        errors: list[tuple[int, Errored]] = []
        for place, entry in enumerate(entries):
            if isinstance(entry, Record):
                places.append(place)
            elif type(entry) is Errored:
                errors.append((len(places), entry))
        outgoing = [_outgoing(entries[place], chunk[place]) for place in places]
        answers = self.writer.write(outgoing, between=errors)
        for place, answer in zip(places, answers, strict=True):
            if isinstance(answer, Errored):
                entries[place] = answer
            elif isinstance(answer, Interrupted):
                del entries[place:]
                return answer
        return None

    def _confirm(self) -> None:
        """Tell the source. That it can't take the news changes nothing about what is durable: it is only logged."""
        todo = iter(self._progress.records)
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
