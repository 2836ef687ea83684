"""The rehearsal of a put: a SqlSink writes rows in one transaction, which is always rolled back.

The sink's own code writes each row, each in a savepoint, so that each record gets its own result. Nothing here commits:
a killed process, a lost connection and a time limit end the transaction as the rollback does. The rehearsal can't take
back effects outside of the transaction: numbers of sequences, and what a trigger did elsewhere.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import exc

from engine.connectors.sql.database import ConnectionLimits, check_constraints, driver_error, is_of_world, words
from engine.connectors.sql.sink import ROW_ERRORS, Row, SqlSink
from engine.errors import ConfigError, DataError, RetriableError
from engine.record.record import Record

# A transaction on SQLite locks out the tasks' puts, which fail after a wait of 5 s. A rehearsal must end earlier.
TRANSACTION_S = 3.0
LIMITS = ConnectionLimits(statement_ms=int(TRANSACTION_S * 1000), lock_ms=2000)
MAX_COUNTED = 100_000  # rows; counting more takes too long
STEPS = 1000  # SQLite's virtual instructions between two looks at the clock
ENDED = "the table ended the transaction, as ON CONFLICT ROLLBACK and RAISE(ROLLBACK) do"
LATE = f"the {TRANSACTION_S:g} s of a rehearsal were used up"
ORDINARY = "r", "p"  # tables and partitioned tables in PostgreSQL's pg_class


class PutTrial(NamedTuple):
    """The result of one record: accepted, rejected with an `error`, or not tried, with the reason."""

    error: BaseException | None = None
    hindrance: str = ""


class PutTrials(NamedTuple):
    """The results of a rehearsed put. Row counts are None for tables that are too large to count."""

    table: str
    database: str
    trials: Sequence[PutTrial]
    rows_before: int | None
    rows_after: int | None
    took_ms: int


def rehearse_put(
    config: Mapping[str, str], records: Sequence[Record], root: str | None, transaction_s: float = TRANSACTION_S
) -> PutTrials:
    """Write the records as rows, roll back, and return a result for each record.

    Raises ConfigError for a table that the sink can't use, or whose writes a rollback may not undo. Raises
    RetriableError if the database can't be used now.
    """
    sink = SqlSink(root, LIMITS)
    sink.start(config)
    try:
        _check_table(sink)
        before = _row_count(sink)
        began = time.monotonic()
        trials = _RolledBackPut(sink, began + transaction_s).run(records)
        took_ms = round((time.monotonic() - began) * 1000)
        return PutTrials(sink.table.name, sink.engine.dialect.name, trials, before, _row_count(sink), took_ms)
    except exc.DBAPIError as error:
        raise RetriableError(words(error)) from None
    finally:
        sink.stop()


class _RolledBackPut:
    """One transaction of a rehearsal, until its deadline (monotonic seconds)."""

    def __init__(self, sink: SqlSink, deadline: float) -> None:
        self._sink = sink
        self._deadline = deadline

    def run(self, records: Sequence[Record]) -> list[PutTrial]:
        trials: list[PutTrial] = []
        with self._sink.engine.connect() as connection:
            transaction = connection.begin()
            driver = _driver(connection)
            try:
                self._interrupt_late_statements(connection)
                # From here on, each row raises its own error instead of the commit.
                check_constraints(connection)
                for record in records:
                    trials.append(self._try(connection, record))
                    if trials[-1].hindrance:
                        break
            finally:
                if connection.dialect.name == "sqlite":
                    driver.set_progress_handler(None, 0)  # it would interrupt the rollback too
                _roll_back(connection, transaction)
        left = trials[-1].hindrance if trials else ""
        return trials + [PutTrial(hindrance=left)] * (len(records) - len(trials))

    def _try(self, connection: sa.Connection, record: Record) -> PutTrial:
        # Without a transaction, the next statement would be committed at once.
        if not _is_open(connection):
            return PutTrial(hindrance=ENDED)
        if self._left_ms() <= 0:
            return PutTrial(hindrance=LATE)
        try:
            row = self._sink.row_of(record)
        except DataError as error:
            return PutTrial(error)
        try:
            return PutTrial(self._write(connection, row))
        except exc.DBAPIError as error:
            if self._left_ms() <= 0:
                return PutTrial(hindrance=LATE)
            return PutTrial(hindrance=f"the database did not try it: {words(error)}")

    def _write(self, connection: sa.Connection, row: Row) -> BaseException | None:
        """Write the row in a savepoint. Return the error if the database rejects the row."""
        if connection.dialect.name == "postgresql":
            connection.exec_driver_sql(f"SET LOCAL statement_timeout = {max(1, self._left_ms())}")
        savepoint = connection.begin_nested()
        try:
            self._sink.write_row(connection, row)
            savepoint.commit()  # releases the savepoint: the next rows meet this one, as in a real put
        except ROW_ERRORS as error:
            if is_of_world(error):
                raise
            if _is_open(connection):
                savepoint.rollback()
            return driver_error(error)
        return None

    def _left_ms(self) -> int:
        return int((self._deadline - time.monotonic()) * 1000)

    def _interrupt_late_statements(self, connection: sa.Connection) -> None:
        """Limit the time of statements on SQLite, which has no setting for it."""
        if connection.dialect.name == "sqlite":
            _driver(connection).set_progress_handler(lambda: time.monotonic() > self._deadline, STEPS)


def _roll_back(connection: sa.Connection, transaction: sa.RootTransaction) -> None:
    """Roll the transaction back. A connection that can't is closed, which ends its transaction too."""
    try:
        transaction.rollback()
    except exc.SQLAlchemyError:
        with suppress(exc.SQLAlchemyError):
            connection.invalidate()


def _is_open(connection: sa.Connection) -> bool:
    """Return whether the database itself still has the transaction."""
    driver = _driver(connection)
    if connection.dialect.name == "sqlite":
        return bool(driver.in_transaction)
    from psycopg.pq import TransactionStatus

    return not driver.autocommit and driver.info.transaction_status in (
        TransactionStatus.INTRANS,
        TransactionStatus.INERROR,
    )


def _driver(connection: sa.Connection) -> Any:
    return connection.connection.driver_connection


def _check_table(sink: SqlSink) -> None:
    """Refuse tables whose writes a rollback may not undo: foreign and virtual tables, and views on them."""
    with sink.engine.connect() as connection:
        name = connection.dialect.identifier_preparer.format_table(sink.table)
        if connection.dialect.name == "sqlite":
            query = sa.text("SELECT type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' FROM sqlite_master"
                            " WHERE lower(name) = lower(:name)")  # fmt: skip
            is_ordinary = all(connection.execute(query, {"name": sink.table.name}).scalars())
        else:
            query = sa.text("SELECT relkind FROM pg_class WHERE oid = to_regclass(:name)"
                            " OR oid IN (SELECT relid FROM pg_partition_tree(to_regclass(:name)))")  # fmt: skip
            is_ordinary = set(connection.execute(query, {"name": name}).scalars()) <= set(ORDINARY)
    if not is_ordinary:
        text = "is no ordinary table, so a rollback may not undo what is written to it"
        raise ConfigError((("table.name", sink.table.name, text),))


def _row_count(sink: SqlSink) -> int | None:
    """Return the number of rows, or None if the table is large or can't be counted."""
    some = sa.select(sa.literal(1)).select_from(sink.table).limit(MAX_COUNTED + 1).subquery()
    try:
        with sink.engine.connect() as connection:
            count: int = connection.execute(sa.select(sa.func.count()).select_from(some)).scalar_one()
    except exc.DBAPIError:
        return None
    return count if count <= MAX_COUNTED else None
