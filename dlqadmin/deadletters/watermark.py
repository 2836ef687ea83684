"""The id up to which the index is complete: what is indexed later has a higher one.

PostgreSQL hands out an id before its row is seen, so a lower one may come to be seen later. Whoever takes ids says so
until its transaction ends, and whoever wants a watermark waits for those that said so. SQLite has one writer at a time.
"""

from __future__ import annotations

from django.db import OperationalError, connection, transaction
from django.db.models import Max

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.rest.problems import Conflict

LOCK = 0x646C71_01  # an advisory lock: shared by those who take ids
WAIT_S = 3.0  # meanwhile nobody takes ids either
LOCK_NOT_AVAILABLE = "55P03"


def hold_back() -> None:
    """No watermark passes the ids that are taken from now on, until the transaction ends."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock_shared(%s)", [LOCK])


def complete_up_to() -> int:
    """The highest id. Not within a transaction. Raises Conflict where a writer takes too long."""
    if connection.vendor != "postgresql":  # where a transaction would keep the index from writing
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
