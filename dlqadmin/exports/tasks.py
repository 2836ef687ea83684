"""Celery tasks that write queued exports one after another, and delete old files."""

from __future__ import annotations

import threading

from celery import shared_task
from django.utils import timezone

from dlqadmin.exports import file_expiry, file_writer
from dlqadmin.jobs import messages

_writing = threading.Lock()


def wake() -> None:
    """Ask a worker to look for exports now. If the message queue is unavailable, the next beat does."""
    messages.send(write_exports, (), "an export")


@shared_task
def write_exports() -> None:
    """Write all queued exports. A process writes one file at a time, because writing uses a whole core."""
    if not _writing.acquire(blocking=False):
        return
    try:
        while file_writer.write_next():
            pass
    finally:
        _writing.release()


@shared_task
def prune_exports() -> None:
    """Delete expired files."""
    file_expiry.prune(timezone.now())
