"""What a stream's units led to, written to its ends; their errors count in the order in which they are decided."""

from __future__ import annotations

from collections.abc import Sequence

from engine.pipeline.guard import Guard
from engine.pipeline.outcome import Errored, Interrupted
from engine.pipeline.producing import HELD, Outgoing, RecordWriter
from engine.pipeline.topology import Topology, Unit
from engine.ports import Producer
from engine.reporting.metrics import Metric


class UnitWriter:
    """Writes for one task."""

    def __init__(self, topology: Topology, producer: Producer, guard: Guard) -> None:
        self._guard = guard
        self._writers = {name: RecordWriter(producer, guard, end.produce_index) for name, end in topology.ends.items()}

    def write(self, units: Sequence[Unit]) -> tuple[int, Interrupted | None]:
        """How many of the units are through, or stop the task; and what keeps the next one from it.

        What is written is taken from its unit, so that another call goes on with what is left. Of several ends in
        trouble the first goes on counting its attempts until it is through, the others begin anew each time.
        """
        state, count, parked = self._guard.state, len(units), None
        first: Interrupted | None = None
        for name, writer in self._writers.items():
            count, interrupted = self._write_to(name, writer, units[:count])
            if interrupted is None:
                continue
            if first is None or interrupted.wake_at is None:
                first, parked = interrupted, state.parked
            elif first.wake_at is not None:
                state.parked = parked
                state.metrics[Metric.TOTAL_RETRIES] += 1  # it is tried again with the first
        return count, first

    def _write_to(self, name: str, writer: RecordWriter, units: Sequence[Unit]) -> tuple[int, Interrupted | None]:
        rows, between = _rows(name, units)
        if not rows:
            return len(units), None
        parked = self._guard.state.parked
        held: list[Unit] = []
        first: tuple[int, Interrupted] | None = None
        answers = writer.write([outgoing for _, (_, outgoing) in rows], between=between)
        for (place, row), answer in zip(rows, answers, strict=True):
            unit = units[place]
            if answer is HELD:
                held.append(unit)
            elif isinstance(answer, Interrupted):
                first = first or (place, answer)
            else:
                unit.outputs.remove(row)
                if isinstance(answer, Errored):
                    unit.errors.append(answer)
        self._note_stop(units)
        if first is not None:
            return first
        if parked is not None and parked.place.index == writer.index and self._guard.state.parked is parked:
            self._guard.state.parked = None
            self._guard.state.metrics[Metric.TOTAL_RETRIES] += 1  # what waited for its next attempt succeeded
        for unit in held:
            unit.stops = True
        return len(units), None

    def _note_stop(self, units: Sequence[Unit]) -> None:
        """With new errors among the others: which unit stops the task?"""
        trial = self._guard.state.tolerance
        for unit in units:
            for errored in unit.errors:
                stops, trial = self._guard.would_fail(trial, errored)
                if stops:
                    unit.stops = True
                    return


def _rows(name: str, units: Sequence[Unit]) -> tuple[list[tuple[int, tuple[str, Outgoing]]], list[tuple[int, Errored]]]:
    """What is left for an end before a unit that stops the task, by unit; and the errors that are known between."""
    rows: list[tuple[int, tuple[str, Outgoing]]] = []
    between: list[tuple[int, Errored]] = []
    for place, unit in enumerate(units):
        if unit.stops:
            break
        between += [(len(rows), errored) for errored in unit.errors]
        rows += [(place, row) for row in unit.outputs if row[0] == name]
    return rows, between
