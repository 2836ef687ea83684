"""The table that the demonstration's connector writes to: its rows, and a repair of its constraints."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from demo.environment import FILES
from tests.support.product import Product

WAIT_S = 30


def place(product: Product, key: str) -> str | None:
    """Return the place of an event; None when it has no row."""
    with _connected(product) as connection:
        found = connection.execute("SELECT place FROM earthquakes WHERE id = ?", (key,)).fetchone()
    return found[0] if found else None


def keys(product: Product) -> set[str]:
    """Return the ids of all rows."""
    with _connected(product) as connection:
        return {key for (key,) in connection.execute("SELECT id FROM earthquakes")}


def allow_null(product: Product, *columns: str) -> None:
    """Drop NOT NULL from the columns in one transaction, as somebody who repairs the table does; the rows stay."""
    with _connected(product) as connection:
        connection.execute("BEGIN IMMEDIATE")
        (sql,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = 'earthquakes'").fetchone()
        for column in columns:
            sql = re.sub(rf"(\n\s*{column} .*?)NOT NULL", r"\1", sql)
        connection.execute("ALTER TABLE earthquakes RENAME TO replaced")
        connection.execute(sql)
        connection.execute("INSERT INTO earthquakes SELECT * FROM replaced")
        connection.execute("DROP TABLE replaced")
        connection.execute("COMMIT")


@contextmanager
def _connected(product: Product) -> Iterator[sqlite3.Connection]:
    database = Path(product.home, FILES, "demo.sqlite3")
    with closing(sqlite3.connect(database, timeout=WAIT_S, isolation_level=None)) as connection:
        yield connection
