"""A source's requests to end its transactions (KIP-618, as shipped: `transaction.boundary=connector`)."""

from __future__ import annotations

from engine.errors import TaskError
from engine.record.record import Record

CONFLICT = "the source asked to commit and to abort the same transaction"


class TransactionContext:
    """A source's requests to commit or abort; each request is consumed when it is read.

    A request about a record takes effect when that same object is written. A request without a record takes effect
    with the batch being polled, or with the next one. Not thread-safe.
    """

    def __init__(self) -> None:
        self._commits: dict[int, Record] = {}  # by identity, because records may hold unhashable values
        self._aborts: dict[int, Record] = {}
        self._commit_batch = False
        self._abort_batch = False

    def commit_transaction(self, record: Record | None = None) -> None:
        """Commit when this record is written; without a record, when the batch is."""
        if record is None:
            self._commit_batch = True
        else:
            self._commits[id(record)] = record

    def abort_transaction(self, record: Record | None = None) -> None:
        """Abort when this record is written; without a record, when the batch is.

        The aborted records are still passed: their offsets are committed.
        """
        if record is None:
            self._abort_batch = True
        else:
            self._aborts[id(record)] = record

    def should_commit_on(self, record: Record) -> bool:
        """Return whether a commit with this record was asked for. Raises TaskError if an abort was, too."""
        _check(record, self._commits, self._aborts)
        return self._commits.pop(id(record), None) is not None

    def should_abort_on(self, record: Record) -> bool:
        """Return whether an abort with this record was asked for. Raises TaskError if a commit was, too."""
        _check(record, self._commits, self._aborts)
        return self._aborts.pop(id(record), None) is not None

    def should_commit_batch(self) -> bool:
        """Return whether a commit with this batch was asked for. Raises TaskError if an abort was, too."""
        self._check_batch()
        wanted, self._commit_batch = self._commit_batch, False
        return wanted

    def should_abort_batch(self) -> bool:
        """Return whether an abort with this batch was asked for. Raises TaskError if a commit was, too."""
        self._check_batch()
        wanted, self._abort_batch = self._abort_batch, False
        return wanted

    def _check_batch(self) -> None:
        if self._commit_batch and self._abort_batch:
            raise TaskError(CONFLICT)


def _check(record: Record, commits: dict[int, Record], aborts: dict[int, Record]) -> None:
    if id(record) in commits and id(record) in aborts:
        raise TaskError(CONFLICT)
