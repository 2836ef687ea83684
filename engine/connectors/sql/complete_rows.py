"""Find the rows of a PostgreSQL table below which no open transaction can add a row.

A row's number is drawn before its transaction commits, so rows become visible out of order. The transaction id of a row
(`xmin`) does not order the numbers either: a transaction may get its id long before it inserts, and a statement draws
the number before its transaction has an id. But an INSERT locks its table before it draws a number, and keeps the lock
until its rows are visible. So the rows up to number n are complete when each transaction that held such a lock after n
was seen has ended. CREATE INDEX CONCURRENTLY waits for writers in the same way.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import sqlalchemy as sa

from engine.errors import ConfigError

PREPARED = "-1/"  # how pg_locks begins the virtual id of a prepared transaction
DELAY = "timestamp.delay.interval.ms"
# Pauses (s) in one poll. Most transactions end within them; the next polls wait for the others.
PAUSES_S = (0.01, 0.02, 0.05, 0.1, 0.3)
LONG_WAIT_S = 60.0
log = logging.getLogger(__name__)

# Partitions can be written without a lock on their parent.
_WRITERS = sa.text("""
    WITH RECURSIVE family AS (
        SELECT CAST(CAST(:name AS regclass) AS oid) AS relation
        UNION SELECT inhrelid FROM pg_inherits JOIN family ON inhparent = relation
    )
    SELECT DISTINCT virtualtransaction FROM pg_locks JOIN family USING (relation)
    WHERE locktype = 'relation' AND granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND mode IN ('RowExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
""")
# The sequences of an identity column, of SERIAL, and of a written default.
_SEQUENCES = sa.text("""
    SELECT CAST(CAST(seqrelid AS regclass) AS text), seqcache > 1, seqincrement < 0, seqcycle FROM pg_sequence
    WHERE seqrelid = CAST(pg_get_serial_sequence(:name, :column) AS regclass) OR seqrelid IN (
        SELECT refobjid FROM pg_depend
        JOIN pg_attrdef AS one ON classid = CAST('pg_attrdef' AS regclass) AND objid = one.oid
        JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum
        WHERE adrelid = CAST(:name AS regclass) AND attname = :column
    )
""")


@dataclass(slots=True)
class PendingRows:
    """Rows up to the number `bound`, and the transactions that may still add some of them."""

    bound: int
    writers: frozenset[str]
    since_s: float
    is_reported: bool = False


# A source lives for one lease only. If each lease began to wait anew, long transactions that overlap would starve it.
# A wait never becomes invalid: its transactions only end.
_pending: dict[tuple[str, str, int], PendingRows] = {}


@dataclass(slots=True)
class OpenWriters:
    """A watch on the transactions that write to one table, for the connector at `url`."""

    table: sa.Table
    column: sa.Column[int]
    connector: str
    url: str
    pause: Callable[[float], object] = time.sleep
    complete: int | None = field(default=None, init=False)  # no row up to this number is missing

    def complete_up_to(self, connection: sa.Connection, last: int | None) -> int | None:
        """Return the number up to which no row is missing; None if no rows beyond `last` are complete.

        The connection must be in autocommit, because each statement needs a snapshot of its own. Raises ConfigError.
        """
        if self.complete is not None:
            return self.complete
        check_primary(connection)
        name = connection.dialect.identifier_preparer.format_table(self.table)
        oid = connection.scalar(sa.text("SELECT CAST(CAST(:name AS regclass) AS oid)"), {"name": name})
        key = (self.connector, self.url, oid)
        pending = _pending.get(key)
        if pending is None:
            bound = connection.scalar(sa.select(sa.func.max(self.column)))
            if bound is None or (last is not None and bound <= last):
                return None
            # After the bound, never before it: who draws a lower number later is not there yet.
            pending = _pending[key] = PendingRows(bound, _writers(connection, name), time.monotonic())
        for pause_s in PAUSES_S:
            if not pending.writers:
                break
            self.pause(pause_s)
            pending.writers = still_open(pending.writers, _writers(connection, name))
        if pending.writers:
            self._report(pending)
            return None
        del _pending[key]
        self.complete = pending.bound
        return self.complete

    def forget(self) -> None:
        """Note that all complete rows were read."""
        self.complete = None

    def _report(self, pending: PendingRows) -> None:
        waited_s = time.monotonic() - pending.since_s
        if waited_s >= LONG_WAIT_S and not pending.is_reported:
            pending.is_reported = True
            log.warning(
                "%s: new rows of table %s have waited %d s for transactions that write to the table; end them if they "
                "hang (pg_locks.virtualtransaction: %s)",
                self.connector,
                self.table,
                waited_s,
                ", ".join(sorted(pending.writers)[:10]),
            )


def still_open(writers: frozenset[str], now: frozenset[str]) -> frozenset[str]:
    """Return the transactions of `writers` that are open now. PREPARE TRANSACTION gives one a new virtual id."""
    vanished = any(not one.startswith(PREPARED) for one in writers - now)
    return frozenset(one for one in now if one in writers or (vanished and one.startswith(PREPARED)))


def check_primary(connection: sa.Connection) -> None:
    """Raise ConfigError on a standby, which does not know the locks of its primary."""
    if connection.scalar(sa.text("SELECT pg_is_in_recovery()")):
        text = f"is a standby server, which does not show open transactions; connect to the primary, or set {DELAY}"
        raise ConfigError((("connection.url", None, text),))


def check_sequence(connection: sa.Connection, table: sa.Table, column: sa.Column[int]) -> None:
    """Raise ConfigError if a sequence of the column does not give growing numbers."""
    name = connection.dialect.identifier_preparer.format_table(table)
    for sequence, caches, falls, cycles in connection.execute(_SEQUENCES, {"name": name, "column": column.name}):
        if caches or falls or cycles:
            what = "is cached by sessions (CACHE)" if caches else "falls" if falls else "cycles (CYCLE)"
            remedy = f"ALTER SEQUENCE {sequence} CACHE 1" if caches else "use another column"
            text = f"takes its numbers from the sequence {sequence}, which {what}, so rows would be missed; {remedy}"
            raise ConfigError((("incrementing.column.name", column.name, f"{text}, or set {DELAY}"),))


def _writers(connection: sa.Connection, name: str) -> frozenset[str]:
    return frozenset(connection.scalars(_WRITERS, {"name": name}))
