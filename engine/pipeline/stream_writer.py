"""Write the outputs of a stream's units to all topics, in unit order. Errors count in that order too.

In a transaction, the writes of an unsettled unit are taken back before anything is committed.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.exactly_once.transaction import Transaction
from engine.pipeline.guard import Guard
from engine.pipeline.outcome import Interrupted, PendingError
from engine.pipeline.produce_stage import HELD, Answer, OutputRecord, RecordWriter
from engine.pipeline.task_state import ParkedRetry
from engine.pipeline.topology import ProcessingUnit
from engine.ports import Producer
from engine.record.stage import StageType
from engine.reporting.metrics import Metric


class UnitWriter:
    """Writes the outputs of units for one task, in the transaction if there is one."""

    def __init__(self, producer: Producer, guard: Guard, transaction: Transaction | None = None) -> None:
        self._guard = guard
        self._writer = RecordWriter(producer, guard)
        self._transaction = transaction
        self._flushed = 0  # number of records in the transaction that belong to settled units

    def write(self, units: Sequence[ProcessingUnit]) -> tuple[int, Interrupted | None]:
        """Return the number of units written or stopping the task, and the next one's interruption.

        Written records are removed from their unit's outputs, so that another call continues with the rest.
        """
        rows, between = _rows(units)
        if self._transaction is not None:
            self._flushed = self._transaction.flushed
        if not rows:
            return len(units), None
        parked = self._guard.state.parked
        answers = self._writer.write([row for _, row in rows], between=between)
        held, first = _store_answers(units, rows, answers)
        self._note_stop(units)
        if first is not None:
            return first
        self._note_success(parked)
        # Nothing of these units was tried, because an earlier error stops the task. Settling must end before them.
        for unit in held:
            unit.stops = True
        return len(units), None

    def settled(self, units: Sequence[ProcessingUnit], count: int) -> None:
        """Note that the first `count` of the units written last are settled.

        Records of the other units are removed from the transaction and will be written again.
        """
        if self._transaction is None or not any(unit.written for unit in units[count:]):
            return
        settled_rows = [row for unit in units[:count] for row in unit.written]
        # Records of an unsettled unit must not become visible with this commit: the unit is processed again and would
        # write them twice.
        self._transaction.replace_after(self._flushed, [row.as_row() for row in settled_rows])
        for unit in units[count:]:
            unit.outputs, unit.written = unit.written + unit.outputs, []

    def _note_success(self, parked: ParkedRetry | None) -> None:
        """Clear a parked write that has succeeded."""
        state = self._guard.state
        if parked is None or state.parked is not parked:
            return
        if self._guard.stages[parked.place.index].type is StageType.KAFKA_PRODUCE:
            state.parked = None
            state.metrics[Metric.TOTAL_RETRIES] += 1

    def _note_stop(self, units: Sequence[ProcessingUnit]) -> None:
        """Find the unit that stops the task, after the write has added errors."""
        trial = self._guard.state.tolerance
        for unit in units:
            for errored in unit.errors:
                stops, trial = self._guard.would_fail(trial, errored)
                if stops:
                    unit.stops = True
                    return


def _rows(units: Sequence[ProcessingUnit]) -> tuple[list[tuple[int, OutputRecord]], list[tuple[int, PendingError]]]:
    """Return the records before a unit that stops the task, and the known errors between them."""
    rows: list[tuple[int, OutputRecord]] = []
    between: list[tuple[int, PendingError]] = []
    for place, unit in enumerate(units):
        if unit.stops:
            break
        between += [(len(rows), errored) for errored in unit.errors]
        rows += [(place, row) for row in unit.outputs]
    return rows, between


def _store_answers(
    units: Sequence[ProcessingUnit], rows: Sequence[tuple[int, OutputRecord]], answers: Sequence[Answer]
) -> tuple[list[ProcessingUnit], tuple[int, Interrupted] | None]:
    """Store the answers in the units. Returns the units held back and the first one that must wait."""
    held: list[ProcessingUnit] = []
    first: tuple[int, Interrupted] | None = None
    for (place, row), answer in zip(rows, answers, strict=True):
        unit = units[place]
        if answer is HELD:
            held.append(unit)
        elif isinstance(answer, Interrupted):
            first = first or (place, answer)
        else:
            unit.outputs.remove(row)
            if isinstance(answer, PendingError):
                unit.errors.append(answer)
            else:
                unit.written.append(row)
    return held, first
