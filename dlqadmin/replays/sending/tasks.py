"""Celery tasks that send replays slice by slice and restart abandoned ones."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta

from celery import shared_task
from django.utils import timezone

from dlqadmin import tracing
from dlqadmin.jobs import claims, messages
from dlqadmin.logs import context
from dlqadmin.replays.models import Replay
from dlqadmin.replays.sending import sender

QUIET = timedelta(seconds=3)  # a replay without a heartbeat for this long is queued again


def enqueue(pk: int) -> None:
    """Queue the next slice of a replay."""
    messages.enqueue(send_replay, Replay, pk)


@shared_task
def send_replay(pk: int, seen: datetime | None) -> None:
    """Send one slice, then queue the next one.

    Does nothing if another sender had a slice since the heartbeat was `seen`. Every sweep queues a waiting replay
    again, so only one of its messages may count.
    """
    with context.bound(replay=f"R-{pk}"), tracing.span("replay slice"):
        if Replay.objects.filter(pk=pk, heartbeat=seen).exists() and sender.send_slice(pk, uuid.uuid4().hex):
            enqueue(pk)


@shared_task
def sweep_replays() -> None:
    """Queue the replays that no sender works on: a worker died, or a message was lost."""
    quiet = claims.quiet(timezone.now(), QUIET)
    messages.sweep(send_replay, sender.unsettled(Replay.objects.filter(quiet)))
