"""Celery tasks that apply disposals slice by slice and restart abandoned ones."""

from __future__ import annotations

import logging

from celery import shared_task
from django.utils import timezone
from kombu.exceptions import OperationalError

from dlqadmin.replays.disposals import disposal_jobs
from dlqadmin.replays.selections import frozen_selections

log = logging.getLogger(__name__)


def enqueue_disposal(pk: int) -> None:
    """Queue the next records of a disposal.

    If the message queue is unavailable, the periodic sweep queues them later.
    """
    try:
        dispose.apply_async((pk,), retry=False)
    except OperationalError as error:
        log.warning("D-%s waits for the message queue: %s", pk, error)


@shared_task
def dispose(pk: int) -> None:
    """Apply a disposal to the next records, then queue the rest."""
    if disposal_jobs.go_on(pk, frozen_selections.rows, timezone.now):
        enqueue_disposal(pk)


@shared_task
def sweep_disposals() -> None:
    """Queue the disposals that no worker works on."""
    for pk in disposal_jobs.unsettled(timezone.now()).values_list("pk", flat=True):
        enqueue_disposal(pk)
