"""Skipping of unsent items after a replay was cancelled. Their lineage claims are released."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.items import item_states, lineage_claims
from dlqadmin.replays.models import Chunk, ChunkState, ItemState, Replay, ReplayItem

AT_ONCE = 20_000  # items in one transaction
CANCELLED = "cancelled"


def leave_out(replay: Replay, now: datetime, beat: Callable[[], None] = lambda: None, at_once: int = AT_ONCE) -> int:
    """Skip the items that the replay has not sent and is not sending now. Return their number.

    Calling it again, or twice at the same time, is harmless. `beat` is called between transactions.
    """
    left = 0
    for state in (ItemState.PLANNED, ItemState.QUEUED):
        while part := _leave_out(replay, state, now, at_once):
            left += part
            beat()
    return left


@transaction.atomic
def _leave_out(replay: Replay, state: ItemState, now: datetime, at_once: int) -> int:
    item_states.hold(replay.pk)  # blocks others from opening or settling a chunk between these statements
    sending = Chunk.objects.filter(
        replay=OuterRef("replay"), state=ChunkState.OPEN, first__lte=OuterRef("ordinal"), after__gt=OuterRef("ordinal")
    )
    unsent = ReplayItem.objects.filter(~Exists(sending), replay=replay, state=state)
    ordinals = list(unsent.order_by("ordinal").values_list("ordinal", flat=True)[:at_once])
    if not ordinals:
        return 0
    bounds = {"ordinal__gte": ordinals[0], "ordinal__lte": ordinals[-1]}
    unsent = unsent.filter(**bounds)
    # Planned items hold no claims, and their dead letters do not show them.
    if state == ItemState.QUEUED:
        lineage_claims.release(unsent)
    moved = item_states.move_all(unsent, state, ItemState.SKIPPED, now, reason=CANCELLED)
    if state == ItemState.QUEUED:
        skipped = ReplayItem.objects.filter(replay=replay, state=ItemState.SKIPPED, reason=CANCELLED, **bounds)
        item_states.in_step(DeadLetter.objects.filter(pk__in=skipped.values("dead_letter")))
    return moved
