"""Transaction boundaries of a source (KIP-618): with each poll, by time, or where the source decides."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

from engine.pipeline.source_transactions import TransactionContext
from engine.record.record import Record


class BoundaryAction(StrEnum):
    """A decision about the open transaction."""

    NONE = "NONE"
    COMMIT = "COMMIT"
    ABORT = "ABORT"


class BoundaryRule(Protocol):
    """A rule that ends transactions. `is_own`: only the source decides, so nobody else may commit in between."""

    is_own: bool

    def on_record(self, record: Record) -> BoundaryAction:
        """Return whether the transaction ends with this record. Called once for each, in order."""
        ...

    def on_batch(self, now_ms: int) -> BoundaryAction:
        """Return whether the transaction ends with the polled batch, which may be empty."""
        ...

    def committed(self, now_ms: int) -> None:
        """Note that a transaction ended."""
        ...


class PollBoundary:
    """A boundary that ends a transaction with each poll."""

    is_own = False

    def on_record(self, record: Record) -> BoundaryAction:  # noqa: ARG002, this boundary ignores records
        return BoundaryAction.NONE

    def on_batch(self, now_ms: int) -> BoundaryAction:  # noqa: ARG002, as above
        return BoundaryAction.COMMIT

    def committed(self, now_ms: int) -> None:
        """Do nothing: this boundary does not depend on time."""


class IntervalBoundary:
    """A boundary that ends a transaction with the first poll after an interval."""

    is_own = False

    def __init__(self, interval_ms: int, now_ms: int) -> None:
        self.interval_ms = interval_ms
        self._due_ms = now_ms + interval_ms

    def on_record(self, record: Record) -> BoundaryAction:  # noqa: ARG002, as above
        return BoundaryAction.NONE

    def on_batch(self, now_ms: int) -> BoundaryAction:
        return BoundaryAction.COMMIT if now_ms >= self._due_ms else BoundaryAction.NONE

    def committed(self, now_ms: int) -> None:
        self._due_ms = now_ms + self.interval_ms


class ConnectorBoundary:
    """A boundary that the source sets."""

    is_own = True

    def __init__(self, transactions: TransactionContext) -> None:
        self.transactions = transactions

    def on_record(self, record: Record) -> BoundaryAction:
        if self.transactions.should_abort_on(record):
            return BoundaryAction.ABORT
        return BoundaryAction.COMMIT if self.transactions.should_commit_on(record) else BoundaryAction.NONE

    def on_batch(self, now_ms: int) -> BoundaryAction:  # noqa: ARG002, as above
        if self.transactions.should_abort_batch():
            return BoundaryAction.ABORT
        return BoundaryAction.COMMIT if self.transactions.should_commit_batch() else BoundaryAction.NONE

    def committed(self, now_ms: int) -> None:
        """Do nothing: this boundary does not depend on time."""


def split_batch(boundary: BoundaryRule, polled: Sequence[Record]) -> list[tuple[int, BoundaryAction]]:
    """Return where a batch is cut: end indexes with their cuts; the rest of the batch comes last, uncut."""
    if not boundary.is_own:
        return [(len(polled), BoundaryAction.NONE)]
    cuts = [(place + 1, boundary.on_record(record)) for place, record in enumerate(polled)]
    return [(end, cut) for end, cut in cuts if cut is not BoundaryAction.NONE or end == len(polled)]
