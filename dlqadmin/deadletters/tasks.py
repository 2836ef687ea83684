"""Periodic Celery tasks that maintain the index."""

from __future__ import annotations

from celery import shared_task
from django.utils import timezone

from dlqadmin.deadletters.index import mutes, retention, work_compaction
from dlqadmin.deadletters.search import planner_statistics


@shared_task
def prune_dead_letters() -> None:
    """Delete dead letters older than RETENTION_DAYS; 0 keeps all of them."""
    if before := retention.horizon(timezone.now()):
        retention.prune(before)


@shared_task
def end_mutes() -> None:
    """Reopen muted groups whose mute time is over."""
    mutes.sweep(timezone.now())


@shared_task
def compact_work() -> None:
    """Add up the changes of work, so that counting stays fast."""
    work_compaction.compact()


@shared_task
def gather_statistics() -> None:
    """Update the table statistics of SQLite's query planner. Does nothing on other databases."""
    planner_statistics.gather()
