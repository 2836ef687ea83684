"""The log of a replay as a whole."""

from __future__ import annotations

from datetime import datetime

from dlqadmin.replays.models import ReplayEvent

ITSELF = "dlqadmin"  # who acts when no person does


def note(replay: int, kind: str, text: str, now: datetime, actor: str = ITSELF) -> None:
    """Write down what happened."""
    ReplayEvent.objects.create(replay_id=replay, at=now, actor=actor, kind=kind, text=text)
