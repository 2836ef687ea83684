"""The replay state that the index shows of a dead letter: its disposal, or else its items."""

from __future__ import annotations

from django.db.models import Case, CharField, F, OuterRef, Q, Subquery, Value, When
from django.db.models.functions import Coalesce

from dlqadmin.deadletters.models import REPLACED, ReplayState
from dlqadmin.replays.models import Disposal, ItemState, ReplayItem

UNDER_WAY = (ItemState.QUEUED, ItemState.SENDING)
_UNDER_WAY = Q(state__in=UNDER_WAY)
_REPLACED = Q(state=ItemState.FAILED_AGAIN, refailure__isnull=False)
# Not the managers of rows in reach: the state of a dead letter is the same for everybody, and these queries are built
# once, when the first request imports this module.
# The kinds are named as the replay states.
_DISPOSED = Disposal._base_manager.filter(dead_letter=OuterRef("pk")).values("kind")
# The state in the latest replay: queued, if an item is being sent. Otherwise the state of the item that was sent last.
_ITEM = (
    ReplayItem._base_manager.filter(_UNDER_WAY | Q(sent_at__isnull=False), dead_letter=OuterRef("pk"))
    .annotate(
        says=Case(
            When(_UNDER_WAY, then=Value(ReplayState.QUEUED.value)),
            When(_REPLACED, then=Value(REPLACED)),
            default=F("state"),
        )
    )
    .order_by(Case(When(_UNDER_WAY, then=0), default=1), "-sent_at", "-pk")
    .values("says")[:1]
)
# Subqueries run once per dead letter and use an index. For EXISTS the database may scan the items of all replays.
REPLAY_STATE = Coalesce(Subquery(_DISPOSED), Subquery(_ITEM), Value(ReplayState.NONE.value), output_field=CharField())
