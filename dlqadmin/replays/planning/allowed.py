"""Whether a plan may be run as it stands."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import User

from dlqadmin.replays.approval import approved, needs_approval
from dlqadmin.replays.models import Replay, ReplayStatus
from dlqadmin.replays.planning import selecting

PLAN_LASTS = timedelta(minutes=15)


def refusal(replay: Replay, actor: User, typed: str, now: datetime) -> str | None:
    """Why `actor` may not run the planned replay now, as a sentence; None when nothing speaks against it.

    `typed` is what the person typed where the plan asks for it.
    """
    if replay.status == ReplayStatus.PLANNING:
        return f"{replay} is being planned; wait for its plan."
    if replay.status != ReplayStatus.PLANNED:
        return None
    if now - replay.planned_at > PLAN_LASTS:
        return "The plan is older than 15 minutes. Check it again: what it found may have changed."
    if (word := (replay.plan.get("confirm") or {}).get("word")) and typed != word:
        return f"Type {word} to confirm what is sent." if not typed else f"What was typed is not {word}."
    if needs_approval(replay) and not approved(replay):
        return f"{replay} needs the approval of a second person: it sends more than {settings.APPROVAL_ABOVE} records."
    if selecting.drifted(replay.selection):
        return f"{replay.selection} names other records than when it was frozen. Freeze it again."
    return None
