"""A rehearsed put gives each record its own result, and leaves the database as it was, whatever ends it."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from engine.connectors.sql.put_rehearsal import ENDED, LATE, PutTrials, rehearse_put
from engine.errors import ConfigError, DataError, RetriableError
from engine.record.record import Record
from tests.engine.kafka.test_sql_sink import Database, quake

SLOW = "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n)"


@pytest.fixture(params=["sqlite", "postgres"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    is_sqlite = request.param == "sqlite"
    made = Database(f"sqlite:///{tmp_path / 'put.sqlite3'}" if is_sqlite else request.getfixturevalue("postgres_url"))
    yield made
    made.engine.dispose()


@pytest.fixture
def server(postgres_url: str) -> Iterator[Database]:
    made = Database(postgres_url)
    yield made
    made.engine.dispose()


@pytest.fixture
def lite(tmp_path: Path) -> Iterator[Database]:
    made = Database(f"sqlite:///{tmp_path / 'put.sqlite3'}")
    yield made
    made.engine.dispose()


def options(database: Database, **more: str) -> dict[str, str]:
    named = {name.replace("_", "."): value for name, value in more.items()}
    given = {"connection.url": database.url, "table.name": database.table, "insert.mode": "upsert"}
    return {**given, "pk.mode": "record_key", "pk.fields": "id", **named}


def rehearse(database: Database, *records: Record, seconds: float = 3.0, **more: str) -> PutTrials:
    return rehearse_put(options(database, **more), records, "/", seconds)


def execute(database: Database, *statements: str) -> None:
    with database.engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement.replace("{table}", database.table))


def words(done: PutTrials) -> list[str]:
    return [trial.hindrance or ("ok" if trial.error is None else str(trial.error)) for trial in done.trials]


def test_each_record_gets_its_own_result_and_none_is_written(database: Database) -> None:
    execute(database, "INSERT INTO {table} VALUES ('a', 1, 1)")
    bare = Record("t", 0, 0, "d", "text", offset=0)
    done = rehearse(database, quake("a", mag=2.0, gap=2.0), quake("b", gap=None), bare, quake("c", mag=11.0, gap=1.0),
                    quake("e", gap=1.0))  # fmt: skip
    assert [trial.error is None for trial in done.trials] == [True, False, False, False, True]
    assert "gap" in str(done.trials[1].error)
    assert isinstance(done.trials[2].error, DataError)
    assert not any(trial.hindrance for trial in done.trials)
    assert (done.table, done.rows_before, done.rows_after) == (database.table, 1, 1)
    assert database.rows() == [("a", 1.0, 1.0)]


def test_rows_of_the_same_put_meet_each_other(database: Database) -> None:
    done = rehearse(database, quake("a", gap=1.0), quake("a", gap=2.0), insert_mode="insert")
    assert [trial.error is None for trial in done.trials] == [True, False]
    assert database.rows() == []


def test_a_whole_sqlite_file_stays_as_it_was(lite: Database, tmp_path: Path) -> None:
    execute(
        lite,
        "CREATE TABLE counted (id INTEGER PRIMARY KEY AUTOINCREMENT, gap REAL)",
        "INSERT INTO counted (gap) VALUES (1)",
        "CREATE TRIGGER log AFTER INSERT ON {table} BEGIN INSERT INTO counted (gap) VALUES (new.gap); END",
    )
    before = dump(tmp_path)
    assert words(rehearse(lite, *(quake(f"k{n}", gap=1.0) for n in range(100)))) == ["ok"] * 100
    assert dump(tmp_path) == before
    assert list(tmp_path.iterdir()) == [tmp_path / "put.sqlite3"]


def dump(folder: Path) -> list[str]:
    with sqlite3.connect(folder / "put.sqlite3") as connection:
        return [*connection.iterdump(), str(connection.execute("SELECT * FROM sqlite_sequence").fetchall())]


@pytest.mark.slow
def test_a_slow_statement_ends_with_the_time_limit(lite: Database) -> None:
    execute(lite, f"CREATE TRIGGER slow BEFORE INSERT ON {{table}} WHEN new.id = 'b' BEGIN SELECT {SLOW}; END")
    began = time.monotonic()
    done = rehearse(lite, quake("a", gap=1.0), quake("b", gap=1.0), quake("c", gap=1.0), seconds=0.3)
    assert time.monotonic() - began < 2
    assert words(done) == ["ok", LATE, LATE]
    assert lite.rows() == []


def test_the_server_ends_a_slow_statement_itself(server: Database) -> None:
    execute(
        server,
        "CREATE FUNCTION {table}_slow() RETURNS trigger LANGUAGE plpgsql"
        " AS 'BEGIN PERFORM pg_sleep(30); RETURN new; END'",
        "CREATE TRIGGER slow BEFORE INSERT ON {table} FOR EACH ROW WHEN (new.id = 'b')"
        " EXECUTE FUNCTION {table}_slow()",
    )  # fmt: skip
    began = time.monotonic()
    done = rehearse(server, quake("a", gap=1.0), quake("b", gap=1.0), quake("c", gap=1.0), seconds=0.5)
    assert time.monotonic() - began < 5
    assert words(done) == ["ok", LATE, LATE]
    assert server.rows() == []


@pytest.mark.slow
def test_a_lock_that_is_never_free_is_not_waited_for(database: Database) -> None:
    with database.engine.connect() as holder:
        is_lite = database.engine.dialect.name == "sqlite"
        holder.exec_driver_sql("BEGIN EXCLUSIVE" if is_lite else f"LOCK TABLE {database.table} IN SHARE MODE")
        began = time.monotonic()
        if is_lite:
            with pytest.raises(RetriableError, match="locked"):
                rehearse(database, quake("a", gap=1.0))
        else:
            assert "lock timeout" in words(rehearse(database, quake("a", gap=1.0)))[0]
        assert time.monotonic() - began < 6
        holder.rollback()
    assert database.rows() == []


def test_a_row_that_ends_the_transaction_is_the_last_one(lite: Database) -> None:
    """Without a transaction, SQLite would commit the next row at once."""
    execute(lite, "CREATE TABLE strict (id TEXT PRIMARY KEY, gap REAL NOT NULL ON CONFLICT ROLLBACK)")
    rows = (quake("a", gap=1.0), quake("b", gap=None), quake("c", gap=1.0))
    done = rehearse(lite, *rows, table_name="strict", insert_mode="insert")
    assert words(done) == ["ok", "NOT NULL constraint failed: strict.gap", ENDED]
    assert (done.rows_before, done.rows_after) == (0, 0)


def test_a_url_can_not_turn_autocommit_on(server: Database) -> None:
    """psycopg takes any of its arguments from the URL."""
    url = sa.make_url(server.url).update_query_dict({"autocommit": "true"})
    given = options(server) | {"connection.url": url.render_as_string(hide_password=False)}
    assert words(rehearse_put(given, [quake("a", gap=1.0)], "/")) == ["ok"]
    assert server.rows() == []


def test_a_missing_table_is_not_made(lite: Database) -> None:
    with pytest.raises(ConfigError, match="is not a table of the database"):
        rehearse(lite, quake("a", gap=1.0), table_name="absent")
    with pytest.raises(ConfigError, match="is not a column of the table"):
        rehearse(lite, quake("a", gap=1.0), pk_fields="absent")
    assert sa.inspect(lite.engine).get_table_names() == [lite.table]


def test_virtual_tables_and_views_are_refused(lite: Database) -> None:
    execute(
        lite,
        "CREATE VIRTUAL TABLE words USING fts5(id, gap)",
        "CREATE VIEW seen AS SELECT id, gap FROM {table}",
        "CREATE TRIGGER put INSTEAD OF INSERT ON seen"
        " BEGIN INSERT INTO {table} (id, gap) VALUES (new.id, new.gap); END",
    )
    for name in ("words", "seen"):
        with pytest.raises(ConfigError, match="a rollback may not undo"):
            rehearse(lite, quake("a", gap=1.0), table_name=name, insert_mode="insert")


def test_partitions_are_tables_but_views_are_refused_on_a_server_too(server: Database) -> None:
    execute(
        server,
        "CREATE VIEW {table}_seen AS SELECT * FROM {table}",
        "CREATE TABLE {table}_parts (id TEXT, gap FLOAT NOT NULL) PARTITION BY LIST (id)",
        "CREATE TABLE {table}_part PARTITION OF {table}_parts DEFAULT",
    )
    with pytest.raises(ConfigError, match="a rollback may not undo"):
        rehearse(server, quake("a", gap=1.0), table_name=f"{server.table}_seen", insert_mode="insert")
    done = rehearse(server, quake("a", gap=1.0), table_name=f"{server.table}_parts", insert_mode="insert")
    assert words(done) == ["ok"]


KILLED = """
import sys
from engine.connectors.sql.put_rehearsal import rehearse_put
from engine.record.record import Record
url, table, count = sys.argv[1:]
config = {"connection.url": url, "table.name": table}
def records():
    for number in range(int(count)):
        yield Record("t", 0, 0, None, {"id": f"k{number}", "gap": 1.0, "note": "x" * 40_000}, offset=0)
    print("half", flush=True)
    sys.stdin.read()
class Records:
    def __iter__(self): return records()
    def __len__(self): return int(count)
rehearse_put(config, Records(), "/", 60.0)
"""


@pytest.mark.slow
def test_a_process_that_is_killed_in_the_middle_writes_nothing(database: Database) -> None:
    execute(database, "ALTER TABLE {table} ADD COLUMN note TEXT")
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, database.url, database.table, "100"],  # more than SQLite's cache holds
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout is not None
        assert process.stdout.readline() == b"half\n"
        os.kill(process.pid, signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert database.rows() == []
    assert words(rehearse(database, quake("a", gap=1.0))) == ["ok"]


@pytest.mark.slow
def test_tasks_write_while_a_rehearsal_runs(lite: Database) -> None:
    """Its lock ends before the tasks' wait for it does."""
    execute(lite, f"CREATE TRIGGER slow BEFORE INSERT ON {{table}} WHEN new.id = 'slow' BEGIN SELECT {SLOW}; END")
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(rehearse(lite, quake("slow", gap=1.0), seconds=0.5)))
    thread.start()
    time.sleep(0.1)
    sink = lite.sink()
    sink.put([quake("a", gap=1.0)])
    sink.stop()
    thread.join()
    assert words(found[0]) == [LATE]
    assert [row[0] for row in lite.rows()] == ["a"]
