"""The watermark: the id up to which the index is complete. Rows indexed later have higher ids.

PostgreSQL assigns an id before the row becomes visible, so a lower id can become visible later. A writer
therefore holds a shared lock from before it takes ids until its transaction ends. A reader of the watermark
waits for these locks. SQLite has one writer at a time.
"""

from __future__ import annotations

from django.db import OperationalError, connection, transaction
from django.db.models import Max

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.rest.problems import StateConflict

LOCK = 0x646C71_01  # an advisory lock; writers that take ids share it
WAIT_S = 3.0  # no writer can take ids during this wait
LOCK_NOT_AVAILABLE = "55P03"


def hold_watermark() -> None:
    """Keep watermarks below the ids taken from now on, until the transaction ends."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock_shared(%s)", [LOCK])


def complete_up_to() -> int:
    """Return the highest id. Do not call it within a transaction.

    Raises StateConflict if a writer takes too long.
    """
    if connection.vendor != "postgresql":  # a transaction would block the writer on SQLite
        return _highest_id()
    with transaction.atomic(durable=True, savepoint=False):
        _wait_for_writers()
        return _highest_id()


def _highest_id() -> int:
    last: int | None = DeadLetter.objects.aggregate(last=Max("pk"))["last"]
    return last or 0


def _wait_for_writers() -> None:
    try:
        with connection.cursor() as cursor:
            # A waiting exclusive lock also stops new shared locks, so the wait must be short: it stops the indexer.
            cursor.execute(f"SET LOCAL lock_timeout = {int(WAIT_S * 1000)}")
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
    except OperationalError as error:
        # Any other error, such as a lost connection, must not be reported as a busy indexer.
        if getattr(error.__cause__, "sqlstate", None) != LOCK_NOT_AVAILABLE:
            raise
        raise StateConflict(f"The indexer has been writing records for more than {WAIT_S:.0f} s. Try again.") from None
