"""The person who may approve a plan."""

from typing import Any

from django.conf import settings

from dlqadmin.audit.permissions import APPROVE, has_permission
from dlqadmin.replays.models import Replay
from dlqadmin.replays.plans.approval_rules import barred


def may_approve(replay: Replay, user: Any) -> bool:
    """Return whether this person may approve the plan now: an approver who has no part in it."""
    return not settings.READ_ONLY and has_permission(user, APPROVE) and not barred(replay, user)
