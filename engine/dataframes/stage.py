"""A guarded stage in a Spark worker: batches of records in, results and dead letters out."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import pyarrow as pa

from engine.config.connector import ConnectorConfig
from engine.dataframes.envelope import (
    ARROW_BROKEN,
    ARROW_HEADERS,
    ARROW_LETTER,
    ARROW_ORIGIN,
    BROKEN,
    COLUMNS,
    FIGURES,
    GOOD,
    LETTER,
    ORIGIN,
    OUTCOME,
    header_rows,
    read_origins,
    read_rows,
)
from engine.dataframes.figures import PartitionFigures
from engine.dataframes.functions import FunctionKind, ResultColumns
from engine.errors import RetriableError
from engine.exactly_once.buffered import BufferedRecord, CollectingProducer
from engine.kafka.clock import WorkerClock
from engine.pipeline.chain import Steps
from engine.pipeline.chunk_results import convert, settle
from engine.pipeline.guard import Guard, Reporter
from engine.pipeline.outcome import FILTERED, FailedAttempts, Interrupted, PendingError, Skipped, StageFailure
from engine.pipeline.task_state import OperationId, TaskState
from engine.policy.retry import RetryPolicy
from engine.policy.tolerance import TolerancePolicy
from engine.record.error_context_json import ErrorContextEncoder
from engine.record.record import RawRecord, Record
from engine.record.replay import OF_REPLAYS
from engine.record.stage import Stage
from engine.reporting.deadletter import DeadLetterReporter
from engine.reporting.log import LogReporter
from engine.reporting.replay_outcomes import Outcome
from engine.steps.handlers import stage_handlers
from engine.tasks.clients import JITTER
from engine.tasks.sink import build_transforms
from engine.worker_messages import ConnectorKind

EXPECTATION = "engine.dataframes.DeadLetterQueue.expect"  # the class of its stage
FOR_EVER_MS = 2**62
CHUNK_RECORDS = 1_000  # Arrow batches may have any size; larger chunks fall out of the processor's cache


@dataclass(frozen=True)
class GuardSettings:
    """The settings of a guard, in a worker and in the driver: names, stages, policy and the size of letters."""

    name: str
    config: ConnectorConfig
    stages: tuple[Stage, ...]
    letter_bytes: int

    def open(self, limit: int | None = None) -> OpenGuard:
        """Build the guard in this process. `limit` replaces the tolerance limit in all."""
        return OpenGuard(self, self.config.errors.tolerance_limit if limit is None else limit)


class OpenGuard:
    """A guard with its state, its reporter of dead letters, and the letters that it has made."""

    def __init__(self, settings: GuardSettings, limit: int) -> None:
        config, errors = settings.config, settings.config.errors
        self.state = TaskState(0, 0, 0, settings.stages)
        self.letters = CollectingProducer()
        self.encoder = ErrorContextEncoder(include_messages=errors.dlq_include_messages)
        clock = WorkerClock()
        retry = RetryPolicy(errors.retry_limit, errors.retry_delay_max_ms, errors.retry_timeout_ms)
        self._reporter = (
            DeadLetterReporter(
                producer=self.letters,
                topic=errors.dlq_topic,
                include_configs=errors.dlq_include_configs,
                include_messages=errors.dlq_include_messages,
                context_headers=errors.dlq_context_headers,
                max_bytes=settings.letter_bytes,
                metrics=self.state.metrics,
                retry=retry,
                clock=clock,
                jitter=JITTER,
                patience_ms=lambda _now: FOR_EVER_MS,
            )
            if errors.dlq_enable
            else None
        )
        log: list[Reporter] = []
        if errors.log_enable:
            log.append(
                LogReporter(include_configs=errors.log_include_configs, include_messages=errors.log_include_messages)
            )
        self.guard = Guard(
            connector=settings.name,
            stages=settings.stages,
            state=self.state,
            retry=retry,
            # One task alone can already exceed the query's limit. The driver counts all of them.
            tolerance=TolerancePolicy(limit, -1),
            retry_on=errors.retry_on,
            reporters=log,
            dead_letters=self._reporter,
            clock=clock,
            jitter=JITTER,
            patience_ms=lambda _now: FOR_EVER_MS,
            handlers={
                index: handler
                for index, handler in stage_handlers(config, ConnectorKind.SINK, settings.stages).items()
                if not is_expectation(settings.stages[index])
            },
            content_policy=errors.content_policy,
        )

    def take_letters(self) -> list[BufferedRecord]:
        """Return the letters of the errors that were decided since the last call, in their order."""
        if self._reporter is not None:
            self._reporter.flush()
        return self.letters.take()


@dataclass(frozen=True)
class GuardedStage:
    """A stage as `mapInArrow` calls it. It is pickled with the user's function.

    `index` is the index of its first stage in error contexts. A function of the `first` stage takes records, if there
    are any; others take the former stage's results. `keeps` says that later stages need keys and values of records
    that pass.
    """

    settings: GuardSettings
    index: int
    function: Callable[[Any], Any] | ConnectorConfig
    kind: FunctionKind
    columns: ResultColumns
    first: bool
    has_record: bool
    keeps: bool

    @property
    def takes_records(self) -> bool:
        """Return whether its input is the columns of records, and no envelopes."""
        return self.first and self.has_record

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        opened = self.settings.open()
        figures = PartitionFigures(self.index)
        run = _StageRun(self, opened, figures)
        for batch in batches:
            for begin in range(0, batch.num_rows, CHUNK_RECORDS):
                if figures.failed is None:
                    yield run.process(batch.slice(begin, CHUNK_RECORDS))
        figures.take_state(opened.state)
        yield run.figures_row()


class _StageRun:
    """The work of a stage on one Spark partition."""

    def __init__(self, stage: GuardedStage, opened: OpenGuard, figures: PartitionFigures) -> None:
        self._stage = stage
        self._opened = opened
        self._guard = opened.guard
        self._figures = figures
        self._columns = stage.columns
        self._steps = _steps(stage)
        self._takes_records = stage.takes_records

    def process(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the batch's rows after this stage."""
        if self._takes_records:
            return self._process_live(batch)
        live = _live_rows(batch)
        if len(live) == batch.num_rows:
            return self._process_live(batch)
        chosen = self._process_live(batch.take(pa.array(live, pa.int64())))
        places = {row: place for place, row in enumerate(live)}
        ended = [row for row in range(batch.num_rows) if row not in places]
        kept = batch.take(pa.array(ended, pa.int64()))
        nothing = pa.nulls(len(ended), self._columns.type)
        passed = pa.RecordBatch.from_arrays(
            [nothing if name == GOOD else kept.column(name) for name in COLUMNS], names=list(COLUMNS)
        )
        merged = pa.Table.from_batches([chosen, passed.cast(chosen.schema)]).combine_chunks()
        return merged.to_batches()[0] if merged.num_rows else chosen

    def figures_row(self) -> pa.RecordBatch:
        """Return the row with the figures of this partition."""
        return self._batch(
            [None], pa.nulls(1, self._columns.type), [None], [None], [msgspec.json.encode(self._figures).decode()]
        )

    def _process_live(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        origins = self._origins_of(batch)
        if self._stage.kind is FunctionKind.RECORD:
            given = self._given(batch, origins)
            entries: list[Any] = []
            convert(self._guard, self._steps, given, entries)
            good = self._fit(given, entries, origins)
        else:
            entries, good = self._convert_batch(batch, origins)
        return self._settle(entries, origins, good)

    def _origins_of(self, batch: pa.RecordBatch) -> list[RawRecord | Record]:
        if self._takes_records:
            return read_origins(batch.columns)
        if not self._stage.has_record:
            return read_rows(batch.column(GOOD).to_pylist(), self._stage.settings.name)
        return read_origins(batch.column(ORIGIN).flatten())

    def _given(self, batch: pa.RecordBatch, origins: Sequence[RawRecord | Record]) -> Sequence[RawRecord | Record]:
        """Return the records as the function's step takes them: consumed ones, or those with the former result."""
        if self._takes_records or not self._stage.has_record:
            return origins
        return [converted(origin, row) for origin, row in zip(origins, batch.column(GOOD).to_pylist(), strict=True)]

    def _fit(
        self, given: Sequence[RawRecord | Record], entries: list[Any], origins: Sequence[RawRecord | Record]
    ) -> pa.StructArray:
        """Return the results as a column. A result that does not fit the schema becomes an error of its record."""
        for place, entry in enumerate(entries):
            if type(entry) is Record and entry.value is None:  # a tombstone has no row
                entries[place] = FILTERED
        rows = [None if entry is FILTERED or type(entry) is PendingError else _value(entry) for entry in entries]
        try:
            return self._columns.build(rows)
        except Exception:  # noqa: BLE001, a result is any object, and may raise anything
            last = self._steps[-1][0]
            for place, row in enumerate(rows):
                if row is None:
                    continue
                try:
                    rows[place] = self._columns.fit(row)
                except Exception as error:  # noqa: BLE001, as above
                    guilty = StageFailure(last, given[place], error)
                    entries[place] = self._guard.reject_record(guilty, origins[place])
                    rows[place] = None
            return self._columns.build(rows)

    def _convert_batch(
        self, batch: pa.RecordBatch, origins: Sequence[RawRecord | Record]
    ) -> tuple[list[Any], pa.StructArray]:
        """Call the function on ever smaller parts, until each record has a result or is to blame."""
        whole = batch if self._takes_records else pa.RecordBatch.from_struct_array(batch.column(GOOD))
        entries: list[Any] = [None] * len(origins)
        parts: dict[int, pa.StructArray] = {}
        todo = [(0, len(origins))]
        while todo:
            begin, end = todo.pop()
            part, failure, trouble = self._call_batch(whole.slice(begin, end - begin), origins[begin])
            if failure is None:
                parts[begin] = part
            elif end - begin == 1 or isinstance(failure.error, RetriableError):
                for place in range(begin, end):
                    guilty = StageFailure(self._stage.index, origins[place], failure.error)
                    entries[place] = blame(self._guard, guilty, origins[place], trouble)
                parts[begin] = pa.nulls(end - begin, self._columns.type)
            else:
                middle = (begin + end) // 2
                # A stack: the first half comes off first, so that records are given in their order.
                todo += [(middle, end), (begin, middle)]
        arrays = [parts[begin] for begin in sorted(parts)]
        return entries, pa.concat_arrays(arrays) if arrays else pa.nulls(0, self._columns.type)

    def _call_batch(
        self, part: pa.RecordBatch, first: RawRecord | Record
    ) -> tuple[pa.StructArray, StageFailure | None, FailedAttempts]:
        """Call the function once, and again as long as its error is retriable and the policy allows.

        Return the result, or the failure with the attempts of a retriable one.
        """
        trouble = FailedAttempts()
        while True:
            out: list[pa.StructArray] = []
            failure = self._guard.run(self._steps, (part,), out)
            if failure is None:
                return out[0], None, trouble
            if not isinstance(failure.error, RetriableError):
                return None, failure, FailedAttempts()
            verdict = self._guard.handle_failure(StageFailure(failure.index, None, failure.error), first, trouble)
            if not isinstance(verdict, FailedAttempts):
                return None, failure, attempts_of(verdict)
            trouble = verdict

    def _settle(
        self, entries: list[Any], origins: Sequence[RawRecord | Record], good: pa.StructArray
    ) -> pa.RecordBatch:
        """Decide about the errors in record order, and return the rows."""
        if not any(type(entry) is PendingError for entry in entries):
            settle(self._guard, entries)
            return self._rows(entries, origins, good)
        for entry, origin in zip(entries, origins, strict=False):
            if type(entry) is PendingError:
                self._figures.note(entry, self._opened.encoder, error_code(origin, entry.context.index))
        failed, done = settle(self._guard, entries)
        if failed is not None:
            self._figures.failed = failed.message if not isinstance(failed, RetriableError) else str(failed)
        # Nothing of a batch that fails is written.
        return self._rows(entries[:done], origins[:done], good.slice(0, done))

    def _rows(
        self, entries: Sequence[Any], origins: Sequence[RawRecord | Record], good: pa.StructArray
    ) -> pa.RecordBatch:
        letters: list[Any] = [None] * len(entries)
        outcomes: list[str | None] = [None] * len(entries)
        made = iter(self._opened.take_letters())
        for place, entry in enumerate(entries):
            if type(entry) is Skipped:
                outcomes[place] = Outcome.DEAD_LETTERED if entry.dead_lettered else Outcome.SKIPPED
                letters[place] = letter_row(next(made)) if entry.dead_lettered else None
            elif entry is FILTERED:
                outcomes[place] = Outcome.FILTERED
        return self._batch(origins, good, letters, outcomes, None)

    def _batch(
        self,
        origins: Sequence[RawRecord | Record | None],
        good: pa.StructArray,
        letters: Sequence[Any],
        outcomes: Sequence[str | None],
        figures: Sequence[str] | None,
    ) -> pa.RecordBatch:
        count = len(letters)
        arrays = {
            ORIGIN: self._origins(origins),
            GOOD: good,
            LETTER: pa.array(letters, ARROW_LETTER),
            OUTCOME: pa.array(outcomes, pa.string()),
            BROKEN: pa.nulls(count, ARROW_BROKEN),
            FIGURES: pa.nulls(count, pa.string()) if figures is None else pa.array(figures, pa.string()),
        }
        return pa.RecordBatch.from_arrays([arrays[name] for name in COLUMNS], names=list(COLUMNS))

    def _origins(self, origins: Sequence[Any]) -> pa.StructArray:
        """Return the column of origins. Bytes that no later step needs are left out."""
        raws = [origin for origin in origins if type(origin) is RawRecord]
        if len(raws) != len(origins):  # rows without records, and the row of figures
            return pa.nulls(len(origins), ARROW_ORIGIN)
        count, keeps = len(raws), self._stage.keeps
        if keeps or any(raw.headers for raw in raws):
            headers = pa.array([_kept_headers(raw, keeps=keeps) for raw in raws], ARROW_HEADERS)
        else:
            headers = pa.nulls(count, ARROW_HEADERS)
        arrays = [
            pa.array([raw.topic for raw in raws], pa.string()),
            pa.array([raw.partition for raw in raws], pa.int32()),
            pa.array([raw.offset for raw in raws], pa.int64()),
            pa.array([raw.timestamp for raw in raws], pa.int64()),
            pa.array([raw.key for raw in raws], pa.binary()) if keeps else pa.nulls(count, pa.binary()),
            pa.array([raw.value for raw in raws], pa.binary()) if keeps else pa.nulls(count, pa.binary()),
            headers,
        ]
        return pa.StructArray.from_arrays(arrays, fields=list(ARROW_ORIGIN))


def blame(guard: Guard, guilty: StageFailure, origin: RawRecord | Record, trouble: FailedAttempts) -> PendingError:
    """Return the error of a record of a failed batch. `trouble` counts the attempts of a batch that was retried."""
    if trouble.failures:
        return guard.build_error(guilty, origin, trouble, tolerable=True)
    return guard.reject_record(guilty, origin)


def attempts_of(verdict: PendingError | Interrupted) -> FailedAttempts:
    """Return the attempts of an operation whose retries are used up."""
    if isinstance(verdict, Interrupted):
        return FailedAttempts()
    return FailedAttempts(verdict.context.attempt + 1, verdict.context.first_failure_time)


def is_expectation(stage: Stage) -> bool:
    """Return whether the stage is an expectation. The driver decides about its errors, without a handler."""
    return stage.class_name == EXPECTATION


def error_code(origin: RawRecord | Record, index: int) -> int:
    """Return the number that stands for an error in a digest: of its record's coordinates, or else of its value."""
    place: object = OperationId.of(origin, index)
    if isinstance(origin, RawRecord) and not origin.topic:
        place = origin.key, origin.value, index
    return zlib.crc32(repr(place).encode())


def _steps(stage: GuardedStage) -> Steps:
    function, index = stage.function, stage.index
    if isinstance(function, ConnectorConfig):
        from engine.dataframes.converters import converter_steps

        return converter_steps(function, build_transforms(function))
    if stage.kind is FunctionKind.RECORD:
        return ((index, function if stage.takes_records else lambda record: function(record.value)),)
    to_pandas = stage.kind is FunctionKind.PANDAS
    columns = stage.columns

    def call(part: pa.RecordBatch) -> pa.StructArray:
        return columns.cast(function(part.to_pandas() if to_pandas else part), part.num_rows)

    return ((index, call),)


def _live_rows(batch: pa.RecordBatch) -> list[int]:
    """Return the rows that no earlier stage has ended."""
    ended = [batch.column(name) for name in (LETTER, OUTCOME, BROKEN, FIGURES)]
    if all(column.null_count == batch.num_rows for column in ended):
        return list(range(batch.num_rows))
    flags = [column.is_null().to_pylist() for column in ended]
    return [row for row, alive in enumerate(zip(*flags, strict=True)) if all(alive)]


def converted(origin: RawRecord | Record, row: Any) -> Record:
    """Return the record with the former stage's result as its value."""
    raw = origin if isinstance(origin, RawRecord) else None
    offset = None if raw is None else raw.offset
    return Record(origin.topic, origin.partition, origin.timestamp, origin.key, row, offset=offset, raw=raw)


def _value(entry: Any) -> Any:
    """Return the result of a record: a function's own, or the value of a converted record."""
    return entry.value if type(entry) is Record else entry


def letter_row(letter: BufferedRecord) -> dict[str, Any]:
    """Return a letter as a value of its column."""
    return {
        "key": letter.key,
        "value": letter.value,
        "headers": header_rows(letter.headers),
        "time": letter.timestamp,
    }


def _kept_headers(raw: RawRecord, *, keeps: bool) -> list[dict[str, Any]] | None:
    """Return the headers that later steps need: all, or those of a replay."""
    if not raw.headers:
        return None
    kept = raw.headers if keeps else tuple(header for header in raw.headers if header[0] in OF_REPLAYS)
    return header_rows(kept) or None
