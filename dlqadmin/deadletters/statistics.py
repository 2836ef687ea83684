"""What SQLite's planner knows of the tables: sampled by the clock, since SQLite never does so by itself.

`PRAGMA optimize` is no way: before SQLite 3.46 it looks only at what its own connection has asked for, and a task's has
asked for nothing. PostgreSQL has autovacuum.
"""

from __future__ import annotations

from django.db import connection, transaction

SAMPLED = 1_000  # entries of an index that are looked at where they are alike: `PRAGMA analysis_limit`
FEW = 100  # rows: a table that has fewer may have a million before the next look, and would be read from end to end


def gather() -> None:
    """Sample all tables anew, in some tens of milliseconds that nobody else writes in, however large they are.

    This connection plans by it, and those that are opened from then on.
    """
    if connection.vendor != "sqlite":
        return
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA analysis_limit = {SAMPLED}")
        with transaction.atomic():
            cursor.execute("ANALYZE")
            cursor.execute("DELETE FROM sqlite_stat1 WHERE CAST(stat AS INTEGER) < %s", [FEW])
            cursor.execute("ANALYZE sqlite_master")  # SQLite's way to have this connection read what is left of it
