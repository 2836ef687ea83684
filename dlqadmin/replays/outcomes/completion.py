"""Completion of replays once no outcome is awaited, and its reversal."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef

from dlqadmin.replays import events
from dlqadmin.replays.items import item_counters
from dlqadmin.replays.models import ItemOutcome, ItemState, Replay, ReplayItem, ReplayStatus
from dlqadmin.replays.outcomes import group_resolution

PENDING = (ItemState.QUEUED, ItemState.SENDING, ItemState.SENT)
WORDS = {
    ItemState.PASSED: "passed",
    ItemState.FAILED_AGAIN: "failed again",
    ItemState.UNKNOWN: "unknown",
    ItemState.SENT: "waiting",
    ItemState.SKIPPED: "skipped",
}


def finish(now: datetime) -> int:
    """Set the replays without awaited outcomes to done. Return how many there were."""
    pending = ReplayItem.objects.filter(replay=OuterRef("pk"), state__in=PENDING)
    elsewhere = ItemOutcome.objects.filter(item__replay=OuterRef("pk"), state=ItemState.SENT)
    done = 0
    watching = Replay.objects.filter(status=ReplayStatus.WATCHING).select_related("selection", "started_by")
    for replay in watching.filter(~Exists(pending), ~Exists(elsewhere)):
        with transaction.atomic():
            rows = Replay.objects.filter(pk=replay.pk, status=ReplayStatus.WATCHING)
            if rows.update(status=ReplayStatus.DONE, done_at=now):
                events.note(replay.pk, "done", _summary(replay), now)
                group_resolution.note_passed(replay, now)
                group_resolution.resolve(replay, now)
                done += 1
    return done


def go_on(replays: Collection[int]) -> None:
    """Set these replays back from done to watching, because an outcome is awaited again."""
    rows = Replay.objects.filter(pk__in=replays, status=ReplayStatus.DONE)
    rows.update(status=ReplayStatus.WATCHING, done_at=None)


def _summary(replay: Replay) -> str:
    counts = item_counters.states(replay.pk)
    words = [f"{counts[state]} {word}" for state, word in WORDS.items() if counts.get(state)]
    return f"all outcomes are known: {', '.join(words)}" if words else "all outcomes are known"
