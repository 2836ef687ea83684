"""How many items of a replay are in which state, and how many were sent and settled in which second.

Kept in the transaction that moves the items, so that neither a screen nor a decision ever counts them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from datetime import datetime
from typing import NamedTuple

from django.db import connection, transaction
from django.db.models import F, Sum

from dlqadmin.deadletters.copying import Table, bulk
from dlqadmin.replays.models import ItemCount, ItemState, ReplayItem, ReplaySecond

_COUNTS = Table(
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
    name: Table(ReplaySecond, {"replay_id": "bigint", "at": "timestamptz", name: "integer"})
    for name in ("sent", "settled")
}
_BY_KIND = "replay_id, state, reason, watched, edited"


class Kind(NamedTuple):
    """What items are counted together by."""

    replay: int
    state: str
    reason: str
    watched: str
    edited: bool


def add(changes: Counter[Kind]) -> None:
    """Count so many more of each kind, or fewer. The last act of a transaction: others wait for these few rows."""
    rows = sorted((*kind, n) for kind, n in changes.items() if n)  # alike for all, so that nobody blocks another
    bulk().add(_COUNTS, rows)


def sent(replay: int, n: int, now: datetime) -> None:
    """So many more were sent now."""
    _in_second("sent", replay, n, now)


def settled(replay: int, n: int, now: datetime) -> None:
    """So many more have an outcome now; fewer, when one turned out to be none."""
    _in_second("settled", replay, n, now)


@transaction.atomic
def recount(replay: int) -> None:
    """Count the replay's items anew: they were written, or taken away, without being moved."""
    ItemCount.objects.filter(replay_id=replay).delete()
    counts, rows = ItemCount._meta.db_table, ReplayItem._meta.db_table
    sql = (
        f"INSERT INTO {counts} ({_BY_KIND}, n) SELECT {_BY_KIND}, COUNT(*) FROM {rows} "  # noqa: S608 (names of ours)
        f"WHERE replay_id = %s GROUP BY {_BY_KIND}"
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, [replay])


def cells(replays: Collection[int]) -> dict[int, list[tuple[str, str, str, bool, int]]]:
    """State, reason, watched connector, edited, and how many, of each of the replays."""
    found: dict[int, list[tuple[str, str, str, bool, int]]] = {pk: [] for pk in replays}
    rows = ItemCount.objects.filter(replay_id__in=found, n__gt=0).order_by("pk")
    for pk, state, reason, watched, edited, n in rows.values_list(*_COUNTS.columns):
        found[pk].append((state, reason, watched, edited, n))
    return found


def states(replay: int) -> Counter[str]:
    """How many of the replay's items are in each state."""
    rows = ItemCount.objects.filter(replay_id=replay).order_by().values_list("state").annotate(n=Sum("n"))
    return Counter({state: n for state, n in rows if n})


def count(replay: int, *wanted: ItemState) -> int:
    """How many of the replay's items are in one of these states."""
    known = states(replay)
    return sum(known[state] for state in wanted)


def seconds(replay: int) -> Sequence[tuple[datetime, int, int]]:
    """When, how many were sent, and how many got an outcome, in order."""
    rows = ReplaySecond.objects.filter(replay_id=replay).order_by("at")
    return list(rows.values_list("at", "sent", "settled"))


def _in_second(name: str, replay: int, n: int, now: datetime) -> None:
    if not n:
        return
    at = now.replace(microsecond=0)
    known = ReplaySecond.objects.filter(replay_id=replay, at=at)
    if not known.update(**{name: F(name) + n}):
        bulk().add(_SECONDS[name], [(replay, at, n)])
