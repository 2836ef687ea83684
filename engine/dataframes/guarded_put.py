"""The rows that a sink rejects, found by writing ever smaller parts: `DeadLetterQueue.write` in a Spark worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import pyarrow as pa

from engine.dataframes.envelope import (
    COLUMNS,
    FIGURES,
    GOOD,
    LETTER,
    ORIGIN,
    OUTCOME,
    read_origins,
    read_rows,
)
from engine.dataframes.figures import PartitionFigures
from engine.dataframes.stage import GuardSettings, OpenGuard, attempts_of, blame, converted, error_code, letter_row
from engine.errors import RetriableError
from engine.pipeline.chunk_results import settle
from engine.pipeline.outcome import FailedAttempts, PendingError, Skipped, StageFailure
from engine.pipeline.put_results import put_result
from engine.record.record import RawRecord, Record
from engine.reporting.replay_outcomes import Outcome

Put = Callable[[Sequence[dict[str, Any]]], object]


@dataclass(frozen=True)
class GuardedPut:
    """A put as `mapInArrow` calls it. It returns the rejected rows only, and a row of figures.

    - A RetriableError is retried, as the options say. Then each row of the part is an error.
    - RecordErrors name the rejected rows; the others are put again.
    - After any other exception the part is put again in halves. So the put must be atomic or idempotent.
    """

    settings: GuardSettings
    index: int
    put: Put
    has_record: bool
    rows_of_a_put: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        opened = self.settings.open()
        figures = PartitionFigures(self.index)
        schema = None
        for batch in batches:
            schema = batch.schema
            for begin in range(0, batch.num_rows, self.rows_of_a_put):
                if figures.failed is None:
                    yield self._process(opened, figures, batch.slice(begin, self.rows_of_a_put))
        if schema is not None:
            figures.take_state(opened.state)
            text = msgspec.json.encode(figures).decode()
            yield _batch(schema, {FIGURES: [text]}, 1)

    def _process(self, opened: OpenGuard, figures: PartitionFigures, batch: pa.RecordBatch) -> pa.RecordBatch:
        rows = batch.column(GOOD).to_pylist()
        origins = (
            read_origins(batch.column(ORIGIN).flatten()) if self.has_record else read_rows(rows, self.settings.name)
        )
        entries: list[Any] = [converted(one, row) for one, row in zip(origins, rows, strict=True)]
        self._put_all(opened, entries, origins)
        rejected = [place for place, entry in enumerate(entries) if type(entry) is PendingError]
        for place in rejected:
            figures.note(entries[place], opened.encoder, error_code(origins[place], self.index))
        failed, _ = settle(opened.guard, entries)
        if failed is not None:
            figures.failed = str(getattr(failed, "message", failed))
        made = iter(opened.take_letters())
        letters, outcomes, kept = [], [], []
        for place in rejected:
            entry = entries[place]
            if type(entry) is Skipped:
                kept.append(place)
                outcomes.append(str(Outcome.DEAD_LETTERED if entry.dead_lettered else Outcome.SKIPPED))
                letters.append(letter_row(next(made)) if entry.dead_lettered else None)
        chosen = batch.take(pa.array(kept, pa.int64()))
        return _batch(
            batch.schema,
            {ORIGIN: chosen.column(ORIGIN), GOOD: chosen.column(GOOD), LETTER: letters, OUTCOME: outcomes},
            len(kept),
        )

    def _put_all(self, opened: OpenGuard, entries: list[Any], origins: Sequence[RawRecord | Record]) -> None:
        """Put the records; replace each rejected one by its PendingError."""
        guard = opened.guard
        step = ((self.index, lambda records: (self.put([one.value for one in records]), True)),)
        trouble = FailedAttempts()
        todo = [list(range(len(entries)))]
        while todo:
            part = todo.pop()
            failure = guard.run(step, ([entries[place] for place in part],), [])
            if failure is None:
                trouble = FailedAttempts()
                continue
            result = put_result(failure.error, len(part))
            for index, cause in result.rejected.items():
                guilty = StageFailure(self.index, entries[part[index]], cause)
                entries[part[index]] = guard.reject_record(guilty, origins[part[index]])
            settled = {*result.rejected, *result.delivered}
            left = [place for index, place in enumerate(part) if index not in settled]
            error = result.error
            if error is None:
                todo += [left] if left else []
                continue
            if isinstance(error, RetriableError):
                verdict = guard.handle_failure(StageFailure(self.index, None, error), origins[part[0]], trouble)
                if isinstance(verdict, FailedAttempts):
                    trouble = verdict
                    todo.append(left)
                    continue
                trouble = attempts_of(verdict)
            if len(left) == 1 or isinstance(error, RetriableError):
                for place in left:
                    guilty = StageFailure(self.index, entries[place], error)
                    entries[place] = blame(guard, guilty, origins[place], trouble)
                trouble = FailedAttempts()
                continue
            middle = len(left) // 2
            # A stack: the first half comes off first, so that rows are put in their order.
            todo += [left[middle:], left[:middle]]


def _batch(schema: pa.Schema, columns: dict[str, Any], count: int) -> pa.RecordBatch:
    """Return a batch of this schema; columns that are not given are null."""
    arrays = []
    for name in COLUMNS:
        kind = schema.field(name).type
        given = columns.get(name)
        if given is None:
            arrays.append(pa.nulls(count, kind))
        else:
            arrays.append(given if isinstance(given, pa.Array) else pa.array(given, kind))
    return pa.RecordBatch.from_arrays(arrays, names=list(COLUMNS))
