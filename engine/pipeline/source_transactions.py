"""What a source says of its own transactions (KIP-618, as Kafka shipped it: `transaction.boundary=connector`)."""

from __future__ import annotations

from engine.errors import TaskError
from engine.record.record import Record

CONFLICT = "the source asked to commit and to abort the same transaction"


class TransactionContext:
    """A source's own word on where its transactions end; it is asked for each word once.

    A request about a record counts when that very object is written; one about no record with the batch that the
    next poll answers with, or that is on its way. Not for several threads.
    """

    def __init__(self) -> None:
        self._commits: dict[int, Record] = {}  # by identity: records may hold what has no hash
        self._aborts: dict[int, Record] = {}
        self._commit_batch = False
        self._abort_batch = False

    def commit_transaction(self, record: Record | None = None) -> None:
        """Commit when this record is written; without one, when the batch is."""
        if record is None:
            self._commit_batch = True
        else:
            self._commits[id(record)] = record

    def abort_transaction(self, record: Record | None = None) -> None:
        """Abort when this record is written; without one, when the batch is. What was written is passed all the same:
        its offsets are committed.
        """
        if record is None:
            self._abort_batch = True
        else:
            self._aborts[id(record)] = record

    def should_commit_on(self, record: Record) -> bool:
        """Was that asked for? Raises TaskError where its opposite was, too."""
        _check(record, self._commits, self._aborts)
        return self._commits.pop(id(record), None) is not None

    def should_abort_on(self, record: Record) -> bool:
        """Was that asked for? Raises TaskError where its opposite was, too."""
        _check(record, self._commits, self._aborts)
        return self._aborts.pop(id(record), None) is not None

    def should_commit_batch(self) -> bool:
        """Was that asked for? Raises TaskError where its opposite was, too."""
        self._check_batch()
        wanted, self._commit_batch = self._commit_batch, False
        return wanted

    def should_abort_batch(self) -> bool:
        """Was that asked for? Raises TaskError where its opposite was, too."""
        self._check_batch()
        wanted, self._abort_batch = self._abort_batch, False
        return wanted

    def _check_batch(self) -> None:
        if self._commit_batch and self._abort_batch:
            raise TaskError(CONFLICT)


def _check(record: Record, commits: dict[int, Record], aborts: dict[int, Record]) -> None:
    if id(record) in commits and id(record) in aborts:
        raise TaskError(CONFLICT)
