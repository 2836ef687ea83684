"""Statistics for SQLite's query planner. SQLite never gathers them itself, so a periodic task does.

`PRAGMA optimize` does not help: before SQLite 3.46 it analyses only tables that its own connection has
queried, and a task's connection has queried none. PostgreSQL has autovacuum.
"""

from __future__ import annotations

from django.db import connection, transaction

SAMPLED = 1_000  # index entries with equal keys that ANALYZE reads: `PRAGMA analysis_limit`
FEW = 100  # rows; a smaller table may have a million before the next run, and SQLite would scan it


def gather() -> None:
    """Analyse all tables. Other writers wait for some tens of milliseconds, whatever the size.

    This connection uses the new statistics, and so do connections that are opened later.
    """
    if connection.vendor != "sqlite":
        return
    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA analysis_limit = {SAMPLED}")
        with transaction.atomic():
            cursor.execute("ANALYZE")
            cursor.execute("DELETE FROM sqlite_stat1 WHERE CAST(stat AS INTEGER) < %s", [FEW])
            cursor.execute("ANALYZE sqlite_master")  # makes this connection read the remaining statistics
