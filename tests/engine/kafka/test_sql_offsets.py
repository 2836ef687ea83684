"""A task's positions in its own database, on SQLite and on PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from uuid import uuid4

import pytest
import sqlalchemy as sa

from engine.connectors.sql.database import open_engine
from engine.connectors.sql.engine_tables import TaskRows, make_tables
from engine.connectors.sql.offsets import SqlOffsets
from engine.errors import ConfigError, GenerationFenced, RetriableError
from engine.exactly_once.buffered import BufferedRecord
from engine.pipeline.database_positions import OutboxRecord, PositionRow
from engine.record.record import TopicPartition

P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)


class Database:
    """A database in which connector `name` of one test writes to table `name`."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.name = f"c{uuid4().hex[:8]}"
        self.engine = open_engine(url, begin="BEGIN IMMEDIATE", root="/")
        self.opened: list[SqlOffsets] = []
        with self.engine.begin() as connection:
            connection.execute(sa.text(f"CREATE TABLE {self.name} (id INTEGER)"))

    def offsets(
        self, partitions: Sequence[TopicPartition] = (P0, P1), cluster: str = "g", grace_ms: int = 5000
    ) -> SqlOffsets:
        make_tables(self.engine)
        made = SqlOffsets(self.engine, TaskRows(cluster, self.name, partitions), grace_ms)
        self.opened.append(made)
        return made

    def put(self, offsets: SqlOffsets, number: int) -> None:
        with offsets.writing() as connection:
            connection.execute(sa.text(f"INSERT INTO {self.name} VALUES ({number})"))

    def numbers(self) -> list[int]:
        with self.engine.connect() as connection:
            return list(connection.scalars(sa.text(f"SELECT id FROM {self.name} ORDER BY id")))

    def close(self) -> None:
        for one in self.opened:
            one.rollback()
            one.close()
        self.engine.dispose()


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    url = f"sqlite:///{tmp_path}/rows.sqlite3" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    made = Database(url)
    yield made
    made.close()


@pytest.fixture
def postgres(postgres_url: str) -> Iterator[Database]:
    made = Database(postgres_url)
    yield made
    made.close()


def at(first: int, second: int = 0, memory: str = "m", letters: int = 0) -> dict[TopicPartition, PositionRow]:
    return {P0: PositionRow(first, memory, letters), P1: PositionRow(second, memory, 0)}


def begun(database: Database) -> SqlOffsets:
    offsets = database.offsets()
    assert offsets.claim() == {}
    offsets.adopt(at(0))
    return offsets


def letter(seq: int) -> OutboxRecord:
    return OutboxRecord(seq, BufferedRecord("dlq", b"\x00k", b"\xff", (("h", b"1"), ("h", None)), 1234, None))


def test_rows_and_positions_are_there_together_or_not_at_all(database: Database) -> None:
    offsets = begun(database)
    database.put(offsets, 1)
    offsets.save(at(5, 6), P0, (), 0)
    database.put(offsets, 2)
    offsets.rollback()
    assert database.numbers() == [1]
    assert database.offsets().claim() == at(5, 6)


def test_rows_that_are_not_committed_keep_it_open(database: Database) -> None:
    offsets = begun(database)
    seen = [offsets.is_open]
    database.put(offsets, 1)
    seen.append(offsets.is_open)
    offsets.save(at(1), P0, (), 0)
    seen.append(offsets.is_open)
    assert seen == [False, True, False]


def test_who_claims_fences_whoever_claimed_before(database: Database) -> None:
    old = begun(database)
    new = database.offsets()
    new.claim()
    with pytest.raises(GenerationFenced):
        database.put(old, 1)
    with pytest.raises(GenerationFenced):
        old.save(at(5), P0, (), 0)
    with pytest.raises(GenerationFenced):
        old.check()
    new.check()
    database.put(new, 2)
    new.save(at(1), P0, (), 0)
    assert database.numbers() == [2]


def test_one_partition_that_has_moved_is_enough(database: Database) -> None:
    old = begun(database)
    assert database.offsets([P1]).claim() == {P1: PositionRow(0, "m")}
    with pytest.raises(GenerationFenced, match="t-1"):
        database.put(old, 1)


def test_a_position_that_was_set_by_hand_ends_the_task_and_counts(database: Database) -> None:
    offsets = begun(database)
    with database.engine.begin() as connection:
        connection.execute(sa.text(f"UPDATE engine_offsets SET next = 7 WHERE connector = '{database.name}'"))
    with pytest.raises(GenerationFenced):
        database.put(offsets, 1)
    assert database.offsets().claim() == at(7, 7)


def test_two_clusters_have_rows_of_their_own(database: Database) -> None:
    begun(database)
    assert database.offsets(cluster="other").claim() == {}


def test_letters_are_kept_in_order_until_they_are_sent(database: Database) -> None:
    offsets = begun(database)
    offsets.save(at(1, letters=2), P0, [letter(1), letter(2)], 0)
    assert offsets.carriers() == [P0]
    assert offsets.letters(P0, 0, 10) == [letter(1), letter(2)]
    assert offsets.letters(P0, 1, 10) == [letter(2)]
    assert offsets.letters(P0, 0, 1) == [letter(1)]
    assert database.offsets([P1]).carriers() == []
    offsets.save(at(2, letters=3), P0, [letter(3)], 2)
    assert offsets.letters(P0, 0, 10) == [letter(3)]
    offsets.forget(P0, 3)
    assert offsets.carriers() == []


def test_two_first_claims_at_once_leave_one(database: Database) -> None:
    one, other = database.offsets(), database.offsets()
    one.claim()
    other.claim()
    one.adopt(at(0))
    with pytest.raises(RetriableError):
        other.adopt(at(9))
    assert other.claim() == at(0)


def test_what_is_adopted_replaces_what_is_there(database: Database) -> None:
    offsets = begun(database)
    offsets.adopt(at(50, 60, "taken"))
    database.put(offsets, 1)
    offsets.save(at(51, 60), P0, (), 0)
    assert database.offsets().claim() == at(51, 60)


def test_a_constraint_that_waits_for_the_commit_is_heard_of_before(postgres: Database) -> None:
    with postgres.engine.begin() as connection:
        late = f"ADD CONSTRAINT u_{postgres.name} UNIQUE (id) DEFERRABLE INITIALLY DEFERRED"
        connection.execute(sa.text(f"ALTER TABLE {postgres.name} {late}"))
    offsets = begun(postgres)
    with pytest.raises(sa.exc.IntegrityError), offsets.writing() as connection:
        connection.execute(sa.text(f"INSERT INTO {postgres.name} VALUES (1), (1)"))
    assert not offsets.is_open


def test_a_session_that_holds_the_rows_and_does_not_move_is_ended(postgres: Database) -> None:
    stopped = begun(postgres)
    postgres.put(stopped, 1)
    successor = postgres.offsets(grace_ms=200)
    assert successor.claim() == at(0)
    with pytest.raises(RetriableError):
        stopped.save(at(1), P0, (), 0)
    with pytest.raises(GenerationFenced):  # with a session of its own again
        postgres.put(stopped, 2)
    postgres.put(successor, 3)
    successor.save(at(1), P0, (), 0)
    assert postgres.numbers() == [3]


def role_with(postgres: Database, *statements: str) -> str:
    """Create a role that may log in, run these statements about it, and return its name."""
    role = f"r{uuid4().hex[:8]}"
    with postgres.engine.begin() as connection:
        for statement in ("CREATE ROLE {0} LOGIN", *statements):
            connection.execute(sa.text(statement.format(role)))
    return role


def test_who_may_not_end_that_session_says_so(postgres: Database) -> None:
    stopped = begun(postgres)
    postgres.put(stopped, 1)
    role = role_with(postgres, "GRANT SELECT, INSERT, UPDATE, DELETE ON engine_offsets, engine_letters TO {0}")
    weak = open_engine(postgres.url.replace("postgres@", f"{role}@"))
    successor = SqlOffsets(weak, TaskRows("g", postgres.name, [P0, P1]), 200)
    with pytest.raises(RetriableError, match=r"can't be ended: (must be|permission denied)"):
        successor.claim()
    successor.close()
    weak.dispose()


def test_tables_that_may_not_be_made_are_an_error_of_the_configuration(postgres: Database) -> None:
    role = role_with(postgres, "CREATE SCHEMA {0}", "GRANT USAGE ON SCHEMA {0} TO {0}")
    weak = open_engine(f"{postgres.url.replace('postgres@', f'{role}@')}?options=-csearch_path%3D{role}")
    with pytest.raises(ConfigError, match=r"needs the table engine_offsets, .*permission denied"):
        make_tables(weak)
    weak.dispose()


def test_a_table_that_may_not_be_written_is_an_error_of_the_configuration(postgres: Database) -> None:
    begun(postgres)
    role = role_with(postgres, "GRANT SELECT ON engine_offsets, engine_letters TO {0}")
    weak = open_engine(postgres.url.replace("postgres@", f"{role}@"))
    make_tables(weak)
    offsets = SqlOffsets(weak, TaskRows("g", postgres.name, [P0]))
    with pytest.raises(ConfigError, match="can't be used: permission denied"):
        offsets.claim()
    offsets.close()
    weak.dispose()
