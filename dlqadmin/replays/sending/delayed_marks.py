"""Delayed updates of the replay marks of sent dead letters.

Most dead letters get an outcome before the delay ends. For these the state "sent" is never written.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Max

from dlqadmin.replays.items import item_states
from dlqadmin.replays.models import ChunkState, Replay

FEW = 5000  # items whose dead letters are marked as sent at once
SHOWN_AFTER = timedelta(seconds=30)


def show(replay: Replay, now: datetime, *, more: bool = False) -> None:
    """Mark the dead letters of sent items as sent.

    If there are many, or if `more` will be sent, only items sent at least SHOWN_AFTER ago are included.
    """
    until = replay.progress
    if more or until - replay.shown > FEW:
        old = replay.chunks.filter(state=ChunkState.COMMITTED, closed_at__lt=now - SHOWN_AFTER, first__gte=replay.shown)
        until = old.aggregate(after=Max("after"))["after"] or 0
    if until > replay.shown:
        item_states.show_sent(replay.pk, replay.shown, until)
        Replay.objects.filter(pk=replay.pk, shown__lt=until).update(shown=until)
        replay.shown = until
