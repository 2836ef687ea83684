"""Celery tasks that make the plans of large selections and restart abandoned ones."""

from __future__ import annotations

from datetime import datetime

from celery import shared_task
from django.contrib.auth.models import User
from django.utils import timezone

from dlqadmin.jobs import messages, runs
from dlqadmin.logs import context
from dlqadmin.replays.models import Replay
from dlqadmin.replays.plans import planner


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
