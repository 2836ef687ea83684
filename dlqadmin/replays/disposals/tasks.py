"""Celery tasks that apply disposals slice by slice and restart abandoned ones."""

from __future__ import annotations

from datetime import datetime

from celery import shared_task
from django.utils import timezone

from dlqadmin.jobs import messages, runs
from dlqadmin.replays.disposals import disposal_jobs
from dlqadmin.replays.models import DisposalAct
from dlqadmin.replays.selections import frozen_selections
from dlqadmin.teams.reach import EVERYTHING, reaching


def enqueue_disposal(pk: int) -> None:
    """Queue the next records of a disposal."""
    messages.enqueue(dispose, DisposalAct, pk)


@shared_task
def dispose(pk: int, seen: datetime | None = None) -> None:
    """Apply a disposal to the next records, then queue the rest."""
    if run_now(pk, seen):
        enqueue_disposal(pk)


@reaching(EVERYTHING)  # as a worker would run it
def run_now(pk: int, seen: datetime | None) -> bool:
    """Apply a disposal to the next records, in this process. Return whether some are left."""

    def go_on(act: DisposalAct) -> bool:
        return disposal_jobs.go_on(act, frozen_selections.rows, timezone.now)

    return runs.run(disposal_jobs.DISPOSALS, pk, seen, go_on)


@shared_task
def sweep_disposals() -> None:
    """Queue the disposals that no worker works on."""
    messages.sweep(dispose, disposal_jobs.DISPOSALS.waiting(timezone.now()))
