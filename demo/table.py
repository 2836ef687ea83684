"""Create the table that the demo connector writes to: `python -m demo.table`."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from demo.environment import FILES, demo_environment

TABLE_SQL = Path(__file__).with_name("table.sql")


def create(database: Path) -> None:
    """Create the table in a SQLite file, unless it exists."""
    database.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")  # readers and the two tasks do not lock each other out
        connection.executescript(TABLE_SQL.read_text())


if __name__ == "__main__":
    create(Path(demo_environment()["LOCAL_DIR"], FILES, "demo.sqlite3"))
