"""Counters of a replay's items by state, and of items sent and settled per second.

They are updated in the transaction that moves the items, so that screens and decisions never have to count rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

from django.db import connection, transaction
from django.db.models import F, Sum

from dlqadmin.deadletters.index.bulk_insert import BulkTable, bulk
from dlqadmin.replays.models import ItemCount, ItemState, ReplayItem, ReplaySecond

_COUNTS = BulkTable(
    ItemCount,
    {
        "replay_id": "bigint",
        "state": "varchar",
        "reason": "varchar",
        "watched": "varchar",
        "edited": "boolean",
        "n": "integer",
    },
)
_SECONDS = {
    name: BulkTable(ReplaySecond, {"replay_id": "bigint", "at": "timestamptz", name: "integer"})
    for name in ("sent", "settled")
}
_BY_KIND = "replay_id, state, reason, watched, edited"


class CounterKey(NamedTuple):
    """The columns that items are counted by."""

    replay: int
    state: str
    reason: str
    watched: str
    edited: bool


def add(changes: Counter[CounterKey]) -> None:
    """Add these changes, which may be negative, to the counters.

    Call it last in a transaction: all transactions of a replay wait for these few rows.
    """
    # The same order in all transactions prevents deadlocks.
    rows = sorted((*kind, n) for kind, n in changes.items() if n)
    bulk().add(_COUNTS, rows)


def sent(replay: int, n: int, now: datetime) -> None:
    """Count `n` items as sent in this second."""
    _in_second("sent", replay, n, now)


def settled(replay: int, n: int, now: datetime) -> None:
    """Count `n` items as settled in this second. `n` is negative if outcomes were withdrawn."""
    _in_second("settled", replay, n, now)


@transaction.atomic
def recount(replay: int) -> None:
    """Count the replay's items again. Needed after items were inserted or deleted."""
    ItemCount.objects.filter(replay_id=replay).delete()
    counts, rows = ItemCount._meta.db_table, ReplayItem._meta.db_table
    sql = (
        f"INSERT INTO {counts} ({_BY_KIND}, n) SELECT {_BY_KIND}, COUNT(*) FROM {rows} "  # noqa: S608 (names of ours)
        f"WHERE replay_id = %s GROUP BY {_BY_KIND}"
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, [replay])


def cells(replays: Collection[int]) -> dict[int, list[tuple[str, str, str, bool, int]]]:
    """Return (state, reason, watched, edited, count) rows of each replay."""
    found: dict[int, list[tuple[str, str, str, bool, int]]] = {pk: [] for pk in replays}
    rows = ItemCount.objects.filter(replay_id__in=found, n__gt=0).order_by("pk")
    for pk, state, reason, watched, edited, n in rows.values_list(*_COUNTS.columns):
        found[pk].append((state, reason, watched, edited, n))
    return found


def states(replay: int) -> Counter[str]:
    """Return the number of the replay's items in each state."""
    rows = ItemCount.objects.filter(replay_id=replay).order_by().values_list("state").annotate(n=Sum("n"))
    return Counter({state: n for state, n in rows if n})


def count(replay: int, *wanted: ItemState) -> int:
    """Return the number of the replay's items in any of these states."""
    known = states(replay)
    return sum(known[state] for state in wanted)


def seconds(replay: int) -> Sequence[tuple[datetime, int, int]]:
    """Return (second, items sent, items settled) rows in the order of time."""
    rows = ReplaySecond.objects.filter(replay_id=replay).order_by("at")
    return list(rows.values_list("at", "sent", "settled"))


def _in_second(name: str, replay: int, n: int, now: datetime) -> None:
    if not n:
        return
    at = now.replace(microsecond=0)
    known = ReplaySecond.objects.filter(replay_id=replay, at=at)
    if not known.update(**{name: F(name) + n}):
        bulk().add(_SECONDS[name], [(replay, at, n)])
