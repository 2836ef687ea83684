"""Topic to a table: rows and positions in one transaction of the database; dead letters through it, too."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterable
from contextlib import closing

import psycopg

from tests.chaos.topics import Input, create
from tests.chaos.verify import Verdict, judge, judge_unordered
from tests.chaos.workloads.base import PARTITIONS, json_converters
from tests.chaos.workloads.sink import SinkWorkload

TABLE = "CREATE TABLE arrived (place INTEGER PRIMARY KEY {serial}, p INTEGER NOT NULL, n INTEGER NOT NULL)"


class SqlWorkload(SinkWorkload):
    """SqlSink into SQLite or PostgreSQL. The table has no key that could hide a double; `place` keeps the order."""

    with_big = False

    def begin(self) -> None:
        self.is_sqlite = self.rng.random() < 0.5
        self.url = self.make_database()
        create(self.servers, self.dlq)
        self.input = Input(self.servers, self.name, PARTITIONS)
        self.feed()
        self.start(self.config())

    def config(self) -> dict[str, str]:
        return {
            "connector.class": "SqlSink",
            "topics": self.name,
            "connection.url": self.url,
            "table.name": "arrived",
            **({} if self.weak else {"delivery.guarantee": "exactly_once"}),
            "tasks.max": str(self.tasks),
            **json_converters(),
            **self.steps(),
            **self.tolerant(),
        }

    def make_database(self) -> str:
        if self.is_sqlite:
            self.path = self.world.files / f"{self.name}.sqlite3"
            with closing(sqlite3.connect(self.path)) as database:
                database.execute(TABLE.format(serial=""))
            return f"sqlite:///{self.path}"
        name = f"chaos_{uuid.uuid4().hex}"
        with psycopg.connect(self.world.postgres_url, autocommit=True) as server:
            server.execute(f"CREATE DATABASE {name}".encode())
        self.postgres = f"{self.world.postgres_url.rpartition('/')[0]}/{name}"
        with psycopg.connect(self.postgres, autocommit=True) as database:
            database.execute(TABLE.format(serial="GENERATED ALWAYS AS IDENTITY").encode())
        return self.postgres

    def progress(self) -> int:
        return len(self.rows())

    def rows(self) -> list[tuple[int, int]]:
        query = "SELECT p, n FROM arrived ORDER BY place"
        if self.is_sqlite:
            with closing(sqlite3.connect(self.path, timeout=30)) as database:
                return database.execute(query).fetchall()
        with psycopg.connect(self.postgres) as database:
            return database.execute(query).fetchall()

    def verdicts(self) -> dict[str, Verdict]:
        return {
            "rows": judge(self.good(), lanes(self.rows())),
            "dead letters": judge_unordered(self.failing(), self.letters()),
        }


def lanes(rows: Iterable[tuple[int, int]]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for partition, number in rows:
        found.setdefault(partition, []).append(number)
    return found
