"""Celery tasks that make the plans of large selections, restart abandoned ones, and recover lost replays."""

from __future__ import annotations

import logging
import threading
from datetime import datetime

from celery import shared_task
from django.contrib.auth.models import User
from django.utils import timezone

from dlqadmin.broker import clusters
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.jobs import messages, runs
from dlqadmin.logs import context
from dlqadmin.replays.models import Replay
from dlqadmin.replays.plans import planner, replay_recovery

_recovering = threading.Lock()
log = logging.getLogger(__name__)


def enqueue(pk: int, actor: int | None = None) -> None:
    """Queue the making of a plan."""
    messages.enqueue(plan_replay, Replay, pk, actor)


@shared_task
def plan_replay(pk: int, seen: datetime | None, actor: int | None = None) -> None:
    """Make the whole plan, unless somebody started it since the heartbeat was `seen`."""

    def plan(replay: Replay) -> bool:
        who = User.objects.filter(pk=actor).first() if actor else replay.created_by
        with context.bound(replay=str(replay)):
            planner.go_on(replay, who, timezone.now)
        return False

    runs.run(planner.PLANS, pk, seen, plan)


@shared_task
def sweep_plans() -> None:
    """Queue the plans that no worker works on."""
    messages.sweep(plan_replay, planner.PLANS.waiting(timezone.now()))


@shared_task
def recover_replays() -> None:
    """Recover replays that Kafka shows and the database does not know. Only one look runs at a time in a process."""
    if not _recovering.acquire(blocking=False):
        return
    try:
        for cluster in ("", *clusters.names()):
            try:
                replay_recovery.recover(cluster, timezone.now())
            except BrokerUnavailable as error:
                log.info("cluster %s was not searched for lost replays: %s", cluster or "of the dead letters", error)
    finally:
        _recovering.release()
