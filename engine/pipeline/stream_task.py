"""A stream's task: poll, convert, run the topology, write, settle in the order of the records, commit (KIP-1033).

A record whose way ends without an error is delivered, whether it reached a topic or a processor keeps what it made of
it. One with an error that was let go is dead-lettered or skipped, though its other branches were written. What fails
under a punctuation is an error of no record: it is reported, and no bucket counts it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from engine.errors import RetriableError
from engine.pipeline.commit import Commit
from engine.pipeline.guard import Guard, Step
from engine.pipeline.journey import attempt, convert
from engine.pipeline.outcome import FILTERED, Errored, Failed, Interrupted
from engine.pipeline.producing import HELD, Outgoing, RecordWriter
from engine.pipeline.progress import Progress
from engine.pipeline.task_state import TaskFigures, TaskState
from engine.pipeline.topology import Passage, Topology, Unit
from engine.ports import Clock, Consumer, Producer
from engine.record.record import Punctuation, RawRecord, Record, TopicPartition
from engine.reporting.metrics import Metric
from engine.reporting.replayed import Outcome, ReplayReporter
from engine.steps.processors import Moment, ProcessorContext
from engine.steps.punctuation import PunctuationType, Schedules

CHUNK_RECORDS = 500
COMMIT_INTERVAL_MS = 500
LONG_WAIT_MS = 1000  # before a longer one, what is done is written and committed

End = Failed | Interrupted
Verdict = Failed | Interrupted | RetriableError  # the last: begin again at the last commit
BUCKETS = {
    Outcome.DELIVERED: Metric.RECORDS_DELIVERED,
    Outcome.FILTERED: Metric.RECORDS_FILTERED,
    Outcome.DEAD_LETTERED: Metric.RECORDS_DEAD_LETTERED,
    Outcome.SKIPPED: Metric.RECORDS_SKIPPED,
}


class StreamTask:
    """One task during its lease, which ends only on stop: its processors keep what they know in memory."""

    def __init__(
        self,
        *,
        steps: Sequence[Step],
        topology: Topology,
        contexts: Mapping[str, tuple[int, ProcessorContext]],
        moment: Moment,
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
        self.progress = Progress(consumer, commit, state, committed, clock, commit_interval_ms)
        self.progressed = False
        self._raws: Sequence[RawRecord] = ()
        self._passage = Passage(topology, guard)
        self._done = 0  # how many of these records are settled
        self._current: Unit | None = None  # what is being processed
        self._running = False
        self._ended: Verdict | None = None  # what ended the task while it was about to wait
        guard.clock = _SettlingClock(guard.clock, self._before_wait)
        self.writers = {name: RecordWriter(producer, guard, end.produce_index) for name, end in topology.ends.items()}

    @property
    def committed(self) -> Mapping[TopicPartition, int]:
        return self.progress.committed

    def step(self, timeout_s: float) -> End | None:
        """Poll and process one chunk, and what is due; commit when it is time. None: it may go on.

        Raises RetriableError where a handler wants the task to begin again at its last commit.
        """
        left_ms = self.schedules.soonest[PunctuationType.WALL_CLOCK_TIME] - self.clock.now_ms()
        raws = self.consumer.poll(CHUNK_RECORDS, max(0.0, min(timeout_s, left_ms / 1000)))
        end = self.process(raws)
        if end is None:
            return self.save() if self.progress.is_due else None
        interrupted = self.save()
        if isinstance(end, RetriableError):
            raise end
        return interrupted or end

    def process(self, raws: Sequence[RawRecord]) -> Verdict | None:
        """Take a chunk as far as it goes, each record into exactly one bucket."""
        self._raws, self._passage, self._done, self._ended = raws, Passage(self.topology, self.guard), 0, None
        self._running = True
        interrupted = self._run(raws, self._passage)
        self._running, self._current = False, None
        end = self._ended or self._finish(self._passage.units) or interrupted
        self.progress.hold(raws[self._done :])
        if self._done < len(raws) and end is None:
            return Interrupted(self.clock.now_ms())  # whatever kept a record from being settled, it is not passed by
        return end

    def save(self) -> Interrupted | None:
        """Commit, if anything changed since the last time: a standing lease is followed by what it commits."""
        interrupted = self.progress.save()
        self.progressed = self.progress.progressed
        return interrupted

    def is_idle(self) -> bool:
        """Never: its memory would end with its lease."""
        return False

    def wake_at(self) -> None:
        """It never sleeps."""

    def known_ends(self) -> dict[TopicPartition, int]:
        """The end of each partition as last seen."""
        return dict(self.consumer.ends())

    def figures(self) -> TaskFigures:
        return self.progress.figures()

    def _finish(self, units: list[Unit]) -> Verdict | None:
        """Write and settle what is processed."""
        interrupted = self._write(units)
        verdict, done = self._settle(units)
        self._done += done
        return verdict or interrupted

    def _before_wait(self, ms: int) -> bool:
        """Commit what is done before a long wait for another attempt; True where that ends the task."""
        if not self._running or ms < LONG_WAIT_MS:
            return False
        units, current = self._passage.units, self._current
        done = [unit for unit in units if unit is not current]
        units[:] = [] if current is None else [current]
        self._running = False
        self._ended = self._finish(done)
        self.progress.hold(self._raws[self._done :])
        self._ended = self._ended or self.save()
        self._running = True
        return self._ended is not None

    def _run(self, raws: Sequence[RawRecord], passage: Passage) -> Interrupted | None:
        """Convert the records and pass them through the topology, punctuations at their time between them."""
        interrupted = self._punctuate(PunctuationType.WALL_CLOCK_TIME, self.clock.now_ms(), passage)
        if interrupted is not None or _stopped(passage):
            return interrupted
        entries: list[Any] = []
        self._current = None
        later = convert(self.guard, self.steps, raws, entries) if raws else None
        for raw, entry in zip(raws, entries, strict=False):
            interrupted = self._take(passage, raw, entry)
            if interrupted is not None or _stopped(passage):
                return interrupted
        return later

    def _take(self, passage: Passage, raw: RawRecord, entry: Any) -> Interrupted | None:
        unit = self._current = passage.enter(raw)
        if type(entry) is Errored:
            passage.add_error(unit, entry)
            return None
        if entry is FILTERED:
            unit.filtered = True
            return None
        self._advance(entry)
        self.moment.origin = raw
        interrupted = passage.feed(unit, entry)
        self.moment.origin = None
        if interrupted is not None:
            passage.units.pop()
            return interrupted
        if unit.stops:
            return None
        return self._punctuate(PunctuationType.STREAM_TIME, self.moment.stream_time, passage)

    def _advance(self, record: Record) -> None:
        if record.timestamp is not None and record.timestamp > self.moment.stream_time:
            self.moment.stream_time = record.timestamp

    def _punctuate(self, kind: PunctuationType, now_ms: int, passage: Passage) -> Interrupted | None:
        """Call what is due. Each call is a unit: the records before it are settled before it."""
        for schedule in self.schedules.due(kind, now_ms):
            unit = self._current = passage.enter(Punctuation(self.moment.stream_time))
            index, context = self.contexts[schedule.node]
            step = (index, lambda time, call=schedule.callback, own=context: own.run(call, time))
            came = attempt(self.guard, (step,), now_ms, unit.origin)
            if isinstance(came, Errored):
                passage.add_error(unit, came)
            elif not isinstance(came, Interrupted):
                came = passage.follow(unit, came)
            if isinstance(came, Interrupted):
                passage.units.pop()
                return came
            if unit.stops:
                return None
        return None

    def _write(self, units: list[Unit]) -> Interrupted | None:
        """Write what reached each end; an interrupted one leaves out its unit and all behind it."""
        interrupted = None
        for name, writer in self.writers.items():
            rows: list[tuple[int, Outgoing]] = []
            for place, unit in enumerate(units):
                if unit.stops:
                    break
                rows += [(place, one) for end, one in unit.outputs if end == name]
            places = [place for place, _ in rows]
            guilty = None
            for place, answer in zip(places, writer.write([one for _, one in rows]) if rows else (), strict=True):
                if isinstance(answer, Errored):
                    guilty = units[place]
                    guilty.errors.append(answer)
                    guilty.stops = guilty.stops or self.guard.would_fail(self.state.tolerance, answer)[0]
                elif answer is HELD and guilty is not None:
                    guilty.stops = True
                    break
                elif isinstance(answer, Interrupted):
                    interrupted = answer
                    del units[place:]
                    break
        return interrupted

    def _settle(self, units: Sequence[Unit]) -> tuple[Verdict | None, int]:
        """Count each record in its bucket, and decide about errors, in order; how many records are done."""
        metrics, done = self.state.metrics, 0
        for unit in units:
            outcome = Outcome.FILTERED if unit.filtered else Outcome.DELIVERED
            for number, errored in enumerate(unit.errors):
                try:
                    decided = self.guard.decide(errored)
                except RetriableError as error:
                    return error, done
                if isinstance(decided, Failed):
                    self.guard.remember(unit.errors[:number])
                    return decided, done
                outcome = Outcome.DEAD_LETTERED if decided.dead_lettered else Outcome.SKIPPED
            if unit.stops:
                break
            if isinstance(unit.origin, RawRecord):
                metrics[Metric.RECORDS_CONSUMED] += 1
                metrics[BUCKETS[outcome]] += 1
                done += 1
                if unit.origin.headers:
                    self.replayed.report(unit.origin, outcome)
        return None, done


class _SettlingClock:
    """The guard's clock, with something to do before it waits."""

    def __init__(self, clock: Clock, before_wait: Callable[[int], bool]) -> None:
        self._clock = clock
        self._before_wait = before_wait

    def now_ms(self) -> int:
        return self._clock.now_ms()

    def wait(self, ms: int) -> bool:
        return self._before_wait(ms) or self._clock.wait(ms)


def _stopped(passage: Passage) -> bool:
    return bool(passage.units) and passage.units[-1].stops
