"""Messages to Celery workers. A job whose message is lost is queued again by the sweep of its kind."""

from __future__ import annotations

import logging
from typing import Any

from celery import Task
from django.db.models import QuerySet
from kombu.exceptions import OperationalError

from dlqadmin.jobs.models import Job

log = logging.getLogger(__name__)


def send(task: Task[..., None], args: tuple[Any, ...], name: str, **options: Any) -> bool:
    """Queue a task. Return False, and log that `name` waits, if the message queue is unavailable."""
    try:
        task.apply_async(args, retry=False, **options)
    except OperationalError as error:
        log.warning("%s could not be queued and will be queued again: %s", name, error)
        return False
    return True


def enqueue(task: Task[..., None], model: type[Job], pk: int, *more: Any) -> None:
    """Queue a job: its id, the heartbeat that it has now, and `more`.

    If the message queue is unavailable, the next sweep queues it.
    """
    job = model._default_manager.only("heartbeat").get(pk=pk)
    send(task, (pk, job.heartbeat, *more), str(job))


def sweep(task: Task[..., None], waiting: QuerySet[Any]) -> None:
    """Queue these jobs, on which no worker works. Stops at the first one if the message queue is unavailable."""
    for job in waiting.only("heartbeat"):
        if not send(task, (job.pk, job.heartbeat), str(job)):
            return
