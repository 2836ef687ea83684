"""Upserts of many rows: by COPY on PostgreSQL, by one prepared statement on SQLite."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import connection, transaction

from dlqadmin.deadletters.index.bulk_insert import BulkTable


def upsert(table: BulkTable, rows: Sequence[Sequence[Any]], key: Sequence[str]) -> None:
    """Insert the rows, or update the rows that have the same key.

    No two of `rows` may have the same key.
    """
    if not rows:
        return
    quote = connection.ops.quote_name
    names = [name for name in table.columns if name not in key]
    changed = ", ".join(f"{quote(name)} = excluded.{quote(name)}" for name in names)
    into = f"INSERT INTO {table.name} ({table.quoted_columns})"
    otherwise = f"ON CONFLICT ({', '.join(map(quote, key))}) DO UPDATE SET {changed}"
    with transaction.atomic(), connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            columns = ", ".join(f"{quote(name)} {kind}" for name, kind in table.columns.items())
            cursor.execute(f"CREATE TEMP TABLE given ({columns}) ON COMMIT DROP")
            with connection.wrap_database_errors, cursor.copy("COPY given FROM STDIN (FORMAT binary)") as copy:
                copy.set_types(list(table.columns.values()))
                for row in rows:
                    copy.write_row(row)
            # The same order in all transactions prevents deadlocks between two that write the same rows.
            order = ", ".join(map(quote, key))
            cursor.execute(f"{into} SELECT * FROM given ORDER BY {order} {otherwise}")  # noqa: S608 (names of ours)
            cursor.execute("DROP TABLE given")  # the caller's transaction may call this again
            return
        places = ", ".join(["%s"] * len(table.columns))
        plain = [[_plain(value) for value in row] for row in rows]
        cursor.executemany(f"{into} VALUES ({places}) {otherwise}", plain)


def _plain(value: Any) -> Any:
    return connection.ops.adapt_datetimefield_value(value) if isinstance(value, datetime) else value
