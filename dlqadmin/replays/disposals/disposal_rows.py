"""Disposals in the database, with the marks of their dead letters.

No other module writes or deletes disposals.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

import msgspec
from django.db import transaction
from django.db.models import QuerySet, Value

from dlqadmin.deadletters import replay_marks
from dlqadmin.deadletters.models import DeadLetter, ReplayState
from dlqadmin.replays.batches import parts
from dlqadmin.replays.disposals.states import REPLAY_STATE, UNDER_WAY
from dlqadmin.replays.models import Disposal, DisposalAct, ItemState, Replay, ReplayItem


class Done(msgspec.Struct, frozen=True):
    """Counts of dead letters after an act.

    `changed` by the act, `kept` as decided before, or `busy` in a running replay.
    """

    changed: int
    kept: int = 0
    busy: int = 0


def of(dead_letters: Sequence[int]) -> dict[int, Disposal]:
    """Return the disposals of these dead letters, by dead letter id."""
    found: dict[int, Disposal] = {}
    for part in parts(dead_letters):
        rows = Disposal.objects.select_related("actor").filter(dead_letter__in=part)
        found.update({row.dead_letter_id: row for row in rows})
    return found


def standing(replay: Replay) -> int:
    """Return how many records that this replay has still to send were disposed of."""
    open_ = replay.items.filter(state__in=(ItemState.PLANNED, *UNDER_WAY)).values("dead_letter")
    return Disposal.objects.filter(dead_letter__in=open_).count()


def dispose(dead_letters: Sequence[int], act: DisposalAct, now: datetime) -> Done:
    """Dispose of these dead letters.

    Dead letters that are already disposed of, or in a running replay, are left out.
    """
    with transaction.atomic():
        there = _locked(dead_letters)
        disposed = set(Disposal.objects.filter(dead_letter__in=there).values_list("dead_letter", flat=True))
        mine = [pk for pk in there if pk not in disposed]
        # Writing the marks makes a replay that queues these records wait, unless it has done so already.
        replay_marks.show(_letters(mine), Value(act.kind), held=True)
        busy = set(_in_replays(there).values_list("dead_letter", flat=True))
        replay_marks.show(_letters(busy - disposed), REPLAY_STATE)
        free = [pk for pk in mine if pk not in busy]
        Disposal.objects.bulk_create(
            Disposal(dead_letter_id=pk, act=act, kind=act.kind, reason=act.reason, actor_id=act.actor_id, at=now)
            for pk in free
        )
        return Done(len(free), len(disposed), len(busy - disposed))


def restore(dead_letters: Sequence[int], undone: DisposalAct | None = None) -> Done:
    """Delete the disposals of these dead letters. With `undone`, only the disposals of that act."""
    with transaction.atomic():
        there = _locked(dead_letters)
        rows = Disposal.objects.filter(dead_letter__in=there)
        mine = rows if undone is None else rows.filter(act=undone)
        free = list(mine.values_list("dead_letter", flat=True))
        mine.delete()
        replay_marks.show(_letters(free), REPLAY_STATE)
        return Done(len(free), len(there) - len(free))


def replaying(found: QuerySet[DeadLetter]) -> tuple[int, list[Replay]]:
    """Return how many of these are in a running replay, and the first three of these replays."""
    queued = found.filter(mark__state=ReplayState.QUEUED).values("pk")
    items = ReplayItem.objects.filter(dead_letter__in=queued, state__in=UNDER_WAY)
    replays = Replay.objects.filter(pk__in=items.values("replay")).order_by("pk")[:3]
    return items.count(), list(replays)


def _letters(pks: Collection[int]) -> QuerySet[DeadLetter]:
    return DeadLetter.objects.filter(pk__in=pks)


def _in_replays(dead_letters: Sequence[int]) -> QuerySet[ReplayItem]:
    return ReplayItem.objects.filter(dead_letter__in=dead_letters, state__in=UNDER_WAY)


def _locked(dead_letters: Sequence[int]) -> list[int]:
    """Lock and return the existing dead letters.

    Nobody else can dispose of them or delete them until the commit.
    """
    rows = DeadLetter.objects.select_for_update(of=("self",), no_key=True).filter(pk__in=dead_letters).order_by("pk")
    return list(rows.values_list("pk", flat=True))
