"""One micro-batch of a guarded query: count, decide, write the good rows, then the dead letters.

The order matters. Limits are decided before anything is written. The letters come last, because they settle the batch:
a crash before them repeats the whole batch, and a crash after them finds their commit.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
from pyspark.sql import Column, DataFrame
from pyspark.sql import Row as SparkRow
from pyspark.sql import functions as F  # noqa: N812, the name that everybody uses

from engine.dataframes import envelope
from engine.dataframes.envelope import BROKEN, COLUMNS, FIGURES, LETTER, ORIGIN, OUTCOME
from engine.dataframes.expectations import broken_code, broken_error, row_origin
from engine.dataframes.figures import FirstError, PartitionFigures, total_digest
from engine.dataframes.letter_topic import LetterTopic, QueryMemory
from engine.dataframes.options import QueueOptions
from engine.dataframes.stage import GuardSettings, OpenGuard, is_expectation
from engine.errors import LimitExceeded, RetriableError
from engine.exactly_once.buffered import CollectingProducer
from engine.kafka.clock import WorkerClock
from engine.pipeline.task_state import TaskState, restore
from engine.ports import Row
from engine.record.record import RawRecord
from engine.record.replay import ITEM
from engine.reporting.metrics import BUCKETS, Metric
from engine.reporting.replay_outcomes import Outcome, ReplayReporter
from engine.tasks.clients import JITTER

Write = Callable[[DataFrame, int], object]
ROWS_OF_A_TASK = 5_000  # the driver takes the rows of one Spark task at a time
REMIND_S = 60  # without errors the memory is stored this often, so that its counters are not far behind
log = logging.getLogger(__name__)


@dataclass(slots=True)
class BatchFigures:
    """The figures of one micro-batch. `broken` counts the rows that break an expectation, by stage index."""

    stages: list[PartitionFigures]
    good: int
    replayed: int
    broken: dict[int, int]
    puts: list[PartitionFigures] = field(default_factory=list)
    rejected: list[SparkRow] = field(default_factory=list)  # rows that the write itself rejected


class MicroBatches:
    """The micro-batches of one query, one after another, with the query's memory."""

    def __init__(
        self,
        options: QueueOptions,
        settings: GuardSettings,
        topic: LetterTopic | None,
        write: Write,
        *,
        has_record: bool,
    ) -> None:
        self.options = options
        self.settings = settings
        self.state = TaskState(0, 0, 0, settings.stages)
        self.current: CurrentBatch | None = None
        self.last_batch: int | None = None
        self.topics: set[str] = set()  # that the records came from
        self.failure: BaseException | None = None
        self._topic = topic
        self._write = write
        self.has_record = has_record
        self._has_begun = False
        self._beginning = threading.Lock()  # a stream's first micro-batch may begin while the query is being started
        self._memory = QueryMemory()
        self._stored_at = time.monotonic()

    @property
    def figures(self) -> dict[str, int]:
        """Return the counters of the query by their names (KIP-298, "Metrics")."""
        return {str(name): value for name, value in self.state.metrics.items()}

    def begin(self, query: str) -> None:
        """Read the memory of the query with this id, once."""
        with self._beginning:
            if self._has_begun:
                return
            if self._topic is not None:
                self._memory = self._topic.read_memory(query)
            if text := self._memory.state:
                self.state = restore([text], task=0, generation=0, restarts=0, stages=self.settings.stages)
            self._has_begun = True

    def end(self) -> None:
        """Store the counters of the last micro-batches without errors."""
        state = self.state.to_metadata()
        if self._topic is not None and self._has_begun and self.failure is None and state != self._memory.state:
            self._store(lambda: (), self._memory._replace(state=state), self.state)

    def process(self, batch: DataFrame, number: int, query: str) -> None:
        """Process one micro-batch of rows in an envelope.

        `query` is Spark's id of the query, which its checkpoint keeps. Raises LimitExceeded before anything is written.
        """
        try:
            self.begin(query)
            self._process(batch, number)
        except BaseException as error:
            self.failure = error
            raise

    def _process(self, batch: DataFrame, number: int) -> None:
        cached = batch.persist()
        try:
            executors = self._executors(batch)
            figures = self._count(cached)
            raise_failed(figures.stages)
            is_repeated = number < self._memory.next_batch
            state = self.state if is_repeated else self._decide(figures)
            self.current = CurrentBatch(cached, envelope.good_rows(cached))
            self._write(self.current.good, number)
            figures.puts, figures.rejected = self.current.puts, self.current.rejected
            raise_failed(figures.puts)
            if figures.puts and not is_repeated:
                self._decide_puts(state, figures.puts)
            if self._executors(batch) != executors:
                self._check_unchanged(figures, self._count(cached))
            self._settle(cached, figures, number, state, is_repeated=is_repeated)
        finally:
            self.current = None
            cached.unpersist()
        self.last_batch = number

    def _executors(self, batch: DataFrame) -> str:
        """Return the executors that hold cached rows. A lost one makes Spark compute its rows again."""
        return str(batch.sparkSession.sparkContext._jsc.sc().getExecutorMemoryStatus().keySet())  # noqa: SLF001, PySpark has no other name for it

    def _check_unchanged(self, before: BatchFigures, after: BatchFigures) -> None:
        """Raise RetriableError if rows that were computed again have other results: some may be in neither place."""
        if (before.good, before.broken, total_digest(before.stages)) != (
            after.good,
            after.broken,
            total_digest(after.stages),
        ):
            raise RetriableError(
                f"an executor of {self.settings.name} was lost, and the functions gave other results when its records "
                "were computed again; start the query again to repeat the micro-batch"
            )

    def _count(self, batch: DataFrame) -> BatchFigures:
        """Run the stages, and return their figures."""
        broken = [index for index, stage in enumerate(self.settings.stages) if is_expectation(stage)]
        [row] = batch.agg(
            F.collect_list(FIGURES),
            F.count_if(envelope.is_live()),
            F.count_if(self._is_replayed()),
            F.collect_set(f"{ORIGIN}.topic"),
            *(F.count_if(F.col(f"{BROKEN}.index") == index) for index in broken),
        ).collect()
        stages = [msgspec.json.decode(text, type=PartitionFigures) for text in row[0]]
        self.topics = self.topics | set(row[3])  # a new set: the reporter's thread reads it
        return BatchFigures(stages, row[1], row[2], dict(zip(broken, row[4:], strict=True)))

    def _decide(self, figures: BatchFigures) -> TaskState:
        """Return the state after the batch. Raises LimitExceeded with the first error's context."""
        state = self.state.copy()
        _add(state, figures.stages)
        now = WorkerClock().now_ms()
        self._count_broken(state, figures.broken, now)
        state.metrics[Metric.RECORDS_DELIVERED] += figures.good
        state.metrics[Metric.RECORDS_CONSUMED] = sum(state.metrics[bucket] for bucket in BUCKETS)
        broken = sum(figures.broken.values())
        self._check_limits(state, figures.stages, [(now, broken)] if broken else [], figures.broken)
        return state

    def _decide_puts(self, state: TaskState, puts: list[PartitionFigures]) -> None:
        """Count the rows that the write rejected. Raises LimitExceeded."""
        _add(state, puts)
        rejected = sum(sum(one.metrics.get(bucket, 0) for bucket in BUCKETS[1:]) for one in puts)
        state.metrics[Metric.RECORDS_DELIVERED] -= rejected
        self._check_limits(state, puts, [], {})

    def _count_broken(self, state: TaskState, broken: Mapping[int, int], now: int) -> None:
        count = sum(broken.values())
        bucket = Metric.RECORDS_SKIPPED if self._topic is None else Metric.RECORDS_DEAD_LETTERED
        for metric in (
            Metric.TOTAL_RECORD_FAILURES, Metric.TOTAL_RECORD_ERRORS, Metric.TOTAL_RECORDS_SKIPPED, bucket,
        ):  # fmt: skip
            state.metrics[metric] += count
        if self._topic is not None:
            state.metrics[Metric.TOTAL_FAILURES_LOGGED] += count
            state.metrics[Metric.DEADLETTERQUEUE_RECORDS_PRODUCED] += count
        if count:
            state.metrics[Metric.LAST_FAILURE_TIMESTAMP] = now
        for index, failures in broken.items():
            state.stage_failures[index] += failures

    def _check_limits(
        self,
        state: TaskState,
        stages: Sequence[PartitionFigures],
        more: list[tuple[int, int]],
        broken: Mapping[int, int],
    ) -> None:
        times = [(moment, count) for one in stages for moment, count in one.times.items()]
        for moment, count in sorted([*times, *more]):
            for _ in range(count):
                exceeded, state.tolerance = self.options.tolerance.after(state.tolerance, moment)
                if exceeded:
                    raise self._limit_exceeded(stages, broken)

    def _limit_exceeded(self, stages: Sequence[PartitionFigures], broken: Mapping[int, int]) -> LimitExceeded:
        first: FirstError | None = min((one.first for one in stages if one.first), default=None)
        if first is not None:
            return LimitExceeded(first.sentence, first.context)
        index = min(index for index, count in broken.items() if count)
        stage = self.settings.stages[index]
        rows = "row breaks" if broken[index] == 1 else "rows break"
        return LimitExceeded(
            f"Tolerance exceeded: {broken[index]} {rows} the expectation '{stage.name}': {stage.config['expression']}"
        )

    def _settle(
        self, batch: DataFrame, figures: BatchFigures, number: int, state: TaskState, *, is_repeated: bool
    ) -> None:
        """Write letters and outcomes, with the memory, in one transaction."""
        if self._topic is None:
            self.state = state
            return
        digest = total_digest([*figures.stages, *figures.puts])
        count = sum(figures.broken.values())
        if count:
            broken = batch.where(F.col(BROKEN).isNotNull()).select(*COLUMNS).toLocalIterator()
            digest += sum(broken_code(row, self.settings.name) for row in broken)
        if is_repeated and digest == self._memory.digest:
            return
        if is_repeated:
            log.warning(
                "micro-batch %d of %s was repeated with other errors; its letters are written again, and some may be "
                "doubled: the function does not give the same result each time",
                number,
                self.settings.name,
            )
        errors = count + sum(one.metrics.get(Metric.RECORDS_DEAD_LETTERED, 0) for one in figures.stages)
        told = errors + figures.replayed + len(figures.rejected)
        if not told and time.monotonic() - self._stored_at < REMIND_S:
            self.state = state
            return
        has_told = F.col(LETTER).isNotNull() | F.col(BROKEN).isNotNull() | self._is_replayed()
        in_driver = batch.where(has_told).coalesce(max(1, told // ROWS_OF_A_TASK))

        def rows() -> Iterator[Row]:
            written = 0
            for row in self._rows(in_driver.toLocalIterator(), figures.rejected) if told else ():
                written += row[0] == self._topic_name
                yield row
            if written != letters:  # before the commit
                raise RetriableError(f"{letters} dead letters were counted, and now there are {written}")

        letters = errors + len(figures.rejected)
        self._store(rows, QueryMemory(max(number + 1, self._memory.next_batch), digest, state.to_metadata()), state)

    @property
    def _topic_name(self) -> str:
        return self.options.errors.dlq_topic

    def _store(self, rows: Callable[[], Iterable[Row]], memory: QueryMemory, state: TaskState) -> None:
        assert self._topic is not None
        self._topic.write(rows, memory)
        self.state, self._memory, self._stored_at = state, memory, time.monotonic()

    def _is_replayed(self) -> Column:
        """Return the condition of records that a replay has written."""
        if not self.has_record:
            return F.lit(False)
        return F.coalesce(F.exists(f"{ORIGIN}.headers", lambda one: one["name"] == ITEM), F.lit(False))

    def _rows(self, rows: Iterable[SparkRow], rejected: Sequence[SparkRow]) -> Iterator[Row]:
        """Return the letters of these rows, and the reports of their outcomes."""
        assert self._topic is not None
        opened = self.settings.open(limit=-1)  # the limits have decided
        ended = {_coordinates(row): row for row in rejected}
        for row in rejected:
            yield from self._letters_of(opened, row)
        reports = CollectingProducer()
        outcomes = ReplayReporter(
            open_producer=lambda: reports,
            topic=self.options.worker.outcome_topic,
            connector=self.settings.name,
            task=0,
            clock=opened.guard.clock,
            jitter=JITTER,
        )
        for row in rows:
            yield from self._letters_of(opened, row)
            origin = row_origin(row, self.settings.name)
            if isinstance(origin, RawRecord) and origin.headers:
                outcomes.report(origin, _outcome(ended.get(_coordinates(row), row)))
        outcomes.flush()
        if told := reports.take():
            self._topic.create_outcome_topic()
            yield from told

    def _letters_of(self, opened: OpenGuard, row: SparkRow) -> Iterator[Row]:
        if row[BROKEN] is not None:
            opened.guard.decide(broken_error(opened, row))
            yield from opened.take_letters()
        elif row[LETTER] is not None:
            letter = row[LETTER]
            headers = tuple((one.name, None if one.value is None else bytes(one.value)) for one in letter.headers or ())
            key = None if letter.key is None else bytes(letter.key)
            yield self._topic_name, key, bytes(letter.value), headers, letter.time, None


@dataclass(slots=True)
class CurrentBatch:
    """The micro-batch that the user's function writes now, for `DeadLetterQueue.write`."""

    rows: DataFrame
    good: DataFrame
    rejected: list[SparkRow] = field(default_factory=list)
    puts: list[PartitionFigures] = field(default_factory=list)


def _outcome(row: SparkRow) -> Outcome:
    if row[BROKEN] is not None:
        return Outcome.DEAD_LETTERED
    return Outcome(row[OUTCOME]) if row[OUTCOME] is not None else Outcome.DELIVERED


def _add(state: TaskState, stages: Sequence[PartitionFigures]) -> None:
    """Add the counters of stages."""
    for one in stages:
        for name, value in one.metrics.items():
            metric = Metric(name)
            if metric is Metric.LAST_FAILURE_TIMESTAMP:
                state.metrics[metric] = max(state.metrics[metric], value)
            elif metric not in {Metric.RECORDS_CONSUMED, Metric.RECORDS_DELIVERED}:  # of a stage, not of the query
                state.metrics[metric] += value
        for index, (failures, dropped) in enumerate(zip(one.failures, one.dropped, strict=True)):
            state.stage_failures[index] += failures
            state.stage_dropped[index] += dropped


def raise_failed(stages: Sequence[PartitionFigures]) -> None:
    """Raise LimitExceeded if a stage ended with an error that nothing tolerates. Its rows are not complete."""
    failed = min((one for one in stages if one.failed is not None), key=lambda one: one.index, default=None)
    if failed is not None:
        raise LimitExceeded(failed.failed or "", failed.first.context if failed.first else "")


def _coordinates(row: SparkRow) -> tuple[object, ...]:
    origin = row[ORIGIN]
    return (origin.topic, origin.partition, origin.offset)
