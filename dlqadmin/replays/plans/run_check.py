"""The check whether a plan may be run."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.contrib.auth.models import User

from dlqadmin.replays.models import Replay, ReplayStatus
from dlqadmin.replays.plans import approval_rules
from dlqadmin.replays.selections import frozen_selections

PLAN_LASTS = timedelta(minutes=15)


def refusal(replay: Replay, actor: User, typed: str, now: datetime) -> str | None:
    """Return why `actor` may not run the planned replay now, as a sentence. None if they may.

    `typed` is the confirmation that the person typed, if the plan needs one.
    """
    if replay.status == ReplayStatus.PLANNING:
        return f"{replay} is being planned. Wait for its plan."
    if replay.status != ReplayStatus.PLANNED:
        return None
    if now - replay.planned_at > PLAN_LASTS:
        return "The plan is older than 15 minutes, so its checks may be outdated. Check it again."
    if (word := (replay.plan.get("confirm") or {}).get("word")) and typed != word:
        return (
            (f"Type {word} to confirm the records that are sent.")
            if not typed
            else (f"The text is not {word}. Type {word} to confirm.")
        )
    if missing := approval_rules.refusal(replay, actor, now):
        return missing
    if frozen_selections.drifted(replay.selection):
        return f"{replay.selection} no longer matches the same records as when it was frozen. Freeze it again."
    return None
