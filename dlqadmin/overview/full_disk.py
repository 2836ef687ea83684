"""The full disk of the database, which each process of the dashboard reports when a statement meets it.

A web process that only reads would not notice. Redis keeps the report, because the database can't.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import redis
from django.core.cache import caches
from django.db import OperationalError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from dlqadmin.rest.problems import is_disk_full

KEY = "full_disk"
KEPT_S = 30  # workers write to the database more often


def watch() -> None:
    """Report a full disk that any later statement of this process meets."""
    connection_created.connect(_watch_connection)


def is_reported() -> bool:
    """Return whether a statement of any process has met a full disk lately."""
    with suppress(redis.RedisError, OSError):
        return bool(caches["shared"].get(KEY))
    return False


def _watch_connection(connection: BaseDatabaseWrapper, **_: object) -> None:
    if _execute not in connection.execute_wrappers:
        connection.execute_wrappers.append(_execute)


def _execute(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]) -> Any:
    try:
        return execute(sql, params, many, context)
    except OperationalError as error:
        if is_disk_full(error):
            with suppress(redis.RedisError, OSError):
                caches["shared"].set(KEY, 1, KEPT_S)
        raise
