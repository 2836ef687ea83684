"""Where a source's transactions end (KIP-618): with each poll, with time, or where the source says."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

from engine.pipeline.source_transactions import TransactionContext
from engine.record.record import Record


class Cut(StrEnum):
    """What becomes of the open transaction."""

    NONE = "NONE"
    COMMIT = "COMMIT"
    ABORT = "ABORT"


class Boundary(Protocol):
    """Says where to cut. `is_own`: the source alone decides, so that nobody else may commit in between."""

    is_own: bool

    def on_record(self, record: Record) -> Cut:
        """Is the transaction to end with this record? Asked once for each, in order."""
        ...

    def on_batch(self, now_ms: int) -> Cut:
        """And with what was polled, be it nothing?"""
        ...

    def committed(self, now_ms: int) -> None:
        """A transaction ended here."""
        ...


class PollBoundary:
    """Each poll is a transaction."""

    is_own = False

    def on_record(self, record: Record) -> Cut:  # noqa: ARG002, nobody says anything of records
        return Cut.NONE

    def on_batch(self, now_ms: int) -> Cut:  # noqa: ARG002, as above
        return Cut.COMMIT

    def committed(self, now_ms: int) -> None:
        """It is not counted in time."""


class IntervalBoundary:
    """A transaction ends with the first poll after so many ms."""

    is_own = False

    def __init__(self, interval_ms: int, now_ms: int) -> None:
        self.interval_ms = interval_ms
        self._due_ms = now_ms + interval_ms

    def on_record(self, record: Record) -> Cut:  # noqa: ARG002, as above
        return Cut.NONE

    def on_batch(self, now_ms: int) -> Cut:
        return Cut.COMMIT if now_ms >= self._due_ms else Cut.NONE

    def committed(self, now_ms: int) -> None:
        self._due_ms = now_ms + self.interval_ms


class ConnectorBoundary:
    """The source says so."""

    is_own = True

    def __init__(self, transactions: TransactionContext) -> None:
        self.transactions = transactions

    def on_record(self, record: Record) -> Cut:
        if self.transactions.should_abort_on(record):
            return Cut.ABORT
        return Cut.COMMIT if self.transactions.should_commit_on(record) else Cut.NONE

    def on_batch(self, now_ms: int) -> Cut:  # noqa: ARG002, as above
        if self.transactions.should_abort_batch():
            return Cut.ABORT
        return Cut.COMMIT if self.transactions.should_commit_batch() else Cut.NONE

    def committed(self, now_ms: int) -> None:
        """It is not counted in time."""


def parts(boundary: Boundary, polled: Sequence[Record]) -> list[tuple[int, Cut]]:
    """Where a batch is cut: after so many records, and how; the rest of it comes last, uncut."""
    if not boundary.is_own:
        return [(len(polled), Cut.NONE)]
    cuts = [(place + 1, boundary.on_record(record)) for place, record in enumerate(polled)]
    return [(end, cut) for end, cut in cuts if cut is not Cut.NONE or end == len(polled)]
