"""Celery tasks that run bulk fixes slice by slice and restart abandoned ones."""

from __future__ import annotations

import logging

from celery import shared_task
from django.utils import timezone
from kombu.exceptions import OperationalError

from dlqadmin.replays.fixes import bulk_fixes
from dlqadmin.replays.selections import frozen_selections

log = logging.getLogger(__name__)


def enqueue_bulk_fix(pk: int) -> None:
    """Queue the next slice of a bulk fix.

    If the message queue is unavailable, the periodic sweep queues it later.
    """
    try:
        run_bulk_fix.apply_async((pk,), retry=False)
    except OperationalError as error:
        log.warning("B-%s waits for the message queue: %s", pk, error)


@shared_task
def run_bulk_fix(pk: int) -> None:
    """Run one slice of a bulk fix, then queue the next one."""
    if bulk_fixes.go_on(pk, frozen_selections.rows, timezone.now):
        enqueue_bulk_fix(pk)


@shared_task
def sweep_bulk_fixes() -> None:
    """Queue the bulk fixes that no worker works on."""
    for pk in bulk_fixes.unsettled(timezone.now()).values_list("pk", flat=True):
        enqueue_bulk_fix(pk)
