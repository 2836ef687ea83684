"""Time limits for queries, and cancelling them. After the limit, callers return partial results."""

from __future__ import annotations

import functools
import re
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

from django.core.cache import BaseCache, caches
from django.db import OperationalError, connection, transaction
from redis.exceptions import RedisError

from dlqadmin.rest.problems import ParameterError, StateConflict

TIMEOUT_S = 2.0
SHORTEST_S = 0.01
UNSURE_S = 0.02  # seconds by which the database's clock may end a statement early
STEPS = 10_000  # of SQLite's virtual machine between two checks of the clock
LOOK_S = 0.05  # between two checks of the flag while SQLite runs a statement
REMEMBERED_S = 60
SHARED = "shared"  # the cache that all processes share
QUERY_CANCELED = "57014"
NAME = re.compile(r"[0-9A-Za-z-]{8,36}")


class QueryTimedOut(Exception):
    """The query exceeded its time limit."""


class QueryCancelled(StateConflict):
    """A user cancelled the query."""

    default_detail = "This query was cancelled."


class TimeBudget:
    """Seconds that the queries of one response share."""

    def __init__(self, seconds: float = TIMEOUT_S) -> None:
        self._ends = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Return the remaining seconds; zero or less when the budget is used up."""
        return self._ends - time.monotonic()


class CancellableRun:
    """A cancellable request. Its name contains the user's id and the name that the user chose."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._deaf = False

    def cancelled(self) -> bool:
        """Return whether its flag is set. After a failure the cache is not asked again."""
        try:
            return not self._deaf and bool(_shared_cache().get(_cancel_key(self.name)))
        except (RedisError, OSError):
            self._deaf = True
            return False


_running: ContextVar[CancellableRun | None] = ContextVar("running", default=None)


class QueryDeadline:
    """The remaining time of queries inside `bounded`."""

    def __init__(self, seconds: float) -> None:
        self._run = _running.get()
        self._budget = TimeBudget(max(SHORTEST_S, seconds))
        self._checked_at: float | None = None

    def check(self) -> None:
        """Check the limits before a statement and between two fetches. Raises QueryCancelled or QueryTimedOut.

        Every call checks the clock. The other checks run at most a hundred times a second.
        """
        if self._budget.left <= 0:
            raise QueryTimedOut
        now = time.monotonic()
        if self._checked_at is not None and now - self._checked_at < SHORTEST_S:
            return
        if self._run and self._run.cancelled():
            raise QueryCancelled
        if connection.vendor == "postgresql":
            self._set_statement_timeout()
        self._checked_at = now

    def end(self) -> QueryCancelled | QueryTimedOut:
        """Return why a statement was ended: with time left it was cancelled."""
        # Database and process have different clocks: near the limit, only the flag proves a cancellation.
        cancelled = self._budget.left > UNSURE_S or (self._run and self._run.cancelled())
        return QueryCancelled() if cancelled else QueryTimedOut()

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Let SQLite check the clock, and less often the flag, while it runs statements."""
        connection.ensure_connection()
        connection.connection.set_progress_handler(self._watcher(), STEPS)
        try:
            yield
        finally:
            connection.connection.set_progress_handler(None, 0)

    def _watcher(self) -> Callable[[], bool]:
        look = TimeBudget(LOOK_S)

        def is_over() -> bool:
            nonlocal look
            if self._run and look.left <= 0:
                look = TimeBudget(LOOK_S)
                if self._run.cancelled():
                    return True
            return self._budget.left <= 0

        return is_over

    def _set_statement_timeout(self) -> None:
        """Set PostgreSQL's statement time-out to the remaining time.

        The application name lets another connection find this one to cancel its statement.
        """
        sql = f"SET LOCAL statement_timeout = {max(1, int(self._budget.left * 1000))}"
        if self._checked_at is None and self._run:
            sql += f"; SET LOCAL application_name = '{self._run.name}'"
        with connection.wrap_database_errors:
            connection.connection.execute(sql)


@contextmanager
def bounded(seconds: float = TIMEOUT_S) -> Iterator[QueryDeadline]:
    """Limit the queries inside to `seconds`, or until they are cancelled. Raises QueryTimedOut or QueryCancelled."""
    bound = QueryDeadline(seconds)

    def checked(execute: Callable[..., Any], *asked: Any) -> Any:
        bound.check()
        return execute(*asked)

    # SET LOCAL needs a transaction and ends with it, so the next user of the connection has no time-out.
    within = transaction.atomic() if connection.vendor == "postgresql" else bound.watched()
    try:
        with within, connection.execute_wrapper(checked):
            bound.check()
            yield bound
    except OperationalError as error:
        if _is_cancellation(error):
            raise bound.end() from error
        raise


@contextmanager
def cancellable(reader: int, name: str | None) -> Iterator[None]:
    """Make the bounded queries inside cancellable by name.

    Raises QueryCancelled, and ParameterError of `query_id`.
    """
    if name is not None and not NAME.fullmatch(name):
        raise ParameterError("query_id", "must be 8 to 36 letters, digits and hyphens")
    # The reader's id is part of the name, so nobody can cancel the queries of another user.
    token = _running.set(CancellableRun(_run_name(reader, name)) if name else None)
    try:
        yield
    except OperationalError as error:
        if name and _is_cancellation(error):  # the signal came after the bounded statement had ended
            raise QueryCancelled from error
        raise
    finally:
        _running.reset(token)


def cancel(reader: int, name: str) -> None:
    """Cancel the user's query of this name, if it can be reached.

    A flag in the shared cache stops it before its next statement or fetch, in every process that shares the
    cache. PostgreSQL also ends the running statement. On SQLite the flag ends it. Without Redis there is no
    flag.
    """
    full = _run_name(reader, name)
    with suppress(RedisError, OSError):
        _shared_cache().set(_cancel_key(full), 1, REMEMBERED_S)
    # The flag alone cannot end a statement that PostgreSQL already runs.
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_cancel_backend(pid) FROM pg_stat_activity "
                "WHERE application_name = %s AND usename = current_user AND pid <> pg_backend_pid()",
                [full],
            )


@functools.lru_cache(1)
def _shared_cache() -> BaseCache:
    """Return one cache for all requests, so that they share its connections.

    Django's own caches open new connections in each request of an ASGI server.
    """
    return caches.create_connection(SHARED)


def _is_cancellation(error: OperationalError) -> bool:
    """Return whether the database ended the statement on request."""
    cause = error.__cause__
    if isinstance(cause, sqlite3.Error):
        return cause.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT
    return getattr(cause, "sqlstate", None) == QUERY_CANCELED


def _run_name(reader: int, name: str) -> str:
    return f"dlqadmin:{reader}:{name}"


def _cancel_key(full: str) -> str:
    return f"cancelled:{full}"
