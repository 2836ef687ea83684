"""The log of a replay."""

from __future__ import annotations

from datetime import datetime

from dlqadmin.replays.models import ReplayEvent

ITSELF = "dlqadmin"  # the actor when no person acts


def note(replay: int, kind: str, text: str, now: datetime, actor: str = ITSELF) -> None:
    """Add an entry to the replay's log."""
    ReplayEvent.objects.create(replay_id=replay, at=now, actor=actor, kind=kind, text=text)
