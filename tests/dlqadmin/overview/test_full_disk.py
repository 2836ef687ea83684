"""A process that meets the full disk of the database tells the others."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from dlqadmin.host.network import free_ports
from dlqadmin.overview import facts, full_disk, verdict
from dlqadmin.rest.problems import FULL_DISK

pytestmark = pytest.mark.django_db


def share(settings: Any, url: str) -> None:
    """Use this Redis for the cache of all processes, which is of one process in other tests, with keys of this test."""
    kept = {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": url,
        "KEY_PREFIX": f"full-disk-{timezone.now().timestamp()}",
        "OPTIONS": {"serializer": "dlqadmin.rest.json_cache.JsonSerializer"},
    }
    settings.CACHES = {**settings.CACHES, "shared": kept}
    settings.REDIS_URL = url


@pytest.fixture
def shared(redis_url: str, settings: Any) -> None:
    share(settings, redis_url)


def meet(message: str) -> None:
    """Run a statement that the database refuses with this message."""

    def refuse(*_: object) -> None:
        raise OperationalError(message) from sqlite3.OperationalError(message)

    full_disk.watch()  # its receiver is connected once
    connection.close()
    with connection.cursor() as cursor, connection.execute_wrapper(refuse), pytest.raises(OperationalError):
        cursor.execute("INSERT")


def test_every_process_says_so(shared: None) -> None:
    assert not full_disk.is_reported()
    meet("database or disk is full")
    assert full_disk.is_reported()
    found = verdict.reasons(facts.gather(timezone.now()))
    assert FULL_DISK in [reason.text for reason in found if reason.status == "failing"]


def test_another_error_is_no_full_disk(shared: None) -> None:
    meet("database is locked")
    assert not full_disk.is_reported()


def test_without_redis_the_error_is_the_same(settings: Any) -> None:
    share(settings, f"redis://127.0.0.1:{free_ports(1)[0]}")
    meet("database or disk is full")
    assert not full_disk.is_reported()
