"""Celery tasks that make the plans of large selections and restart abandoned ones."""

from __future__ import annotations

import logging
import uuid
from collections import Counter
from datetime import datetime, timedelta

from celery import shared_task
from django.contrib.auth.models import User
from django.db import InterfaceError, connection
from django.db import OperationalError as DatabaseAway
from django.utils import timezone
from kombu.exceptions import OperationalError

from dlqadmin.replays.models import Replay
from dlqadmin.replays.plans import planner

QUIET = timedelta(seconds=60)  # a plan without a heartbeat for this long is started again
# By replay, the number of tries of this process that an unavailable database ended. The database can't tell such a try
# from one whose worker was killed.
_cut_off = Counter[uuid.UUID]()

log = logging.getLogger(__name__)


def enqueue(pk: int, actor: int | None = None) -> None:
    """Queue the making of a plan.

    If the message queue is unavailable, the periodic sweep queues it later.
    """
    seen = Replay.objects.values_list("heartbeat", flat=True).get(pk=pk)
    try:
        plan_replay.apply_async((pk, seen, actor), retry=False)
    except OperationalError as error:
        log.warning("the plan of R-%s waits for the message queue: %s", pk, error)


@shared_task
def plan_replay(pk: int, seen: datetime | None, actor: int | None = None) -> None:
    """Make the whole plan, unless somebody started it since the heartbeat was `seen`.

    If the database is unavailable, the plan waits for it. Any other error is stored and raised.
    """
    replay = Replay.objects.select_related("selection", "created_by").get(pk=pk)
    token = uuid.uuid4().hex
    if planner.begin(replay, _moment(seen), token, timezone.now(), _cut_off[replay.uuid]):
        del _cut_off[replay.uuid]
        who = User.objects.filter(pk=actor).first() if actor else replay.created_by
        replay.refresh_from_db()
        try:
            planner.go_on(replay, token, who, timezone.now)
        except (DatabaseAway, InterfaceError):
            log.warning("the plan of %s waits for the database", replay, exc_info=True)
            _failed_there(replay, token)
        except Exception:
            planner.failed(replay, token, timezone.now())
            raise


@shared_task
def sweep_plans() -> None:
    """Queue the plans that no worker works on: a worker died, or a message was lost."""
    for pk in planner.unsettled(timezone.now() - QUIET).values_list("pk", flat=True):
        enqueue(pk)


def _failed_there(replay: Replay, token: str) -> None:
    """Count a failed try, if the database responds again. An unavailable database is not counted."""
    if not connection.in_atomic_block:
        connection.close()  # the connection may be the cause of the error
    try:
        planner.failed(replay, token, timezone.now(), "an error of the database")
    except (DatabaseAway, InterfaceError):
        _cut_off[replay.uuid] += 1


def _moment(seen: datetime | str | None) -> datetime | None:
    return datetime.fromisoformat(seen) if isinstance(seen, str) else seen
