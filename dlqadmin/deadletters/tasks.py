"""Celery's way to what is done to the index by the clock."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from dlqadmin.deadletters import muting, retention, statistics


@shared_task
def prune_dead_letters() -> None:
    """Forget dead letters older than RETENTION_DAYS; 0 keeps them all."""
    if before := retention.horizon(timezone.now()):
        retention.prune(before)


@shared_task
def end_mutes() -> None:
    """Open the muted groups whose time has come."""
    muting.sweep(timezone.now())


@shared_task
def gather_statistics() -> None:
    """Let SQLite's planner know how large the tables are by now; elsewhere nothing."""
    statistics.gather()
