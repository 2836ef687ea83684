"""Celery's task: rehearse."""

from __future__ import annotations

import logging

from celery import shared_task
from kombu.exceptions import OperationalError

from dlqadmin.replays.rehearsing import rehearsals

log = logging.getLogger(__name__)


def enqueue(pk: int) -> None:
    """Ask a worker; where the message queue is away nobody takes it up, and the rehearsal says so in time."""
    try:
        rehearse.apply_async((pk,), retry=False, expires=60)
    except OperationalError as error:
        log.warning("T-%s waits for the message queue: %s", pk, error)


@shared_task
def rehearse(pk: int) -> None:
    """One rehearsal."""
    rehearsals.perform(pk)
