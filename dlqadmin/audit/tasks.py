"""Celery tasks that seal audit entries and send them to an external target."""

from __future__ import annotations

import logging
import threading

from celery import shared_task

from dlqadmin.audit import chain, shipments

log = logging.getLogger(__name__)
_shipping = threading.Lock()


@shared_task
def seal_audit() -> None:
    """Seal entries that were not sealed right after their commit."""
    try:
        chain.seal_all()
    except chain.ChainHeadMissing as error:
        log.error("%s", error)  # noqa: TRY400  # the message is complete without a traceback


@shared_task
def ship_audit() -> None:
    """Send sealed entries to AUDIT_SHIP_TO. A process runs at most one at a time."""
    if not _shipping.acquire(blocking=False):
        return
    try:
        shipments.ship()
    finally:
        _shipping.release()
