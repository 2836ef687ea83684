"""The one place that moves items from state to state: guarded, timed, and in step with their dead letters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Case, Exists, OuterRef, Q, Subquery, Value, When
from django.db.models.functions import Coalesce

from dlqadmin.deadletters.models import DeadLetter, ReplayState
from dlqadmin.replays.models import ItemState, ReplayItem
from dlqadmin.replays.parts import parts
from dlqadmin.rest.times import iso

MAX_EVIDENCE = 500
SETTLED = (ItemState.PASSED, ItemState.FAILED_AGAIN, ItemState.UNKNOWN)
# What the latest replay made of a dead letter: on its way again, else the state of the item that was sent last.
_OF_LETTER = ReplayItem.objects.filter(dead_letter=OuterRef("pk"))
_ON_ITS_WAY = _OF_LETTER.filter(state__in=(ItemState.QUEUED, ItemState.SENDING))
_LAST_SENT = _OF_LETTER.filter(sent_at__isnull=False).order_by("-sent_at", "-pk").values("state")[:1]
REPLAY_STATE = Case(
    When(Exists(_ON_ITS_WAY), then=Value(ReplayState.QUEUED.value)),
    default=Coalesce(Subquery(_LAST_SENT), Value(ReplayState.NONE.value)),
)


def move(
    items: Iterable[ReplayItem],
    expected: ItemState | Sequence[ItemState],
    to: ItemState,
    now: datetime,
    *,
    reason: str = "",
    evidence: str = "",
    **fields: Any,
) -> int:
    """Move those of the items that are still in an expected state; how many that were.

    An outcome that turns is kept in the item's history. The items themselves are not changed in memory.
    """
    wanted = list(items)
    states = (expected,) if isinstance(expected, ItemState) else tuple(expected)
    values = {"state": to, "state_at": now, "reason": reason, "evidence": evidence[:MAX_EVIDENCE], **fields}
    moved = 0
    for part in parts(wanted):
        with transaction.atomic():
            moved += _move(part, states, to, values)
    return moved


def _move(items: Sequence[ReplayItem], states: Sequence[ItemState], to: ItemState, values: dict[str, Any]) -> int:
    there = Q(pk__in=[item.pk for item in items], state__in=states)
    rows = list(ReplayItem.objects.select_for_update().filter(there))
    for row in rows:
        if row.state in SETTLED and row.state != to:
            earlier = {"at": iso(row.state_at), "state": row.state, "reason": row.reason, "evidence": row.evidence}
            ReplayItem.objects.filter(pk=row.pk).update(history=[*row.history, earlier])
    ReplayItem.objects.filter(pk__in=[row.pk for row in rows]).update(**values)
    DeadLetter.objects.filter(pk__in=[row.dead_letter_id for row in rows]).update(replay_state=REPLAY_STATE)
    return len(rows)
