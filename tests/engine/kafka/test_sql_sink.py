from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import sqlalchemy as sa

from engine.connectors.sql.sink import SqlSink
from engine.errors import ConfigError, RecordError, RetriableError
from engine.record.record import Record

TABLE = """CREATE TABLE {name}
    (id VARCHAR(40) PRIMARY KEY, mag DOUBLE PRECISION CHECK (mag < 10), gap DOUBLE PRECISION NOT NULL)"""


class Database:
    """A database with one table."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.table = f"quakes_{uuid4().hex[:8]}"
        place = sa.make_url(url)
        self.engine = sa.create_engine(
            place.set(drivername="postgresql+psycopg") if place.drivername == "postgresql" else place
        )
        with self.engine.begin() as connection:
            connection.execute(sa.text(TABLE.format(name=self.table)))

    def sink(self, **options: str) -> SqlSink:
        sink = SqlSink("/")
        defaults = {"insert.mode": "upsert", "pk.mode": "record_key", "pk.fields": "id"}
        named = {name.replace("_", "."): value for name, value in options.items()}
        sink.start({"connection.url": self.url, "table.name": self.table, **defaults, **named})
        return sink

    def rows(self) -> list[tuple[Any, ...]]:
        with self.engine.connect() as connection:
            return [
                tuple(row) for row in connection.execute(sa.text(f"SELECT id, mag, gap FROM {self.table} ORDER BY id"))
            ]


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    if request.param == "sqlite":
        made = Database(f"sqlite:///{tmp_path / 'sink.sqlite3'}")
    else:
        made = Database(request.getfixturevalue("postgres_url"))
    yield made
    made.engine.dispose()


def quake(key: Any, **value: Any) -> Record:
    return Record("t", 0, 0, key, value, offset=0)


def put(sink: SqlSink, *records: Record) -> list[tuple[int, str]]:
    """Put, and answer with the rejected records and the reasons."""
    try:
        sink.put(records)
    except ExceptionGroup as group:
        rejected = [error for error in group.exceptions if isinstance(error, RecordError)]
        return [(error.index, str(error.cause)) for error in rejected]
    finally:
        sink.stop()
    return []


def test_upserted_rows_are_there_once(database: Database) -> None:
    assert put(database.sink(), quake("a", mag=1.0, gap=2.0), quake("a", mag=3.0, gap=4.0)) == []
    assert put(database.sink(), quake("b", gap=1.0, depth=9), quake("a", mag=5.0, gap=6.0)) == []
    assert database.rows() == [("a", 5.0, 6.0), ("b", None, 1.0)]


def test_rejected_rows_are_named_with_the_drivers_words_and_none_is_written(database: Database) -> None:
    good = quake("a", mag=1.0, gap=2.0)
    rejected = put(database.sink(), good, quake("b", mag=1.0, gap=None), quake("c", mag=11.0, gap=1.0))
    assert [index for index, _ in rejected] == [1, 2]
    assert "gap" in rejected[0][1]
    assert "INSERT" not in rejected[0][1]
    assert database.rows() == []


def test_sqlites_own_words_are_kept(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'sink.sqlite3'}")
    assert put(database.sink(), quake("b", gap=None)) == [(0, f"NOT NULL constraint failed: {database.table}.gap")]
    database.engine.dispose()


def test_a_value_without_fields_and_a_value_that_no_driver_takes_are_rejected(database: Database) -> None:
    wrong = Record("t", 0, 0, "a", "text", offset=0)
    assert [index for index, _ in put(database.sink(), wrong, quake("b", gap=1.0))] == [0]
    assert [index for index, _ in put(database.sink(), quake("a", gap={"x": 1}), quake("b", gap=1.0))] == [0]
    assert database.rows() == []


def test_inserting_a_key_twice_is_rejected(database: Database) -> None:
    assert put(database.sink(insert_mode="insert"), quake("a", gap=1.0)) == []
    assert [index for index, _ in put(database.sink(insert_mode="insert"), quake("a", gap=1.0))] == [0]


def test_the_primary_key_may_come_from_the_value_or_from_a_struct_key(database: Database) -> None:
    assert put(database.sink(pk_mode="record_value"), quake(None, id="a", gap=1.0)) == []
    assert put(database.sink(), quake({"id": "b"}, gap=1.0)) == []
    assert [index for index, _ in put(database.sink(), quake({"other": "b"}, gap=1.0))] == [0]
    assert [row[0] for row in database.rows()] == ["a", "b"]


def test_only_whitelisted_fields_are_written(database: Database) -> None:
    put(database.sink(fields_whitelist="gap"), quake("a", mag=1.0, gap=2.0))
    assert database.rows() == [("a", None, 2.0)]


def test_a_missing_table_is_an_error_of_the_configuration(database: Database) -> None:
    with pytest.raises(ConfigError, match=r"table\.name"):
        database.sink(table_name="absent")


def test_a_locked_database_is_retriable(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'sink.sqlite3'}?timeout=0")
    sink = database.sink()
    holder = sqlite3.connect(tmp_path / "sink.sqlite3", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(RetriableError, match="locked"):
        sink.put([quake("a", gap=1.0)])
    holder.close()
    sink.put([quake("a", gap=1.0)])
    sink.stop()
    assert len(database.rows()) == 1
    database.engine.dispose()


def test_a_row_that_breaks_a_constraint_which_waits_for_the_commit_is_named(postgres_url: str) -> None:
    database = Database(postgres_url)
    with database.engine.begin() as connection:
        late = f"ADD CONSTRAINT late_{database.table} UNIQUE (gap) DEFERRABLE INITIALLY DEFERRED"
        connection.execute(sa.text(f"ALTER TABLE {database.table} {late}"))
    assert [index for index, _ in put(database.sink(), quake("a", gap=1.0), quake("b", gap=1.0))] == [1]
    assert database.rows() == []
    database.engine.dispose()
