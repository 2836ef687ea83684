"""A limit on how long a query may take, after which the caller says what it has; and its end by the one who asked."""

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

from dlqadmin.rest.problems import Conflict, ParameterError

TIMEOUT_S = 2.0
SHORTEST_S = 0.01
UNSURE_S = 0.02  # the database's clock may end a statement so much before ours
STEPS = 10_000  # of SQLite's virtual machine between two looks at the clock
LOOK_S = 0.05  # between two looks at the flag while a statement of SQLite runs
REMEMBERED_S = 60
SHARED = "shared"  # the cache that all processes see
QUERY_CANCELED = "57014"
NAME = re.compile(r"[0-9A-Za-z-]{8,36}")


class TimedOut(Exception):
    """The query took longer than it may."""


class Cancelled(Conflict):
    """Somebody ended the query."""

    default_detail = "This query was cancelled."


class Budget:
    """Seconds that the queries of one answer share."""

    def __init__(self, seconds: float = TIMEOUT_S) -> None:
        self._ends = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds; none or less when it is used up."""
        return self._ends - time.monotonic()


class Run:
    """A request that can be cancelled: what it is called, its reader's id and the name that the reader gave it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._deaf = False

    def cancelled(self) -> bool:
        """Is its flag set? Once the cache did not answer it is not asked any more."""
        try:
            return not self._deaf and bool(_shared().get(_flag(self.name)))
        except (RedisError, OSError):
            self._deaf = True
            return False


_running: ContextVar[Run | None] = ContextVar("running", default=None)


class Bound:
    """What queries inside `bounded` have left."""

    def __init__(self, seconds: float) -> None:
        self._run = _running.get()
        self._budget = Budget(max(SHORTEST_S, seconds))
        self._checked_at: float | None = None

    def check(self) -> None:
        """Before a statement, and between two fetches of one. Raises Cancelled or TimedOut.

        More than the clock is looked at a hundred times a second at most.
        """
        if self._budget.left <= 0:
            raise TimedOut
        now = time.monotonic()
        if self._checked_at is not None and now - self._checked_at < SHORTEST_S:
            return
        if self._run and self._run.cancelled():
            raise Cancelled
        if connection.vendor == "postgresql":
            self._tell()
        self._checked_at = now

    def end(self) -> Cancelled | TimedOut:
        """Why a statement was ended: one that had time left was cancelled."""
        cancelled = self._budget.left > UNSURE_S or (self._run and self._run.cancelled())
        return Cancelled() if cancelled else TimedOut()

    @contextmanager
    def watched(self) -> Iterator[None]:
        """SQLite looks at the clock, and now and then at the flag, while it works."""
        connection.ensure_connection()
        connection.connection.set_progress_handler(self._watcher(), STEPS)
        try:
            yield
        finally:
            connection.connection.set_progress_handler(None, 0)

    def _watcher(self) -> Callable[[], bool]:
        look = Budget(LOOK_S)

        def is_over() -> bool:
            nonlocal look
            if self._run and look.left <= 0:
                look = Budget(LOOK_S)
                if self._run.cancelled():
                    return True
            return self._budget.left <= 0

        return is_over

    def _tell(self) -> None:
        """Let PostgreSQL end each statement by what is left; by the name another connection finds this one."""
        told = f"SET LOCAL statement_timeout = {max(1, int(self._budget.left * 1000))}"
        if self._checked_at is None and self._run:
            told += f"; SET LOCAL application_name = '{self._run.name}'"
        with connection.wrap_database_errors:
            connection.connection.execute(told)


@contextmanager
def bounded(seconds: float = TIMEOUT_S) -> Iterator[Bound]:
    """Queries inside end `seconds` from now, or when they are cancelled. Raises TimedOut or Cancelled."""
    bound = Bound(seconds)

    def checked(execute: Callable[..., Any], *asked: Any) -> Any:
        bound.check()
        return execute(*asked)

    within = transaction.atomic() if connection.vendor == "postgresql" else bound.watched()
    try:
        with within, connection.execute_wrapper(checked):
            bound.check()
            yield bound
    except OperationalError as error:
        if _was_ended(error):
            raise bound.end() from error
        raise


@contextmanager
def named(reader: int, name: str | None) -> Iterator[None]:
    """Bounded queries inside can be cancelled by the name. Raises Cancelled, and ParameterError of `query_id`."""
    if name is not None and not NAME.fullmatch(name):
        raise ParameterError("query_id", "must be 8 to 36 letters, digits and hyphens")
    token = _running.set(Run(_full(reader, name)) if name else None)
    try:
        yield
    except OperationalError as error:
        if name and _was_ended(error):  # the signal came when the bounded statement had just ended
            raise Cancelled from error
        raise
    finally:
        _running.reset(token)


def cancel(reader: int, name: str) -> None:
    """End the reader's query of this name, as far as it can be reached.

    A flag stops it before its next statement or fetch, in every process that sees the shared cache; PostgreSQL also
    ends the statement that runs, SQLite does so by the flag. While Redis is away there is no flag.
    """
    full = _full(reader, name)
    with suppress(RedisError, OSError):
        _shared().set(_flag(full), 1, REMEMBERED_S)
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT pg_cancel_backend(pid) FROM pg_stat_activity "
                "WHERE application_name = %s AND usename = current_user AND pid <> pg_backend_pid()",
                [full],
            )


@functools.lru_cache(1)
def _shared() -> BaseCache:
    """One for all requests, with its connections: Django's own are another in each request of an ASGI server."""
    return caches.create_connection(SHARED)


def _was_ended(error: OperationalError) -> bool:
    """Did the database end the statement because it was told to?"""
    cause = error.__cause__
    if isinstance(cause, sqlite3.Error):
        return cause.sqlite_errorcode == sqlite3.SQLITE_INTERRUPT
    return getattr(cause, "sqlstate", None) == QUERY_CANCELED


def _full(reader: int, name: str) -> str:
    return f"dlqadmin:{reader}:{name}"


def _flag(full: str) -> str:
    return f"cancelled:{full}"
