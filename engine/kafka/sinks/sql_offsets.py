"""Positions beside the rows, in the user's own database: written in the transaction that writes the rows.

Who claims a partition raises its generation. Every transaction begins by locking the task's positions: where they are
not as the task left them, somebody else has worked since, and nothing is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc

from engine.errors import ConfigError, EngineError, Fenced, RetriableError
from engine.kafka.database import check_constraints, is_of_world, words
from engine.kafka.sinks.sql_tables import LETTERS, OFFSETS, OPTION, TaskRows, read_letter
from engine.pipeline.database_positions import Kept, Letter
from engine.record.record import TopicPartition

GRACE_MS = 5000  # how long another task's session may hold the rows before it is ended
IDLE_MS = 60_000  # and how long the server lets one of ours hold them and say nothing
LOCK_NOT_AVAILABLE = "55P03"
_END = sa.text(
    "SELECT pg_terminate_backend(l.pid) FROM pg_locks l WHERE l.pid = :pid AND l.granted "
    "AND l.locktype = 'relation' AND l.relation = to_regclass(:name) LIMIT 1"
)


class SqlOffsets:
    """One task's rows, through one session that is kept for as long as the task works. A DatabaseOffsets."""

    def __init__(self, engine: sa.Engine, rows: TaskRows, grace_ms: int = GRACE_MS) -> None:
        self._engine = engine
        self._rows = rows
        self._grace_ms = grace_ms
        self._is_postgres = engine.dialect.name == "postgresql"
        self._connection: sa.Connection | None = None
        self._claimed: dict[TopicPartition, tuple[int, int]] = {}  # generation, and the position we expect

    @property
    def is_open(self) -> bool:
        """Is anything written that is not committed?"""
        return self._connection is not None and self._connection.in_transaction()

    def claim(self) -> Mapping[TopicPartition, Kept]:
        """The rows that are there; whoever had them before can't write any more.

        A session that holds them for too long is ended (PostgreSQL): its process was stopped, or is cut off.
        """
        try:
            return self._claim()
        except _Held:
            self._end_holders()
        return self._claim()

    def adopt(self, rows: Mapping[TopicPartition, Kept]) -> None:
        """Write these whatever the table said of them: of new partitions, or taken over from the group."""
        with self._transaction() as connection:
            for partition, kept in rows.items():
                if partition in self._claimed:
                    self._move(connection, {partition: kept})
                else:
                    connection.execute(self._rows.insert(partition, kept, self._pid(connection)))
        for partition, kept in rows.items():
            generation, _ = self._claimed.get(partition, (1, 0))
            self._claimed[partition] = (generation, kept.next)

    def check(self) -> None:
        """Raises Fenced where another task has claimed a partition since."""
        with self._transaction() as connection:
            self._compare(connection.execute(self._rows.select()).all())

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """A transaction that holds the task's positions; it stays open for `save`, unless its body raises.

        Raises Fenced where the positions are not as the task left them.
        """
        connection = self._locked()
        try:
            yield connection
            check_constraints(connection)  # so that the sink hears of it, and names the row
        except BaseException:
            self.rollback()
            raise

    def save(
        self, rows: Mapping[TopicPartition, Kept], carrier: TopicPartition, letters: Sequence[Letter], sent: int
    ) -> None:
        """Write the positions, and letters that come with the partition `carrier`, and commit.

        Letters up to `sent` are forgotten.
        """
        connection = self._connection if self.is_open else self._locked()
        assert connection is not None
        try:
            with _translated():
                self._move(connection, rows)
                if letters:
                    connection.execute(sa.insert(LETTERS), [self._rows.letter(carrier, one) for one in letters])
                if sent:
                    connection.execute(self._rows.forget(carrier, sent))
                connection.commit()
        except BaseException:
            self.rollback()
            raise
        for partition, kept in rows.items():
            self._claimed[partition] = (self._claimed[partition][0], kept.next)

    def carriers(self) -> Sequence[TopicPartition]:
        """Partitions with letters."""
        with self._transaction() as connection:
            return [TopicPartition(*row) for row in connection.execute(self._rows.carriers())]

    def letters(self, carrier: TopicPartition, after: int, limit: int) -> Sequence[Letter]:
        """Letters that came with the partition, in order."""
        seq = LETTERS.c.seq
        query = sa.select(LETTERS).where(self._rows.letters(carrier), seq > after).order_by(seq).limit(limit)
        with self._transaction() as connection:
            return [read_letter(row) for row in connection.execute(query)]

    def forget(self, carrier: TopicPartition, sent: int) -> None:
        """Drop letters that are where they belong."""
        with self._transaction() as connection:
            connection.execute(self._rows.forget(carrier, sent))

    def rollback(self) -> None:
        """Let go of what is not committed; a session that is broken is given up."""
        connection = self._connection
        if connection is None:
            return
        try:
            connection.rollback()
        except exc.SQLAlchemyError:
            connection.invalidate()
        if connection.invalidated:
            self.close()

    def close(self) -> None:
        """Give the session back."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _claim(self) -> dict[TopicPartition, Kept]:
        with self._transaction() as connection:
            if self._is_postgres:
                connection.exec_driver_sql(f"SET LOCAL lock_timeout = {self._grace_ms}")
            rows = connection.execute(self._rows.select().with_for_update()).all()
            claim = sa.update(OFFSETS).where(self._rows.all())
            connection.execute(claim.values(generation=OFFSETS.c.generation + 1, pid=self._pid(connection)))
        found = {TopicPartition(row.topic, row.partition): row for row in rows}
        self._claimed = {partition: (row.generation + 1, row.next) for partition, row in found.items()}
        return {partition: Kept(row.next, row.memory, row.letters) for partition, row in found.items()}

    def _end_holders(self) -> None:
        with self._transaction() as connection:
            pids = connection.scalars(sa.select(OFFSETS.c.pid).where(self._rows.all()).distinct()).all()
            for pid in pids:
                try:
                    connection.execute(_END, {"pid": pid, "name": OFFSETS.name})
                except exc.ProgrammingError as error:
                    text = f"session {pid} holds rows of {OFFSETS.name}, and can't be ended: {words(error)}"
                    raise RetriableError(text) from None

    def _locked(self) -> sa.Connection:
        """The session, in a transaction that holds the task's positions."""
        try:
            with _translated():
                connection = self._connect()
                self._compare(connection.execute(self._rows.select().with_for_update()).all())
        except BaseException:
            self.rollback()
            raise
        return connection

    def _compare(self, rows: Sequence[sa.Row[Any]]) -> None:
        found = {TopicPartition(row.topic, row.partition): (row.generation, row.next) for row in rows}
        for partition, expected in self._claimed.items():
            if found.get(partition) != expected:
                raise _moved(partition)

    def _move(self, connection: sa.Connection, rows: Mapping[TopicPartition, Kept]) -> None:
        moves = [self._rows.moved(partition, *self._claimed[partition], kept) for partition, kept in rows.items()]
        if moves and connection.execute(self._rows.move(), moves).rowcount != len(moves):
            raise _moved(*rows)

    @contextmanager
    def _transaction(self) -> Iterator[sa.Connection]:
        """A short one, of its own."""
        try:
            with _translated():
                connection = self._connect()
                yield connection
                connection.commit()
        except BaseException:
            self.rollback()
            raise

    def _connect(self) -> sa.Connection:
        if self._connection is None:
            connection = self._connection = self._engine.connect()
            if self._is_postgres:
                connection.exec_driver_sql(f"SET idle_in_transaction_session_timeout = {IDLE_MS}")
                if self._claimed:  # this is not the session that claimed
                    generations = {partition: generation for partition, (generation, _) in self._claimed.items()}
                    still = sa.update(OFFSETS).where(self._rows.claimed(generations))
                    connection.execute(still.values(pid=self._pid(connection)))
                connection.commit()
        return self._connection

    def _pid(self, connection: sa.Connection) -> int | None:
        return connection.scalar(sa.text("SELECT pg_backend_pid()")) if self._is_postgres else None


class _Held(RetriableError):
    """Another session holds our rows."""


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except exc.DBAPIError as error:
        raise _engine_error(error) from None


def _engine_error(error: exc.DBAPIError) -> EngineError:
    if getattr(error.orig, "sqlstate", None) == LOCK_NOT_AVAILABLE:
        return _Held(f"another session holds rows of {OFFSETS.name}: {words(error)}")
    if is_of_world(error) or isinstance(error, exc.IntegrityError):  # the latter: two claim for the first time
        return RetriableError(words(error))
    return ConfigError(((*OPTION, f"{OFFSETS.name} and {LETTERS.name} can't be used: {words(error)}"),))


def _moved(*partitions: TopicPartition) -> Fenced:
    names = ", ".join(f"{partition.topic}-{partition.partition}" for partition in partitions)
    return Fenced(f"{names}: not where we left it in {OFFSETS.name}; somebody else has it now")
