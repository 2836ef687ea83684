"""Celery tasks that run bulk fixes slice by slice and restart abandoned ones."""

from __future__ import annotations

from datetime import datetime

from celery import shared_task
from django.utils import timezone

from dlqadmin.jobs import messages, runs
from dlqadmin.replays.fixes import bulk_fixes
from dlqadmin.replays.models import BulkFix
from dlqadmin.replays.selections import frozen_selections


def enqueue_bulk_fix(pk: int) -> None:
    """Queue the next slice of a bulk fix."""
    messages.enqueue(run_bulk_fix, BulkFix, pk)


@shared_task
def run_bulk_fix(pk: int, seen: datetime | None = None) -> None:
    """Run one slice of a bulk fix, then queue the next one."""

    def go_on(bulk: BulkFix) -> bool:
        return bulk_fixes.go_on(bulk, frozen_selections.rows, timezone.now)

    if runs.run(bulk_fixes.BULK_FIXES, pk, seen, go_on):
        enqueue_bulk_fix(pk)


@shared_task
def sweep_bulk_fixes() -> None:
    """Queue the bulk fixes that no worker works on."""
    messages.sweep(run_bulk_fix, bulk_fixes.BULK_FIXES.waiting(timezone.now()))
