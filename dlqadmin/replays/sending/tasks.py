"""Celery tasks that send replays slice by slice and restart abandoned ones."""

from __future__ import annotations

import logging
import uuid
from datetime import datetime, timedelta

from celery import shared_task
from django.db.models import Q
from django.utils import timezone
from kombu.exceptions import OperationalError

from dlqadmin.replays.models import Replay
from dlqadmin.replays.sending import sender

log = logging.getLogger(__name__)


QUIET = timedelta(seconds=3)  # a replay without a heartbeat for this long is queued again


def enqueue(pk: int) -> None:
    """Queue the next slice of a replay.

    If the message queue is unavailable, the periodic sweep queues the slice later.
    """
    seen = Replay.objects.values_list("heartbeat", flat=True).get(pk=pk)
    try:
        send_replay.apply_async((pk, seen), retry=False)
    except OperationalError as error:
        log.warning("R-%s waits for the message queue: %s", pk, error)


@shared_task
def send_replay(pk: int, seen: datetime | None) -> None:
    """Send one slice, then queue the next one.

    Does nothing if another sender had a slice since the heartbeat was `seen`. Every sweep queues a waiting replay
    again, so only one of its messages may count.
    """
    if Replay.objects.filter(pk=pk, heartbeat=seen).exists() and sender.send_slice(pk, uuid.uuid4().hex):
        enqueue(pk)


@shared_task
def sweep_replays() -> None:
    """Queue the replays that no sender works on: a worker died, or a message was lost."""
    quiet = Q(heartbeat__isnull=True) | Q(heartbeat__lt=timezone.now() - QUIET)
    for pk in sender.unsettled(Replay.objects.filter(quiet)).values_list("pk", flat=True):
        enqueue(pk)
