"""Celery tasks that apply erasures slice by slice and restart abandoned ones."""

from __future__ import annotations

from datetime import datetime

from celery import shared_task
from django.utils import timezone

from dlqadmin.erasures import erasure_jobs
from dlqadmin.erasures.models import Erasure
from dlqadmin.jobs import messages, runs


def enqueue_erasure(pk: int) -> None:
    """Queue the next records of an erasure."""
    messages.enqueue(erase, Erasure, pk)


@shared_task
def erase(pk: int, seen: datetime | None = None) -> None:
    """Apply an erasure to the next records, then queue the rest."""
    if run_now(pk, seen):
        enqueue_erasure(pk)


def run_now(pk: int, seen: datetime | None) -> bool:
    """Apply an erasure to the next records, in this process. Return whether some are left."""
    return runs.run(erasure_jobs.ERASURES, pk, seen, lambda one: erasure_jobs.go_on(one, timezone.now))


@shared_task
def sweep_erasures() -> None:
    """Queue the erasures that no worker works on."""
    messages.sweep(erase, erasure_jobs.ERASURES.waiting(timezone.now()))
