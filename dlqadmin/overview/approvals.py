"""Plans that wait for a second person's approval."""

from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db.models import F

from dlqadmin.audit.permissions import APPROVE, has_permission
from dlqadmin.replays.models import Replay, ReplayStatus
from dlqadmin.replays.plans.approval_rules import barred


@dataclass(frozen=True, slots=True)
class WaitingApproval:
    """A plan whose approval somebody asked for, and the number of its records."""

    replay: Replay
    records: int


def waiting() -> list[WaitingApproval]:
    """Return the plans that wait, newest request first.

    A request for a former version of a plan is void, so the plan does not wait.
    """
    rows = (
        Replay.objects.filter(status=ReplayStatus.PLANNED)
        .exclude(asked_digest="")
        .select_related("asked_by")
        .annotate(digest=F("plan__digest"), records=F("plan__to_send"))
        .defer("plan")
        .order_by("-asked_at", "-pk")
    )
    return [
        WaitingApproval(row, int(row.records or 0))
        for row in rows
        if row.asked_digest == row.digest and not _is_approved(row)
    ]


def may_approve(replay: Replay, user: Any) -> bool:
    """Return whether this person may approve the plan now: an approver who has no part in it."""
    return not settings.READ_ONLY and has_permission(user, APPROVE) and not barred(replay, user)


def _is_approved(row: Replay) -> bool:
    """Return whether somebody else approved the version of the plan that was asked for."""
    return row.approved_digest == row.asked_digest and row.approved_by_id not in row.authors
