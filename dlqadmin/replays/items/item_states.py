"""State changes of items. No other module changes an item's state.

Changes are guarded by the expected state, and update counters, history and the marks of the dead letters. The drafts of
records that passed are deleted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from django.db import connection, transaction
from django.db.models import Count, F, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

from dlqadmin.deadletters import replay_marks
from dlqadmin.deadletters.index.bulk_insert import BulkTable, bulk
from dlqadmin.deadletters.models import DeadLetter, ReplayMark, ReplayState
from dlqadmin.replays.batches import PARAMETERS
from dlqadmin.replays.disposals.states import REPLAY_STATE
from dlqadmin.replays.items import item_counters
from dlqadmin.replays.items.item_counters import CounterKey
from dlqadmin.replays.items.item_rows import Loaded
from dlqadmin.replays.models import Fix, ItemState, Replay, ReplayItem
from dlqadmin.replays.reasons import Reason
from dlqadmin.rest.times import iso

MAX_EVIDENCE = 500
PART = 5000  # items in one statement
BEFORE = (ItemState.PLANNED, ItemState.SKIPPED)  # of a record that its replay has not touched
ON_THEIR_WAY = (ItemState.QUEUED, ItemState.SENDING)
UNSENT = (ItemState.PLANNED, *ON_THEIR_WAY)  # of a replay that was started
SETTLED = (ItemState.PASSED, ItemState.FAILED_AGAIN, ItemState.UNKNOWN)
_SENT = BulkTable(
    ReplayItem,
    {
        "id": "bigint",
        "state": "varchar",
        "reason": "varchar",
        "evidence": "varchar",
        "state_at": "timestamptz",
        "sent_partition": "integer",
        "sent_offset": "bigint",
        "sent_digest": "varchar",
        "sent_at": "timestamptz",
    },
)


def created(replay: Replay) -> None:
    """Initialise the counters after the replay's items were inserted or deleted."""
    item_counters.recount(replay.pk)


def hold(replay: int) -> None:
    """Lock the replay's row until the commit.

    All transactions lock the replay first, then its items, their counters and their dead letters. This order prevents
    deadlocks between the senders and those that skip items.
    """
    Replay.objects.select_for_update(no_key=True).filter(pk=replay).exists()


def without_waiting_for_the_disk() -> None:
    """Make the commit of this transaction asynchronous.

    Only for work that is repeated if the database crashes and loses it.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL synchronous_commit = off")


class _ItemRow(NamedTuple):
    pk: int
    dead_letter: int
    replay: int
    state: str
    reason: str
    watched: str
    edited: bool


def move(
    items: Iterable[ReplayItem | int],
    expected: ItemState | Sequence[ItemState],
    to: ItemState,
    now: datetime,
    *,
    reason: str = "",
    evidence: str = "",
    **fields: Any,
) -> int:
    """Move the items that are still in an expected state. Return how many were moved.

    `items` can be objects or ids. Objects in memory are not changed. An outcome that changes is kept in the item's
    history.
    """
    wanted = sorted({item if isinstance(item, int) else item.pk for item in items})
    states = (expected,) if isinstance(expected, ItemState) else tuple(expected)
    values = {"state": to, "state_at": now, "reason": reason, "evidence": evidence[:MAX_EVIDENCE], **fields}
    moved: list[_ItemRow] = []
    with transaction.atomic():
        for start in range(0, len(wanted), PART):
            moved += _move(wanted[start : start + PART], states, to, values)
        _show(moved, to)
        if to == ItemState.PASSED:
            _end_drafts([row.pk for row in moved])
        _count(moved, to, values, now)
    return len(moved)


def move_all(items: QuerySet[ReplayItem], before: ItemState, to: ItemState, now: datetime, *, reason: str = "") -> int:
    """Move all items of the query that are in the state `before`. Return how many were moved.

    Only for items that were never sent, in the caller's transaction. It reads no rows, so it is fast for any number of
    items. It does not update the marks of the dead letters: call `in_step` afterwards.
    """
    there = items.filter(state=before).order_by()
    kinds = list(there.values_list("replay_id", "state", "reason", "watched", "edited").annotate(n=Count("pk")))
    moved = there.update(state=to, state_at=now, reason=reason)
    changes = Counter[CounterKey]()
    for replay, state, why, watched, edited, n in kinds:
        changes[CounterKey(replay, state, why, watched, edited)] -= n
        changes[CounterKey(replay, to, reason, watched, edited)] += n
    item_counters.add(changes)
    return moved


def in_step(dead_letters: QuerySet[DeadLetter]) -> int:
    """Set the marks of these dead letters to the state of their items. Return how many changed."""
    return replay_marks.show(dead_letters, REPLAY_STATE)


def on_their_way(items: QuerySet[ReplayItem]) -> int:
    """Mark the dead letters of these queued items as queued. Return how many were written.

    The marks stay locked until the commit, so a person's decision about one of the records waits for it.
    """
    theirs = DeadLetter.objects.filter(pk__in=items.order_by().values("dead_letter"))
    return replay_marks.show(theirs, Value(ReplayState.QUEUED.value), held=True)


class SentState(NamedTuple):
    """The state of a record right after it was sent."""

    state: ItemState = ItemState.SENT
    reason: str = Reason.WAITING
    evidence: str = ""


def sent(replay: int, rows: Sequence[Loaded], now: datetime, to: SentState) -> None:
    """Store the queued items of one committed chunk, as they were changed in memory.

    Only the sender that closed the chunk calls this, so the expected state is not checked. It does not update the marks
    of the dead letters: `show_sent` does that later, because most have an outcome by then.
    """
    if not rows:
        return
    bulk().change(_SENT, [_as_sent(row, to, now) for row in rows])
    changes = Counter[CounterKey]()
    for row in rows:
        changes[CounterKey(replay, row.state, row.reason, row.watched, row.edited)] -= 1
        changes[CounterKey(replay, to.state, to.reason, row.watched, row.edited)] += 1
    item_counters.add(changes)
    item_counters.sent(replay, len(rows), now)
    item_counters.settled(replay, len(rows) if to.state in SETTLED else 0, now)


def show_sent(replay: int, first: int, after: int) -> int:
    """Update the marks of the dead letters of sent items with these ordinals.

    Return how many changed.
    """
    rows = ReplayItem.objects.filter(replay_id=replay, ordinal__gte=first, ordinal__lt=after, sent_at__isnull=False)
    shown = Coalesce(
        Subquery(ReplayMark.objects.filter(dead_letter=OuterRef("dead_letter")).values("state")), Value("")
    )
    behind = rows.order_by().annotate(shown=shown).exclude(shown=F("state")).values("dead_letter")
    return in_step(DeadLetter.objects.filter(pk__in=behind))


def show_replaced(linked: Sequence[ReplayItem]) -> None:
    """Update the marks of the dead letters of these items, whose newer dead letter became known.

    `move` does not, if the item had failed again before.
    """
    pks = sorted({item.dead_letter_id for item in linked})
    for start in range(0, len(pks), PART):
        in_step(DeadLetter.objects.filter(pk__in=pks[start : start + PART]))


def _move(pks: Sequence[int], states: Sequence[ItemState], to: ItemState, values: dict[str, Any]) -> list[_ItemRow]:
    # NO KEY, so that inserts that reference these rows do not wait.
    there = ReplayItem.objects.select_for_update(no_key=True).filter(pk__in=pks, state__in=states).order_by("pk")
    columns = ("pk", "dead_letter_id", "replay_id", "state", "reason", "watched", "edited")
    rows = [_ItemRow(*row) for row in there.values_list(*columns)]
    _remember([row.pk for row in rows if row.state in SETTLED and row.state != to])
    ReplayItem.objects.filter(pk__in=[row.pk for row in rows]).update(**values)
    return rows


def _show(moved: Sequence[_ItemRow], to: ItemState) -> None:
    """Update the marks of the dead letters whose visible state changed.

    They are written by ascending id, as in all transactions, to prevent deadlocks.
    """
    turned = sorted({row.dead_letter for row in moved if _shown(row.state) != _shown(to)})
    for start in range(0, len(turned), PART):
        in_step(DeadLetter.objects.filter(pk__in=turned[start : start + PART]))


def _end_drafts(passed: Sequence[int]) -> None:
    """Delete all drafts of these items' records, also those of their other dead letters.

    The bytes that were sent stay in the item. If the outcome is reversed, the new dead letter has them too.
    """
    if not Fix.objects.exists():  # most replays send no drafts
        return
    for start in range(0, len(passed), PART):
        lineages = ReplayItem.objects.filter(pk__in=passed[start : start + PART]).values("lineage")
        theirs = ReplayItem.objects.filter(lineage__in=lineages).values("dead_letter")
        # Locked in the order in which bulk fixes and undos lock them.
        held = Fix.objects.select_for_update().filter(dead_letter__in=theirs).order_by("dead_letter_id")
        ended = list(held.values_list("pk", flat=True))
        for first in range(0, len(ended), PARAMETERS):
            Fix.objects.filter(pk__in=ended[first : first + PARAMETERS]).delete()


def _remember(pks: Sequence[int]) -> None:
    """Append the current outcomes of these items to their history."""
    rows = list(ReplayItem.objects.filter(pk__in=pks).only("state", "state_at", "reason", "evidence", "history"))
    for row in rows:
        earlier = {"at": iso(row.state_at), "state": row.state, "reason": row.reason, "evidence": row.evidence}
        row.history = [*row.history, earlier]
    ReplayItem.objects.bulk_update(rows, ["history"], batch_size=PARAMETERS)


def _shown(state: str) -> str:
    """Return the state that a dead letter shows for an item in this state."""
    if state in BEFORE:
        return ""
    return ItemState.QUEUED if state in ON_THEIR_WAY else state


def _count(moved: Sequence[_ItemRow], to: ItemState, values: dict[str, Any], now: datetime) -> None:
    changes = Counter[CounterKey]()
    went_out, got_outcomes = Counter[int](), Counter[int]()
    for row in moved:
        changes[CounterKey(row.replay, row.state, row.reason, row.watched, row.edited)] -= 1
        changes[CounterKey(row.replay, to, values["reason"], row.watched, row.edited)] += 1
        # Items with lost coordinates become sent here. `sent` counts all others.
        went_out[row.replay] += row.state in (*BEFORE, *ON_THEIR_WAY) and values.get("sent_at") is not None
        got_outcomes[row.replay] += (to in SETTLED) - (row.state in SETTLED)
    item_counters.add(changes)
    for replay in sorted(went_out):
        item_counters.sent(replay, went_out[replay], now)
        item_counters.settled(replay, got_outcomes[replay], now)


def _as_sent(row: Loaded, to: SentState, now: datetime) -> tuple[Any, ...]:
    where = (row.sent_partition, row.sent_offset, row.sent_digest, row.sent_at)
    return (row.pk, to.state.value, str(to.reason), to.evidence, now, *where)
