"""A stream task: poll, convert, run the topology, write, settle in record order, commit (KIP-1033).

A record without an error is delivered, whether it reached a topic or a processor keeps its result. A record with a
tolerated error is dead-lettered or skipped, even if its other branches were written. An error in a punctuation
concerns no record: it is reported, but no bucket counts it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from engine.errors import Aborted, RetriableError
from engine.exactly_once.transaction import Transaction
from engine.pipeline.chunk_results import attempt, retry_step
from engine.pipeline.commit import Commit
from engine.pipeline.guard import Guard, Step
from engine.pipeline.outcome import FILTERED, Failed, Interrupted, PendingError, StepVerdict, TaskEnding
from engine.pipeline.poll_stage import PollStage
from engine.pipeline.progress import TaskProgress
from engine.pipeline.stream_settlement import settle
from engine.pipeline.stream_writer import UnitWriter
from engine.pipeline.task_state import ParkedRetry, TaskFigures, TaskState
from engine.pipeline.topology import ChunkRun, ProcessingUnit, Topology
from engine.ports import Clock, Consumer, Producer
from engine.record.record import Punctuation, RawRecord, Record, TopicPartition
from engine.reporting.replay_outcomes import ReplayReporter
from engine.steps.processors import ProcessingState, ProcessorContext
from engine.steps.schedules import PunctuationType, Schedules

CHUNK_RECORDS = 500
COMMIT_INTERVAL_MS = 500
LONG_WAIT_MS = 1000  # before a wait this long, finished units are written and committed
PAUSE_MS = 1000  # rest while the brokers can't be reached; the lease must not end with it

log = logging.getLogger(__name__)


class StreamTask:
    """One stream task during its lease. The lease ends only on stop, because processors keep state in memory."""

    last_count: int | None = None
    can_commit_in_background = False

    def __init__(
        self,
        *,
        steps: Sequence[Step],
        topology: Topology,
        contexts: Mapping[str, tuple[int, ProcessorContext]],
        moment: ProcessingState,
        schedules: Schedules,
        guard: Guard,
        consumer: Consumer,
        producer: Producer,
        replayed: ReplayReporter,
        commit: Commit,
        state: TaskState,
        committed: Mapping[TopicPartition, int],
        clock: Clock,
        commit_interval_ms: int = COMMIT_INTERVAL_MS,
        transaction: Transaction | None = None,
        tell_trouble: Callable[[str | None], None] = lambda _reason: None,
    ) -> None:
        self.steps = tuple(steps)
        self.topology = topology
        self.contexts = contexts
        self.moment = moment
        self.schedules = schedules
        self.guard = guard
        self.consumer = consumer
        self.replayed = replayed
        self.state = state
        self.clock = clock
        self.transaction = transaction
        self.tell_trouble = tell_trouble  # its lease does not end with a trouble, so no report would tell of it
        self._troubled = False
        self.commit_interval_ms = commit_interval_ms
        self.progress = TaskProgress(consumer, commit, state, committed, clock, commit_interval_ms)
        self._consume = PollStage(guard, consumer, clock)
        self._poll_at_ms = 0  # time of the next attempt after a failed poll
        self._raws: Sequence[RawRecord] = ()
        self._chunk_run = ChunkRun(topology, guard)
        self._done = 0  # how many of these records are settled
        self._late_ms = 0  # time after which processed records no longer wait for the others
        self._current: ProcessingUnit | None = None  # the unit being processed
        self._running = False
        self._ended: StepVerdict | None = None  # the verdict that ended the task while it was about to wait
        patience_ms = guard.patience_ms
        # A stream waits in place, because its memory ends with its lease. The records before the waiting one must not
        # wait with it.
        guard.clock = _SettlingClock(guard.clock, self._before_wait)
        # A write that has to wait longer is left, so that earlier units are committed first, and is then resumed.
        guard.patience_ms = lambda now: patience_ms(now) if self._running else min(patience_ms(now), LONG_WAIT_MS - 1)
        self.writer = UnitWriter(producer, guard, transaction)
        if state.parked is not None and not state.parked.place.topic:
            state.parked = None  # a punctuation's retry ended with the memory of its lease

    @property
    def committed(self) -> Mapping[TopicPartition, int]:
        return self.progress.committed

    @property
    def has_progressed(self) -> bool:
        return self.progress.has_progressed

    def step(self, timeout_s: float) -> TaskEnding | None:
        """Poll and process one chunk and due punctuations; commit when it is due. Returns None if it goes on.

        Raises RetriableError if a handler wants the task to begin again at its last commit.
        """
        raws = self._poll(timeout_s)
        if isinstance(raws, Failed | Interrupted):
            return self._consume.end(raws, self.save)
        end = self.process(raws)
        if end is None:
            return self._save_in_place() if self.progress.is_due else None
        interrupted = self.save()
        if isinstance(end, RetriableError):
            raise end
        return interrupted or end

    def process(self, raws: Sequence[RawRecord]) -> StepVerdict | None:
        """Process a chunk as far as possible, each record into exactly one bucket."""
        self._raws, self._chunk_run, self._done, self._ended = raws, ChunkRun(self.topology, self.guard), 0, None
        self._late_ms = self.clock.now_ms() + self.commit_interval_ms
        self._running = True
        interrupted = self._run(raws, self._chunk_run)
        self._running, self._current = False, None
        end = self._ended or self._finish(self._chunk_run.units) or interrupted
        self.progress.hold(raws[self._done :])
        if self._done < len(raws) and end is None:
            return Interrupted(self.clock.now_ms())  # an unsettled record, whatever the reason, must not be passed
        return end

    def save(self) -> Interrupted | None:
        """Commit if anything changed since the last commit. A standing lease is observed through its commits."""
        interrupted = self.progress.save()
        if interrupted is None and self.transaction is not None and self.transaction.is_open:
            self.transaction.commit({})  # punctuations wrote records, but no position moved
        return interrupted

    def is_idle(self) -> bool:
        """Return False: the processors' memory would end with the lease."""
        return False

    def wake_at(self) -> None:
        """Return None: the task never sleeps."""

    def end_offsets(self) -> dict[TopicPartition, int]:
        """Return the end offset of each partition as last seen."""
        return dict(self.consumer.ends())

    def topics_written(self) -> tuple[str, ...]:
        """Return nothing: the positions tell which topics the task reads."""
        return ()

    def figures(self) -> TaskFigures:
        return self.progress.figures()

    def _poll(self, timeout_s: float) -> Sequence[RawRecord] | Failed | Interrupted:
        now = self.clock.now_ms()
        # A poll or a rest must not last beyond the next punctuation by the clock.
        left_ms = max(0, self.schedules.soonest[PunctuationType.WALL_CLOCK_TIME] - now)
        if now < self._poll_at_ms:
            rest_ms = min(self._poll_at_ms - now, left_ms, PAUSE_MS)
            return Interrupted(None) if self.clock.wait(rest_ms) else ()
        polled = self._consume.poll(CHUNK_RECORDS, min(timeout_s, left_ms / 1000))
        if isinstance(polled, Interrupted) and polled.wake_at is not None:
            # A sink's lease would end here. A stream rests instead: a new lease would begin with empty processors.
            self._poll_at_ms = polled.wake_at
            self._tell(self.state.describe_parked() or "the consumer's poll failed, and is repeated")
            return ()
        if not isinstance(polled, Failed | Interrupted):
            self._tell_recovery()
        return polled

    def _save_in_place(self) -> Interrupted | None:
        """Save, with retries until it succeeds; nothing else is processed before."""
        while True:
            try:
                saved = self.save()
            except Aborted:
                raise  # the transaction's writes are gone, so their positions must not be committed
            except RetriableError as error:
                stopped = self._pause("the commit failed", error)
                if stopped is not None:
                    return stopped
            else:
                self._tell_recovery()
                return saved

    def _pause(self, what: str, error: RetriableError) -> Interrupted | None:
        text = self.guard.content_policy.sentence(error)
        log.warning("%s-%d: %s; next attempt in %d ms: %s", self.guard.connector, self.state.task, what, PAUSE_MS, text)
        self._tell(f"{what}, and is repeated: {text}")
        return Interrupted(None) if self.clock.wait(PAUSE_MS) else None

    def _tell(self, reason: str) -> None:
        self._troubled = True
        self.tell_trouble(reason)

    def _tell_recovery(self) -> None:
        if self._troubled:
            self._troubled = False
            self.tell_trouble(None)

    def _finish(self, units: list[ProcessingUnit]) -> StepVerdict | None:
        """Write and settle the processed units. Commit before a long wait for another attempt to write."""
        while True:
            count, interrupted = self.writer.write(units)
            verdict, settled = settle(self.guard, self.replayed, units[:count])
            self.writer.settled(units, settled)
            self._done += sum(isinstance(unit.origin, RawRecord) for unit in units[:settled])
            if verdict is not None or settled < count or interrupted is None or interrupted.wake_at is None:
                return verdict or interrupted
            units = units[count:]
            self.progress.hold(self._raws[self._done :])
            # The units before are done. Committed now, they are not processed again if the worker dies in the wait.
            stopped = self._save_in_place()
            if stopped is None and self.clock.wait(max(0, interrupted.wake_at - self.clock.now_ms())):
                stopped = Interrupted(None)
            if stopped is not None:
                return stopped

    def _before_wait(self, ms: int) -> bool:
        """Commit finished units before a long wait for a retry; return True if that ends the task."""
        return self._running and ms >= LONG_WAIT_MS and self._commit_midway(self._current, self.state.parked)

    def _commit_midway(self, current: ProcessingUnit | None = None, waits: ParkedRetry | None = None) -> bool:
        """Settle and commit all units but the current one, which may wait. Returns True if that ends the task."""
        done = self._chunk_run.leave(current)
        self._running = False
        self._ended = self._finish(done)
        if self._ended is None:
            self.state.parked = waits or self.state.parked
            self.progress.hold(self._raws[self._done :])
            self._ended = self._save_in_place()
            self._chunk_run.recount()
        self._running = True
        self._late_ms = self.clock.now_ms() + self.commit_interval_ms
        return self._ended is not None

    def _run(self, raws: Sequence[RawRecord], chunk_run: ChunkRun) -> Interrupted | None:
        """Convert the records and pass them through the topology; run due punctuations between them."""
        interrupted = self._punctuate(PunctuationType.WALL_CLOCK_TIME, self.clock.now_ms(), chunk_run)
        if interrupted is not None or _is_stopped(chunk_run):
            return interrupted
        for raw, entry in self._convert_each(raws):
            interrupted = entry if isinstance(entry, Interrupted) else self._process_record(chunk_run, raw, entry)
            if interrupted is not None or _is_stopped(chunk_run):
                return interrupted
            if self.clock.now_ms() >= self._late_ms and self._commit_midway():
                return None
        return None

    def _convert_each(self, raws: Sequence[RawRecord]) -> Iterator[tuple[RawRecord, Any]]:
        """Yield records with their results. A failed record is retried only after the ones before it are processed."""
        todo, count = iter(raws), 0
        while count < len(raws):
            entries: list[Any] = []
            raised = self.guard.run(self.steps, todo, entries)
            yield from zip(raws[count:], entries, strict=False)
            count += len(entries)
            if raised is not None:
                self._current = None
                yield raws[count], retry_step(self.guard, self.steps, raised, raws[count])
                count += 1

    def _process_record(self, chunk_run: ChunkRun, raw: RawRecord, entry: Any) -> Interrupted | None:
        unit = self._current = chunk_run.enter(raw)
        if type(entry) is PendingError:
            chunk_run.add_error(unit, entry)
            return None
        if entry is FILTERED:
            unit.filtered = True
            return None
        self._advance(entry)
        self.moment.origin = raw
        interrupted = chunk_run.pass_to_roots(unit, entry)
        self.moment.origin = None
        # The unit is processed again from its first step, so none of its outputs may be written now.
        if interrupted is not None:
            chunk_run.units.pop()
            return interrupted
        if unit.stops:
            return None
        return self._punctuate(PunctuationType.STREAM_TIME, self.moment.stream_time, chunk_run)

    def _advance(self, record: Record) -> None:
        # Stream time is the largest timestamp so far: a late record must not turn it back.
        if record.timestamp is not None and record.timestamp > self.moment.stream_time:
            self.moment.stream_time = record.timestamp

    def _punctuate(self, kind: PunctuationType, now_ms: int, chunk_run: ChunkRun) -> Interrupted | None:
        """Call due punctuations. Each call is a unit, and units settle in order."""
        for schedule in self.schedules.due(kind, now_ms):
            unit = self._current = chunk_run.enter(Punctuation(self.moment.stream_time))
            index, context = self.contexts[schedule.node]
            step = (index, lambda time, call=schedule.callback, own=context: own.run(call, time))
            result = attempt(self.guard, (step,), now_ms, unit.origin)
            if isinstance(result, PendingError):
                chunk_run.add_error(unit, result)
            elif not isinstance(result, Interrupted):
                result = chunk_run.follow(unit, result)
            if isinstance(result, Interrupted):
                chunk_run.units.pop()
                return result
            if unit.stops:
                return None
        return None


class _SettlingClock:
    """The guard's clock with a callback before each wait."""

    def __init__(self, clock: Clock, before_wait: Callable[[int], bool]) -> None:
        self._clock = clock
        self._before_wait = before_wait

    def now_ms(self) -> int:
        return self._clock.now_ms()

    def wait(self, ms: int) -> bool:
        return self._before_wait(ms) or self._clock.wait(ms)


def _is_stopped(chunk_run: ChunkRun) -> bool:
    return bool(chunk_run.units) and chunk_run.units[-1].stops
