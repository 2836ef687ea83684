"""Periodic Celery tasks of the overview."""

from celery import shared_task
from django.utils import timezone

from dlqadmin.overview import dismissals, processes


@shared_task
def note_beat() -> None:
    """Note that Celery beat runs. Only its schedule sends this task."""
    processes.note(processes.BEAT, [], timezone.now())


@shared_task
def prune_overview() -> None:
    """Delete old dismissals, and forget processes that have been silent for long."""
    now = timezone.now()
    dismissals.prune(now)
    processes.forget_old(now)
