"""The watermark: the id up to which the index is complete. Rows indexed later have higher ids.

PostgreSQL assigns an id before the row becomes visible, so a lower id can become visible later. A writer
therefore holds a shared lock from before it takes ids until its transaction ends. A reader of the watermark
waits for these locks. SQLite has one writer at a time.
"""

from __future__ import annotations

from django.db import OperationalError, connection, transaction
from django.db.models import Max

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.rest.problems import Conflict

LOCK = 0x646C71_01  # an advisory lock; writers that take ids share it
WAIT_S = 3.0  # no writer can take ids during this wait
LOCK_NOT_AVAILABLE = "55P03"


def hold_back() -> None:
    """Keep watermarks below the ids taken from now on, until the transaction ends."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock_shared(%s)", [LOCK])


def complete_up_to() -> int:
    """Return the highest id. Do not call it within a transaction.

    Raises Conflict if a writer takes too long.
    """
    if connection.vendor != "postgresql":  # a transaction would block the writer on SQLite
        return _last()
    with transaction.atomic(durable=True, savepoint=False):
        _wait()
        return _last()


def _last() -> int:
    last: int | None = DeadLetter.objects.aggregate(last=Max("pk"))["last"]
    return last or 0


def _wait() -> None:
    try:
        with connection.cursor() as cursor:
            cursor.execute(f"SET LOCAL lock_timeout = {int(WAIT_S * 1000)}")
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", None) != LOCK_NOT_AVAILABLE:
            raise
        raise Conflict(f"Records are being indexed, for longer than {WAIT_S:.0f} s. Try again.") from None
