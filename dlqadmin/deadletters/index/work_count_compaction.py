"""Add up the rows of `WorkChange`, so that counting reads few rows.

Sums stay the same at each moment. A kill changes nothing, and two compactions at once are as good as one.
"""

from __future__ import annotations

from django.db import connection, transaction

from dlqadmin.deadletters.models import WorkChange

_KEY = "hour, cluster, topic, connector, fingerprint_id, state, removed"
_NEW = "hour IN (SELECT hour FROM {changes} WHERE NOT compacted)"
_SUMS = f"SELECT {_KEY}, SUM(n), TRUE FROM {{source}} GROUP BY {_KEY} HAVING SUM(n) <> 0"  # noqa: S608 (names of ours)
_INSERT = f"INSERT INTO {{changes}} ({_KEY}, n, compacted) {_SUMS}"
# One statement deletes and inserts, so no reader sees half of it. Rows that are added meanwhile are not in its
# snapshot. A second compaction waits for the deleted rows and leaves them out.
_POSTGRES = (f"WITH gone AS (DELETE FROM {{changes}} WHERE {_NEW} RETURNING *) {_INSERT}",)  # noqa: S608 (names of ours)
# SQLite has one writer, and its readers see whole transactions. The first statement takes the write lock.
_SQLITE = (
    f"UPDATE {{changes}} SET compacted = FALSE WHERE {_NEW}",  # noqa: S608 (names of ours)
    _INSERT,
    "DELETE FROM {changes} WHERE NOT compacted",
)


@transaction.atomic
def compact() -> None:
    """Replace the rows of each hour that has new rows by one row for each key."""
    table, is_postgres = WorkChange._meta.db_table, connection.vendor == "postgresql"
    source = "gone" if is_postgres else f"(SELECT * FROM {table} WHERE NOT compacted) AS gone"  # noqa: S608 (a name of ours)
    with connection.cursor() as cursor:
        for statement in _POSTGRES if is_postgres else _SQLITE:
            cursor.execute(statement.format(changes=table, source=source))
