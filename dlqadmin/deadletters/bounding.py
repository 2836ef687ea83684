"""A limit on how long a query may take; after it the caller says what it has."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import OperationalError, connection, transaction

TIMEOUT_S = 2.0
STEPS = 10_000  # of SQLite's virtual machine between two looks at the clock


class TimedOut(Exception):
    """The query took longer than it may."""


@contextmanager
def bounded(seconds: float = TIMEOUT_S) -> Iterator[None]:
    """Queries inside end after `seconds`. Raises TimedOut."""
    deadline = time.monotonic() + seconds
    try:
        if connection.vendor == "postgresql":
            with transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(f"SET LOCAL statement_timeout = {int(seconds * 1000)}")
                yield
            return
        connection.ensure_connection()
        connection.connection.set_progress_handler(lambda: time.monotonic() > deadline, STEPS)
        try:
            yield
        finally:
            connection.connection.set_progress_handler(None, 0)
    except OperationalError as error:
        if "statement timeout" in str(error) or "interrupted" in str(error):
            raise TimedOut from error
        raise
