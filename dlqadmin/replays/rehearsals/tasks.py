"""The Celery task that runs rehearsals."""

from __future__ import annotations

import logging

from celery import shared_task
from kombu.exceptions import OperationalError

from dlqadmin.replays.rehearsals import rehearsal_jobs

log = logging.getLogger(__name__)


def enqueue(pk: int) -> None:
    """Queue a rehearsal.

    If the message queue is unavailable, no worker runs it, and the rehearsal is reported as lost.
    """
    try:
        rehearse.apply_async((pk,), retry=False, expires=60)
    except OperationalError as error:
        log.warning("T-%s waits for the message queue: %s", pk, error)


@shared_task
def rehearse(pk: int) -> None:
    """Run one rehearsal."""
    rehearsal_jobs.perform(pk)
