"""Celery tasks that watch sent records and delete old reports."""

from __future__ import annotations

import threading
from datetime import timedelta

from celery import shared_task
from django.utils import timezone

from dlqadmin.broker import clusters
from dlqadmin.replays.outcomes import clock_jumps, engine_reports, foreign_groups, unwatched_clusters, watcher

REPORTS_KEPT = timedelta(days=7)


_watching = threading.Lock()
_clock = clock_jumps.ClockJumps()


@shared_task
def watch_replays() -> None:
    """Update the outcomes of sent records. Only one look runs at a time in a process."""
    if not _watching.acquire(blocking=False):
        return
    try:
        if ahead := _clock.ahead():
            foreign_groups.put_clock_ahead(ahead)
        for cluster in clusters.indexed():
            with clusters.on(cluster):
                watcher.watch()
        unwatched_clusters.end_waits(timezone.now())
    finally:
        _watching.release()


@shared_task
def prune_reports() -> None:
    """Delete the reports that the outcome topic does not keep any more either."""
    engine_reports.prune(timezone.now() - REPORTS_KEPT)
