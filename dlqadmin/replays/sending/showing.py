"""When the dead letters of what was sent say so: most have an outcome by the time they would, and say that."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Max

from dlqadmin.replays.models import ChunkState, Replay
from dlqadmin.replays.sending import items

FEW = 5000  # items whose dead letters say "sent" at once
SHOWN_AFTER = timedelta(seconds=30)


def show(replay: Replay, now: datetime, *, more: bool = False) -> None:
    """Let the dead letters of what was sent say so: of many, or while more is sent, those sent some time ago."""
    until = replay.progress
    if more or until - replay.shown > FEW:
        old = replay.chunks.filter(state=ChunkState.COMMITTED, closed_at__lt=now - SHOWN_AFTER, first__gte=replay.shown)
        until = old.aggregate(after=Max("after"))["after"] or 0
    if until > replay.shown:
        items.show_sent(replay.pk, replay.shown, until)
        Replay.objects.filter(pk=replay.pk, shown__lt=until).update(shown=until)
        replay.shown = until
