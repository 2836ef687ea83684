"""Keyset pagination of a replay's items. Every page is read from an index."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Q, QuerySet

from dlqadmin.replays.models import ItemState, Replay, ReplayItem
from dlqadmin.rest.pagination import decode_cursor, encode_cursor

ORDERS = ("attention", "newest", "ordinal")
REJECTED = Q(state=ItemState.SKIPPED, reason="rejected")
# Items that need attention, in this order, then all others.
RANKS = (
    Q(state=ItemState.FAILED_AGAIN),
    Q(state=ItemState.UNKNOWN),
    REJECTED,
    Q(state=ItemState.SENT),
    ~Q(state__in=(ItemState.FAILED_AGAIN, ItemState.UNKNOWN, ItemState.SENT)) & ~REJECTED,
)


def page(replay: Replay, states: Sequence[str], order: str, cursor: str | None, most: int) -> list[ReplayItem]:
    """Return a page of items from the cursor on. Raises ParameterError.

    Orders:
    - `ordinal`: as the items are sent.
    - `newest`: the sent items, newest first, then the items that are still to be sent.
    - `attention`: items that failed again, then unknown ones, then those that Kafka rejected, then all others.
    """
    rows = (
        ReplayItem.objects.filter(replay=replay)
        .select_related("replay", "dead_letter", "refailure")
        .prefetch_related("outcomes")
    )
    if states:
        rows = rows.filter(state__in=states)
    if order == "attention":
        return _ranked(rows, cursor, most)
    if order == "newest":
        return _newest(replay, rows, cursor, most)
    after = decode_cursor(cursor, int)
    rows = rows.filter(ordinal__gt=after[0]) if after else rows
    return list(rows.order_by("ordinal")[:most])


def cursor_of(item: ReplayItem, order: str) -> str:
    """Return the cursor of the page that starts after this item."""
    if order == "ordinal":
        return encode_cursor([item.ordinal])
    return encode_cursor([_rank(item) if order == "attention" else _is_left(item), item.ordinal])


def _newest(replay: Replay, rows: QuerySet[ReplayItem], cursor: str | None, most: int) -> list[ReplayItem]:
    is_left, after = map(int, decode_cursor(cursor, int, int) or (0, replay.progress))
    found: list[ReplayItem] = []
    if not is_left:
        found += rows.filter(ordinal__lt=after).order_by("-ordinal")[:most]
        # The unsent items follow, in the order of sending.
        after = replay.progress - 1
    if len(found) < most:
        found += rows.filter(ordinal__gt=after).order_by("ordinal")[: most - len(found)]
    return found


def _ranked(rows: QuerySet[ReplayItem], cursor: str | None, most: int) -> list[ReplayItem]:
    rank, after = map(int, decode_cursor(cursor, int, int) or (0, -1))
    found: list[ReplayItem] = []
    for number, wanted in enumerate(RANKS[max(0, rank) :], start=max(0, rank)):
        alike = rows.filter(wanted)
        if number == rank:
            alike = alike.filter(ordinal__gt=after)
        found += alike.order_by("ordinal")[: most - len(found)]
        if len(found) == most:
            break
    return found


def _is_left(item: ReplayItem) -> int:
    return int(item.ordinal >= item.replay.progress)


def _rank(item: ReplayItem) -> int:
    if item.state == ItemState.SKIPPED:
        return 2 if item.reason == "rejected" else 4
    return {ItemState.FAILED_AGAIN: 0, ItemState.UNKNOWN: 1, ItemState.SENT: 3}.get(ItemState(item.state), 4)
