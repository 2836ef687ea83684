"""Records and offsets that a source task has settled and not committed yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from engine.pipeline.source_commit import SourceOffset
from engine.pipeline.task_state import OperationId, TaskState
from engine.record.record import Record
from engine.reporting.metrics import Metric


def canonical(position: Mapping[str, Any] | None) -> bytes:
    """Return a source partition or offset as bytes; equal ones have equal bytes. Raises TypeError."""
    return orjson.dumps(position, option=orjson.OPT_SORT_KEYS)


class SourceProgress:
    """Settled records since the last commit.

    `is_torn` means that they must not be committed alone. They share an offset with unsettled
    records of the same poll, or have none. A source that continues at their offsets would return some of them again.
    """

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.is_torn = False
        self._offsets: dict[bytes, SourceOffset] = {}

    @property
    def offsets(self) -> tuple[SourceOffset, ...]:
        """Return the last offset of each source partition that moved."""
        return tuple(self._offsets.values())

    def add(self, settled: Sequence[Record], unsettled: Sequence[Record]) -> None:
        """Note settled records in the order of the poll. `unsettled` are the other records of the same poll.

        An offset that a settled record shares with an unsettled one does not count as reached.
        """
        shared = {(canonical(one.source_partition), canonical(one.source_offset)) for one in unsettled}
        last, key = None, b""
        for record in settled:
            partition, offset = record.source_partition, record.source_offset
            if partition is None or offset is None:
                continue
            if partition is not last:  # records mostly share one partition object, and `is` is cheap
                last, key = partition, canonical(partition)
            if not shared or (key, canonical(offset)) not in shared:
                self._offsets[key] = (partition, offset)
        self.records += settled
        if unsettled:
            self.is_torn = self.is_torn or any(
                one.source_partition is None
                or one.source_offset is None
                or (canonical(one.source_partition), canonical(one.source_offset)) in shared
                for one in self.records
            )

    def clear(self) -> None:
        """Start again after a commit."""
        self.records = []
        self.is_torn = False
        self._offsets = {}


def forget_settled(state: TaskState, settled: Sequence[Record], unsettled: Sequence[Record] = ()) -> None:
    """Drop what the task's memory holds about settled records.

    Entries stay if an unsettled record has the same offset: the two records can't be told apart.
    """
    if not settled or (state.parked is None and not state.reported):
        return
    # Stage index 0 everywhere, so that only the records are compared.
    passed = {OperationId.of(record, 0) for record in settled} - {OperationId.of(record, 0) for record in unsettled}
    state.reported = tuple(mark for mark in state.reported if _record_of(mark.place) not in passed)
    if state.parked is not None and _record_of(state.parked.place) in passed:
        state.parked = None
        state.metrics[Metric.TOTAL_RETRIES] += 1  # the parked operation succeeded at its next attempt


def _record_of(place: OperationId) -> OperationId:
    return OperationId(place.topic, place.partition, place.offset, 0)
