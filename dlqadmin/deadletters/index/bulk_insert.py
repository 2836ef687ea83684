"""Bulk writes: by COPY or from JSON on PostgreSQL, by a prepared statement on SQLite.

Ids are reserved before the rows are written, so that rows that refer to each other can be written in bulk
too.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol

import msgspec
from django.db import connection, models


class BulkTable(NamedTuple):
    """A table's columns in the order of its rows, each with PostgreSQL's name of its type."""

    model: type[models.Model]
    columns: Mapping[str, str]

    @property
    def name(self) -> str:
        return self.model._meta.db_table

    @property
    def quoted_columns(self) -> str:
        return ", ".join(connection.ops.quote_name(column) for column in self.columns)


class BulkWriter(Protocol):
    """The bulk operations of a database. All of them run within the caller's transaction."""

    def ids(self, model: type[models.Model], n: int) -> Sequence[int]:
        """Reserve `n` new ids; return them in ascending order."""
        ...

    def insert(self, table: BulkTable, rows: Iterable[Sequence[Any]]) -> None:
        """Insert rows. Every row contains its id and all other values, so the database returns nothing."""
        ...

    def keep(self, table: BulkTable, rows: Sequence[Sequence[Any]]) -> None:
        """Insert rows, except those whose first column is already in the table."""
        ...

    def change(self, table: BulkTable, rows: Sequence[Sequence[Any]]) -> None:
        """Update all columns but the first, in the rows that the first column identifies."""
        ...

    def add(self, table: BulkTable, rows: Sequence[Sequence[Any]]) -> None:
        """Add the last column to a counter, or create the counter. The other columns name the counter.

        All callers sort rows in the same order, so that two writers cannot deadlock.
        """
        ...


def bulk() -> BulkWriter:
    """Return the implementation for the database in use."""
    return _PostgresBulkWriter() if connection.vendor == "postgresql" else _SqliteBulkWriter()


class _PostgresBulkWriter:
    def ids(self, model: type[models.Model], n: int) -> Sequence[int]:
        # Looking up the sequence takes longer than taking a number from it, so it is looked up once.
        sql = (
            "WITH sequence AS MATERIALIZED (SELECT pg_get_serial_sequence(%s, 'id')::regclass AS name) "
            "SELECT nextval(name) FROM sequence, generate_series(1, %s)"
        )
        with connection.cursor() as cursor:
            cursor.execute(sql, [model._meta.db_table, n])
            return sorted(number for (number,) in cursor.fetchall())

    def insert(self, table: BulkTable, rows: Iterable[Sequence[Any]]) -> None:
        types = list(table.columns.values())
        is_binary = "tsvector" not in types  # a client cannot write a tsvector in binary form
        sql = f"COPY {table.name} ({table.quoted_columns}) FROM STDIN{' (FORMAT binary)' if is_binary else ''}"
        with connection.wrap_database_errors, connection.cursor() as cursor, cursor.copy(sql) as copy:
            if is_binary:
                copy.set_types(types)
            for row in rows:
                copy.write_row(row)

    def keep(self, table: BulkTable, rows: Sequence[Sequence[Any]]) -> None:
        sql = f"{_insert_clause(table)} SELECT * FROM {_recordset(table)} ON CONFLICT DO NOTHING"  # noqa: S608 (names of ours)
        self._from_json(sql, table, rows)

    def change(self, table: BulkTable, rows: Sequence[Sequence[Any]]) -> None:
        key, *others = table.columns
        changes = ", ".join(f"{column} = given.{column}" for column in others)
        sql = f"UPDATE {table.name} SET {changes} FROM {_recordset(table)} WHERE {table.name}.{key} = given.{key}"  # noqa: S608 (names of ours)
        self._from_json(sql, table, rows)

    def add(self, table: BulkTable, rows: Sequence[Sequence[Any]]) -> None:
        sql = f"{_insert_clause(table)} SELECT * FROM {_recordset(table)} {_add_on_conflict(table)}"  # noqa: S608 (names of ours)
        self._from_json(sql, table, rows)

    def _from_json(self, sql: str, table: BulkTable, rows: Sequence[Sequence[Any]]) -> None:
        """Run a statement with all rows as one JSON parameter.

        Thousands of parameters take many times as long to write and to parse.
        """
        if rows:
            given = msgspec.json.encode([dict(zip(table.columns, row, strict=True)) for row in rows]).decode()
            with connection.cursor() as cursor:
                cursor.execute(sql, [given])


class _SqliteBulkWriter:
    def ids(self, model: type[models.Model], n: int) -> Sequence[int]:
        """Return the ids after the last one. SQLite has one writer, so nobody takes them meanwhile."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT seq FROM sqlite_sequence WHERE name = %s", [model._meta.db_table])
            (last,) = cursor.fetchone() or (0,)
        return range(last + 1, last + 1 + n)

    def insert(self, table: BulkTable, rows: Iterable[Sequence[Any]]) -> None:
        self._each(f"{_insert_clause(table)} {_placeholders(table)}", rows)

    def keep(self, table: BulkTable, rows: Sequence[Sequence[Any]]) -> None:
        self._each(f"{_insert_clause(table)} {_placeholders(table)} ON CONFLICT DO NOTHING", rows)

    def change(self, table: BulkTable, rows: Sequence[Sequence[Any]]) -> None:
        key, *others = table.columns
        changes = ", ".join(f"{column} = %s" for column in others)
        turned = ((*others, key) for key, *others in rows)
        self._each(f"UPDATE {table.name} SET {changes} WHERE {key} = %s", turned)  # noqa: S608 (names of ours)

    def add(self, table: BulkTable, rows: Sequence[Sequence[Any]]) -> None:
        self._each(f"{_insert_clause(table)} {_placeholders(table)} {_add_on_conflict(table)}", rows)

    def _each(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        with connection.cursor() as cursor:
            cursor.executemany(sql, [[_adapt_value(value) for value in row] for row in rows])


def _adapt_value(value: Any) -> Any:
    return connection.ops.adapt_datetimefield_value(value) if isinstance(value, datetime) else value


def _insert_clause(table: BulkTable) -> str:
    return f"INSERT INTO {table.name} ({table.quoted_columns})"


def _placeholders(table: BulkTable) -> str:
    return f"VALUES ({', '.join(['%s'] * len(table.columns))})"


def _recordset(table: BulkTable) -> str:
    columns = ", ".join(f"{connection.ops.quote_name(column)} {kind}" for column, kind in table.columns.items())
    return f"json_to_recordset(%s::json) AS given({columns})"


def _add_on_conflict(table: BulkTable) -> str:
    *cell, n = table.columns
    return f"ON CONFLICT ({', '.join(cell)}) DO UPDATE SET {n} = {table.name}.{n} + excluded.{n}"
