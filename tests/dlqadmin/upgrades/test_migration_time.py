"""The time that the migrations from an earlier release take on a million rows."""

from __future__ import annotations

import gzip
import sqlite3
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from demo.postgres import LocalPostgres
from tests.dlqadmin.upgrades.record import POSTGRES, PRODUCT
from tests.dlqadmin.upgrades.test_database import RELEASES, run

MILLION = 1_000_000
LIMIT_S = 120  # docs/how-to/upgrade.md has the measured time
# Table → columns that differ in each copy of its rows. The parents come first.
COPIED = {
    "deadletters_deadletter": ("id", "offset"),
    "deadletters_deadletterbody": ("dead_letter_id",),
    "replays_replayitem": ("id", "ordinal"),
}
LEFT_OUT = ("value", "context")  # the bytes would take most of the time, and no migration reads them
INDEXES = {
    "sqlite": "SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL AND tbl_name = '{}'",
    "postgresql": "SELECT indexname, indexdef FROM pg_indexes WHERE tablename = '{}' "
    "AND indexname NOT IN (SELECT conname FROM pg_constraint)",
}
Execute = Callable[[str], Any]  # returns a cursor


def fill(execute: Execute, vendor: str) -> None:
    """Copy the recorded rows until each table has a million. Indexes are built afterwards, which is faster."""
    for table, shifted in COPIED.items():
        (count,) = execute(f"SELECT count(*) FROM {table}").fetchone()
        indexes = execute(INDEXES[vendor].format(table)).fetchall()
        for name, _ in indexes:
            execute(f"DROP INDEX {name}")
        columns = [column[0] for column in execute(f"SELECT * FROM {table} LIMIT 0").description]
        columns = [name for name in columns if name not in LEFT_OUT]
        steps = {name: execute(f'SELECT max("{name}") + 1 FROM {table}').fetchone()[0] for name in shifted}
        copied = [f'"{name}" + copy * {steps[name]}' if name in steps else f'"{name}"' for name in columns]
        chosen = ", ".join(f'"{name}"' for name in columns)
        copies = f"SELECT 1 UNION ALL SELECT copy + 1 FROM c WHERE copy < {MILLION // count}"
        # Ids ascend, because SQLite loops over the first table of a CROSS JOIN.
        execute(
            f"INSERT INTO {table} ({chosen}) WITH RECURSIVE c(copy) AS ({copies}) "
            f"SELECT {', '.join(copied)} FROM c CROSS JOIN {table}"
        )
        for _, sql in indexes:
            execute(sql)


def counts(execute: Execute) -> list[int]:
    found = [execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in COPIED]
    assert min(found) >= MILLION
    return found


@pytest.fixture
def tell(capsys: pytest.CaptureFixture[str]) -> Callable[[str, float], None]:
    """Show a figure although the test passes."""

    def show(title: str, seconds: float) -> None:
        with capsys.disabled():
            sys.stdout.write(f"\n{title}: {seconds:.1f} s\n")

    return show


def migrate(url: str) -> float:
    """Migrate the database; return the seconds, with the start of the command."""
    began = time.monotonic()
    run(url, "manage.py", "migrate")
    return time.monotonic() - began


@pytest.mark.soak  # a million rows; shorter: test_database.py
@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name)
def test_a_million_rows_are_migrated_on_sqlite(
    release: Path, tmp_path: Path, tell: Callable[[str, float], None]
) -> None:
    with tarfile.open(release / PRODUCT) as archive:
        archive.extract("./dlqadmin.sqlite3", tmp_path, filter="data")
    file = tmp_path / "dlqadmin.sqlite3"
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA synchronous = OFF")
        database.execute("PRAGMA cache_size = -400000")  # kB
        fill(database.execute, "sqlite")
        database.commit()
        before = counts(database.execute)
    seconds = migrate(f"sqlite:///{file}")
    tell(f"migrations from {release.name} on SQLite", seconds)
    with closing(sqlite3.connect(file)) as database:
        assert counts(database.execute) == before
    assert seconds < LIMIT_S


@pytest.mark.soak  # a million rows; shorter: test_database.py
@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name)
def test_a_million_rows_are_migrated_on_postgresql(release: Path, tell: Callable[[str, float], None]) -> None:
    server = LocalPostgres().start()
    try:
        dump = gzip.decompress((release / POSTGRES).read_bytes())
        command = ["psql", "--quiet", "--set", "ON_ERROR_STOP=1", server.url]
        subprocess.run(command, input=dump, check=True, capture_output=True)
        with psycopg.connect(server.url, autocommit=True) as database:
            # Foreign keys and triggers are not checked for copies of valid rows.
            database.execute("SET session_replication_role = replica")

            def execute(sql: str) -> Any:
                return database.execute(sql.encode())

            fill(execute, "postgresql")
            before = counts(execute)
        seconds = migrate(server.url)
        tell(f"migrations from {release.name} on PostgreSQL", seconds)
        with psycopg.connect(server.url) as database:
            assert counts(lambda sql: database.execute(sql.encode())) == before
        assert seconds < LIMIT_S
    finally:
        server.stop()
