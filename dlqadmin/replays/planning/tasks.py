"""Celery's tasks of planning: make the plan of a large selection, take up what was left lying."""

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
from dlqadmin.replays.planning import plans

QUIET = timedelta(seconds=60)  # a plan that nobody has touched for so long is begun again
# By replay, how many beginnings of this process a database ended that was away: it can't tell them from a kill's.
_cut_off = Counter[uuid.UUID]()

log = logging.getLogger(__name__)


def enqueue(pk: int, actor: int | None = None) -> None:
    """Ask a worker for the plan; a message queue that is away is left to the sweep."""
    seen = Replay.objects.values_list("heartbeat", flat=True).get(pk=pk)
    try:
        plan_replay.apply_async((pk, seen, actor), retry=False)
    except OperationalError as error:
        log.warning("the plan of R-%s waits for the message queue: %s", pk, error)


@shared_task
def plan_replay(pk: int, seen: datetime | None, actor: int | None = None) -> None:
    """The whole plan; nothing, if somebody began it since the heartbeat was `seen`.

    A database that is away is waited for; any other error is noted, and goes to the worker's log.
    """
    replay = Replay.objects.select_related("selection", "created_by").get(pk=pk)
    token = uuid.uuid4().hex
    if plans.begin(replay, _moment(seen), token, timezone.now(), _cut_off[replay.uuid]):
        del _cut_off[replay.uuid]
        who = User.objects.filter(pk=actor).first() if actor else replay.created_by
        replay.refresh_from_db()
        try:
            plans.go_on(replay, token, who, timezone.now)
        except (DatabaseAway, InterfaceError):
            log.warning("the plan of %s waits for the database", replay, exc_info=True)
            _failed_there(replay, token)
        except Exception:
            plans.failed(replay, token, timezone.now())
            raise


@shared_task
def sweep_plans() -> None:
    """Queue the plans that nobody works on: a worker died, or a message was lost."""
    for pk in plans.unsettled(timezone.now() - QUIET).values_list("pk", flat=True):
        enqueue(pk)


def _failed_there(replay: Replay, token: str) -> None:
    """The database failed, but answers again: that was a try. One that is away is waited for, however long."""
    if not connection.in_atomic_block:
        connection.close()  # it may be what broke
    try:
        plans.failed(replay, token, timezone.now(), "an error of the database")
    except (DatabaseAway, InterfaceError):
        _cut_off[replay.uuid] += 1


def _moment(seen: datetime | str | None) -> datetime | None:
    return datetime.fromisoformat(seen) if isinstance(seen, str) else seen
