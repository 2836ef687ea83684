"""Celery's tasks: write the exports that wait, one after another; delete old files."""

from __future__ import annotations

import logging
import threading

from celery import shared_task
from django.utils import timezone
from kombu.exceptions import OperationalError

from dlqadmin.exports import pruning, writing

log = logging.getLogger(__name__)
_writing = threading.Lock()


def wake() -> None:
    """Ask a worker to look now; where the message queue is away, the next beat does."""
    try:
        write_exports.apply_async(retry=False)
    except OperationalError as error:
        log.warning("exports wait for the message queue: %s", error)


@shared_task
def write_exports() -> None:
    """Write what waits. One file at a time in a process: writing takes a whole core."""
    if not _writing.acquire(blocking=False):
        return
    try:
        while writing.write_next():
            pass
    finally:
        _writing.release()


@shared_task
def prune_exports() -> None:
    """Delete files past their time."""
    pruning.prune(timezone.now())
