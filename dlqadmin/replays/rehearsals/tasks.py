"""The Celery task that runs rehearsals."""

from __future__ import annotations

from celery import shared_task

from dlqadmin.jobs import messages
from dlqadmin.replays.rehearsals import rehearsal_jobs


def enqueue(pk: int) -> None:
    """Queue a rehearsal.

    If the message queue is unavailable, no worker runs it, and the rehearsal is reported as lost. A person waits for
    it, so no sweep takes it up later.
    """
    messages.send(rehearse, (pk,), f"T-{pk}", expires=60)


@shared_task
def rehearse(pk: int) -> None:
    """Run one rehearsal."""
    rehearsal_jobs.perform(pk)
