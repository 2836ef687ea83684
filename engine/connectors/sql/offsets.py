"""Positions in the user's database, written in the transaction that writes the rows.

A claim raises a partition's generation. Every transaction begins by locking the task's positions. If they differ from
the task's last ones, another task has worked since, and nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc

from engine.connectors.sql.database import check_constraints, is_of_world, words
from engine.connectors.sql.engine_tables import LETTERS, OFFSETS, OPTION, TaskRows, read_letter
from engine.errors import VALUE, ConfigError, EngineError, GenerationFenced, Message, RetriableError
from engine.pipeline.database_positions import OutboxRecord, PositionRow
from engine.record.record import TopicPartition

GRACE_MS = 5000  # after this time, another task's session that holds the rows is ended
IDLE_MS = 60_000  # after this time, the server ends an idle session of ours that holds them
LOCK_NOT_AVAILABLE = "55P03"
_END = sa.text(
    "SELECT pg_terminate_backend(l.pid) FROM pg_locks l WHERE l.pid = :pid AND l.granted "
    "AND l.locktype = 'relation' AND l.relation = to_regclass(:name) LIMIT 1"
)


class SqlOffsets:
    """One task's rows, over one session that lasts as long as the task. A DatabaseOffsets."""

    def __init__(self, engine: sa.Engine, rows: TaskRows, grace_ms: int = GRACE_MS) -> None:
        self._engine = engine
        self._rows = rows
        self._grace_ms = grace_ms
        self._is_postgres = engine.dialect.name == "postgresql"
        self._connection: sa.Connection | None = None
        self._claimed: dict[TopicPartition, tuple[int, int]] = {}  # generation, and the position that we expect

    @property
    def is_open(self) -> bool:
        """Return whether something is written that is not committed."""
        return self._connection is not None and self._connection.in_transaction()

    def claim(self) -> Mapping[TopicPartition, PositionRow]:
        """Return the existing rows and fence their former claimants.

        A session that holds them for too long is ended (PostgreSQL): its process was stopped or is cut off.
        """
        try:
            return self._claim()
        except _RowsLocked:
            self._end_holders()
        return self._claim()

    def adopt(self, rows: Mapping[TopicPartition, PositionRow]) -> None:
        """Write these rows over the existing ones: new partitions, or positions taken over from the group."""
        with self._transaction() as connection:
            for partition, row in rows.items():
                if partition in self._claimed:
                    self._move(connection, {partition: row})
                else:
                    connection.execute(self._rows.insert(partition, row, self._pid(connection)))
        for partition, row in rows.items():
            generation, _ = self._claimed.get(partition, (1, 0))
            self._claimed[partition] = (generation, row.next)

    def check(self) -> None:
        """Raise GenerationFenced if another task has claimed a partition since."""
        with self._transaction() as connection:
            self._compare(connection.execute(self._rows.select()).all())

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """Yield a transaction that holds the task's positions. It stays open for `save` unless the body raises.

        Raises GenerationFenced if the positions differ from the task's last ones.
        """
        connection = self._locked()
        try:
            yield connection
            check_constraints(connection)  # check now, so that the sink gets the error and can name the row
        except BaseException:  # also when the worker is told to end: the transaction holds locks
            self.rollback()
            raise

    def save(
        self,
        rows: Mapping[TopicPartition, PositionRow],
        carrier: TopicPartition,
        letters: Sequence[OutboxRecord],
        sent: int,
    ) -> None:
        """Write the positions and the letters of the partition `carrier`, then commit.

        Letters up to `sent` are deleted.
        """
        connection = self._connection if self.is_open else self._locked()
        assert connection is not None
        try:
            with _translated():
                # In the transaction of the rows: after a crash, the table says exactly which rows are there.
                self._move(connection, rows)
                if letters:
                    connection.execute(sa.insert(LETTERS), [self._rows.letter(carrier, one) for one in letters])
                if sent:
                    connection.execute(self._rows.forget(carrier, sent))
                connection.commit()
        except BaseException:  # also when the worker is told to end: the transaction holds locks
            self.rollback()
            raise
        for partition, row in rows.items():
            self._claimed[partition] = (self._claimed[partition][0], row.next)

    def carriers(self) -> Sequence[TopicPartition]:
        """Return the partitions that have letters."""
        with self._transaction() as connection:
            return [TopicPartition(*row) for row in connection.execute(self._rows.carriers())]

    def letters(self, carrier: TopicPartition, after: int, limit: int) -> Sequence[OutboxRecord]:
        """Return letters of the partition after a number, in order."""
        seq = LETTERS.c.seq
        query = sa.select(LETTERS).where(self._rows.letters(carrier), seq > after).order_by(seq).limit(limit)
        with self._transaction() as connection:
            return [read_letter(row) for row in connection.execute(query)]

    def forget(self, carrier: TopicPartition, sent: int) -> None:
        """Delete letters that Kafka has."""
        with self._transaction() as connection:
            connection.execute(self._rows.forget(carrier, sent))

    def rollback(self) -> None:
        """Roll back what is not committed; close a broken session."""
        connection = self._connection
        if connection is None:
            return
        try:
            connection.rollback()
        except exc.SQLAlchemyError:
            # The session may be in any state, so it does not go back to the pool.
            connection.invalidate()
        if connection.invalidated:
            self.close()

    def close(self) -> None:
        """Close the session."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _claim(self) -> dict[TopicPartition, PositionRow]:
        with self._transaction() as connection:
            if self._is_postgres:
                # A stopped process may hold the rows for ever. Its session is ended after this time.
                connection.exec_driver_sql(f"SET LOCAL lock_timeout = {self._grace_ms}")
            rows = connection.execute(self._rows.select().with_for_update()).all()
            claim = sa.update(OFFSETS).where(self._rows.all())
            connection.execute(claim.values(generation=OFFSETS.c.generation + 1, pid=self._pid(connection)))
        stored = {TopicPartition(row.topic, row.partition): row for row in rows}
        self._claimed = {partition: (row.generation + 1, row.next) for partition, row in stored.items()}
        return {partition: PositionRow(row.next, row.memory, row.letters) for partition, row in stored.items()}

    def _end_holders(self) -> None:
        with self._transaction() as connection:
            # The server reuses the ids of processes. So a session is ended only if it holds a lock on this very table.
            pids = connection.scalars(sa.select(OFFSETS.c.pid).where(self._rows.all()).distinct()).all()
            for pid in pids:
                try:
                    connection.execute(_END, {"pid": pid, "name": OFFSETS.name})
                except exc.ProgrammingError as error:
                    text = f"database session {pid} has locked rows of {OFFSETS.name} and can't be ended: {VALUE}"
                    raise RetriableError(Message(text, words(error))) from None

    def _locked(self) -> sa.Connection:
        """Return the session in a transaction that holds the task's positions."""
        try:
            with _translated():
                connection = self._connect()
                self._compare(connection.execute(self._rows.select().with_for_update()).all())
        except BaseException:  # also when the worker is told to end: the transaction holds locks
            self.rollback()
            raise
        return connection

    def _compare(self, rows: Sequence[sa.Row[Any]]) -> None:
        stored = {TopicPartition(row.topic, row.partition): (row.generation, row.next) for row in rows}
        for partition, expected in self._claimed.items():
            if stored.get(partition) != expected:
                raise _moved(partition)

    def _move(self, connection: sa.Connection, rows: Mapping[TopicPartition, PositionRow]) -> None:
        moves = [self._rows.moved(partition, *self._claimed[partition], kept) for partition, kept in rows.items()]
        # Each update names generation and expected position. A row that another task has claimed does not match.
        if moves and connection.execute(self._rows.move(), moves).rowcount != len(moves):
            raise _moved(*rows)

    @contextmanager
    def _transaction(self) -> Iterator[sa.Connection]:
        """Yield a short transaction of its own."""
        try:
            with _translated():
                connection = self._connect()
                yield connection
                connection.commit()
        except BaseException:  # also when the worker is told to end: the transaction holds locks
            self.rollback()
            raise

    def _connect(self) -> sa.Connection:
        if self._connection is None:
            connection = self._connection = self._engine.connect()
            if self._is_postgres:
                connection.exec_driver_sql(f"SET idle_in_transaction_session_timeout = {IDLE_MS}")
                if self._claimed:  # a new session replaces the one that claimed
                    generations = {partition: generation for partition, (generation, _) in self._claimed.items()}
                    still = sa.update(OFFSETS).where(self._rows.claimed(generations))
                    connection.execute(still.values(pid=self._pid(connection)))
                connection.commit()
        return self._connection

    def _pid(self, connection: sa.Connection) -> int | None:
        return connection.scalar(sa.text("SELECT pg_backend_pid()")) if self._is_postgres else None


class _RowsLocked(RetriableError):
    """Another session holds our rows."""


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except exc.DBAPIError as error:
        raise _engine_error(error) from None


def _engine_error(error: exc.DBAPIError) -> EngineError:
    if getattr(error.orig, "sqlstate", None) == LOCK_NOT_AVAILABLE:
        return _RowsLocked(
            Message(f"another database session has locked rows of {OFFSETS.name}: {VALUE}", words(error))
        )
    # IntegrityError: two tasks insert the same first row.
    if is_of_world(error) or isinstance(error, exc.IntegrityError):
        return RetriableError(words(error))
    return ConfigError(((*OPTION, f"{OFFSETS.name} and {LETTERS.name} can't be used: {words(error)}"),))


def _moved(*partitions: TopicPartition) -> GenerationFenced:
    names = ", ".join(f"{partition.topic}-{partition.partition}" for partition in partitions)
    return GenerationFenced(f"another task has changed the offsets of {names} in {OFFSETS.name}")
