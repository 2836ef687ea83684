"""Celery's tasks: send a slice, take up what was left lying, watch outcomes."""

from __future__ import annotations

import logging
import threading
import uuid
from datetime import datetime, timedelta

from celery import shared_task
from django.db.models import Q
from django.utils import timezone
from kombu.exceptions import OperationalError

from dlqadmin.replays.disposing import acting
from dlqadmin.replays.fixing import bulk
from dlqadmin.replays.models import Replay
from dlqadmin.replays.outcome import reports, watching
from dlqadmin.replays.planning import selecting
from dlqadmin.replays.planning.tasks import plan_replay, sweep_plans
from dlqadmin.replays.rehearsing.tasks import rehearse
from dlqadmin.replays.sending import replaying

__all__ = [  # Celery looks for tasks here
    "dispose", "enqueue", "enqueue_bulk_fix", "enqueue_disposal", "plan_replay", "prune_reports", "rehearse",
    "run_bulk_fix", "send_replay", "sweep_bulk_fixes",
    "sweep_disposals", "sweep_plans", "sweep_replays", "watch_replays",
]  # fmt: skip

QUIET = timedelta(seconds=3)  # a replay that nobody has touched for so long is queued again
REPORTS_KEPT = timedelta(days=7)

log = logging.getLogger(__name__)
_watching = threading.Lock()


def enqueue(pk: int) -> None:
    """Ask a worker for a slice; a message queue that is away is left to the sweep."""
    seen = Replay.objects.values_list("heartbeat", flat=True).get(pk=pk)
    try:
        send_replay.apply_async((pk, seen), retry=False)
    except OperationalError as error:
        log.warning("R-%s waits for the message queue: %s", pk, error)


@shared_task
def send_replay(pk: int, seen: datetime | None) -> None:
    """One slice, then ask for the next one; nothing, if somebody had a slice since the heartbeat was `seen`.

    So a replay that waits long for its turn, and is asked for by every sweep, still has one message that counts.
    """
    if Replay.objects.filter(pk=pk, heartbeat=seen).exists() and replaying.send_slice(pk, uuid.uuid4().hex):
        enqueue(pk)


@shared_task
def sweep_replays() -> None:
    """Queue the replays that nobody works on: a worker died, or a message was lost."""
    quiet = Q(heartbeat__isnull=True) | Q(heartbeat__lt=timezone.now() - QUIET)
    for pk in replaying.unsettled(Replay.objects.filter(quiet)).values_list("pk", flat=True):
        enqueue(pk)


def enqueue_disposal(pk: int) -> None:
    """Ask a worker to go on with a disposal; a message queue that is away is left to the sweep."""
    try:
        dispose.apply_async((pk,), retry=False)
    except OperationalError as error:
        log.warning("D-%s waits for the message queue: %s", pk, error)


@shared_task
def dispose(pk: int) -> None:
    """Do so many records of a disposal, then ask for the next ones."""
    if acting.go_on(pk, selecting.rows, timezone.now):
        enqueue_disposal(pk)


@shared_task
def sweep_disposals() -> None:
    """Queue the disposals that nobody works on."""
    for pk in acting.unsettled(timezone.now()).values_list("pk", flat=True):
        enqueue_disposal(pk)


def enqueue_bulk_fix(pk: int) -> None:
    """Ask a worker to go on with a bulk fix; a message queue that is away is left to the sweep."""
    try:
        run_bulk_fix.apply_async((pk,), retry=False)
    except OperationalError as error:
        log.warning("B-%s waits for the message queue: %s", pk, error)


@shared_task
def run_bulk_fix(pk: int) -> None:
    """Change so many records of a bulk fix, then ask for the next ones."""
    if bulk.go_on(pk, selecting.rows, timezone.now):
        enqueue_bulk_fix(pk)


@shared_task
def sweep_bulk_fixes() -> None:
    """Queue the bulk fixes that nobody works on."""
    for pk in bulk.unsettled(timezone.now()).values_list("pk", flat=True):
        enqueue_bulk_fix(pk)


@shared_task
def watch_replays() -> None:
    """Look what became of what was sent. One look at a time in a process."""
    if not _watching.acquire(blocking=False):
        return
    try:
        watching.watch()
    finally:
        _watching.release()


@shared_task
def prune_reports() -> None:
    """Forget reports that the outcome topic no longer keeps either."""
    reports.prune(timezone.now() - REPORTS_KEPT)
