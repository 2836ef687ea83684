"""A sink task: poll, convert, put, settle in record order, commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine.errors import RetriableError
from engine.pipeline.chunk_results import convert, settle
from engine.pipeline.commit import Commit
from engine.pipeline.guard import BATCHED, Guard, Step
from engine.pipeline.key_lanes import KeyLanes
from engine.pipeline.outcome import (
    Failed,
    Filtered,
    Interrupted,
    Skipped,
    StepVerdict,
    TaskEnding,
)
from engine.pipeline.poll_stage import PollStage
from engine.pipeline.progress import TaskProgress
from engine.pipeline.put_stage import PutStage
from engine.pipeline.task_state import TaskFigures, TaskState
from engine.ports import Clock, Consumer, Sink
from engine.record.record import RawRecord, Record, TopicPartition
from engine.reporting.replay_outcomes import Outcome, ReplayReporter

CHUNK_RECORDS = 1000  # larger chunks fall out of the processor's cache
CAREFUL_RECORDS = 50  # small steps: each rejected record costs a transaction, and no chunk is cut off midway
COMMIT_INTERVAL_MS = 500
SLOW_MS = 10_000  # a slower chunk is put and committed in part, because an open transaction gets old


class SinkTask:
    """One sink task during one lease. It processes no record before all earlier ones are processed.

    `commits_in_background` means that nothing that a commit calls, above all the sink's flush, is bound to a thread.
    `lanes` put records at the same time.
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
        lanes: KeyLanes | None = None,
    ) -> None:
        self.steps = tuple(steps)
        self.guard = guard
        self.consumer = consumer
        self.replayed = replayed
        self.state = state
        self.clock = clock
        self.chunk_records = chunk_records
        self.commits_in_background = commits_in_background
        self.progress = TaskProgress(consumer, commit, state, committed, clock, commit_interval_ms)
        put_index = max(index for index, stage in enumerate(guard.stages) if stage.type in BATCHED)
        self.put_stage = PutStage(guard, sink, put_index, clock, lanes)
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
        end = self.put_stage.put(raws, entries, late_ms) or end
        failed, done = settle(self.guard, entries)
        self.put_stage.pass_by(done)
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
