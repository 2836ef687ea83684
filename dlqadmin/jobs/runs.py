"""Runs of jobs in a worker: claim, work, release, with errors counted as failed tries."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from datetime import datetime

from django.db import InterfaceError, OperationalError, connection
from django.utils import timezone

from dlqadmin.jobs.claims import JobKind, Row

DATABASE_AWAY = (OperationalError, InterfaceError)
# By job, the number of tries of this process that an unavailable database ended. The database can't tell such a try
# from one whose worker was killed.
cut_off = Counter[tuple[str, int]]()

log = logging.getLogger(__name__)


def run(kind: JobKind[Row], pk: int, seen: datetime | None, work: Callable[[Row], bool]) -> bool:
    """Claim the job and work on it. Return whether `work` says that there is more to do.

    Does nothing if somebody had the job since its heartbeat was `seen`. Every sweep queues a waiting job again, so only
    one of its messages may count. If the database is unavailable, the job waits for it. Any other error is counted and
    raised.
    """
    job = _claim(kind, pk, seen)
    return job is not None and _work_on(kind, job, work)


def run_next(kind: JobKind[Row], work: Callable[[Row], bool]) -> bool:
    """Claim the oldest job that waits and work on it. Return whether there was one."""
    for pk, seen in kind.waiting(timezone.now()).order_by("pk").values_list("pk", "heartbeat"):
        if (job := _claim(kind, pk, seen)) is not None:
            _work_on(kind, job, work)
            return True
    return False


def _claim(kind: JobKind[Row], pk: int, seen: datetime | None) -> Row | None:
    key = _key(kind, pk)
    job = kind.claim(pk, seen, timezone.now(), cut_off[key])
    if job is not None:
        del cut_off[key]
    return job


def _work_on(kind: JobKind[Row], job: Row, work: Callable[[Row], bool]) -> bool:
    try:
        more = work(job)
        kind.release(job)
    except DATABASE_AWAY:
        log.warning("%s waits for the database", job, exc_info=True)
        _failed_there(kind, job)
        return False
    except Exception:
        kind.failed(job, "an error", timezone.now())
        raise
    return more


def _failed_there(kind: JobKind[Row], job: Row) -> None:
    """Count a failed try, if the database responds again. An unavailable database is not counted."""
    if not connection.in_atomic_block:
        connection.close()  # the connection may be the cause of the error
    try:
        kind.failed(job, "a database error", timezone.now())
    except DATABASE_AWAY:
        cut_off[_key(kind, job.pk)] += 1


def _key(kind: JobKind[Row], pk: int) -> tuple[str, int]:
    return kind.model._meta.label, pk
