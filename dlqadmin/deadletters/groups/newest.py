"""Counts among the newest dead letters of each group.

One statement reads a few rows of each fingerprint.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from django.db import connection
from django.db.models import QuerySet

from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.models.reach import split_fingerprints
from dlqadmin.deadletters.search.time_limits import QueryTimedOut, bounded

MOST = 1000  # dead letters of one fingerprint
MOST_OF_ALL = 15_000
MOST_FINGERPRINTS = 400  # SQLite joins 500 selects at most
ANY = -1  # a placeholder for a fingerprint's id; no fingerprint has it


class NewestCounts(msgspec.Struct, frozen=True):
    """The number of dead letters and distinct keys. `complete` if all dead letters were counted."""

    count: int
    keys: int
    complete: bool


Narrowing = Callable[[QuerySet[DeadLetter]], QuerySet[DeadLetter]]
NOTHING = NewestCounts(0, 0, complete=True)


def newest(group_by_fingerprint: Mapping[int, int], narrow: Narrowing) -> dict[int, NewestCounts]:
    """Return the counts of each group among the newest dead letters of each of its fingerprints.

    `narrow` filters the dead letters. Counts are lower bounds after a time-out, or if there are more rows
    than the limits allow.
    """
    groups = set(group_by_fingerprint.values())
    counted = sorted(group_by_fingerprint)[:MOST_FINGERPRINTS]
    uncounted = {group_by_fingerprint[fingerprint] for fingerprint in group_by_fingerprint.keys() - set(counted)}
    most = min(MOST, MOST_OF_ALL // max(1, len(counted)))
    try:
        with bounded():
            found = _read({fingerprint: group_by_fingerprint[fingerprint] for fingerprint in counted}, narrow, most)
    except QueryTimedOut:
        return dict.fromkeys(groups, NewestCounts(0, 0, complete=False))
    read = {
        group: NewestCounts(count, keys, complete=longest <= most and group not in uncounted)
        for group, count, keys, longest in found
    }
    return {group: read.get(group, NewestCounts(0, 0, complete=group not in uncounted)) for group in groups}


def _read(group_by_fingerprint: Mapping[int, int], narrow: Narrowing, most: int) -> list[tuple[int, int, int, int]]:
    """Return (group, dead letters, distinct keys, most of one fingerprint) of groups with rows."""
    if not group_by_fingerprint:
        return []
    split = split_fingerprints(group_by_fingerprint)
    # The index of fingerprints answers alone if no condition on topics is needed.
    whole = _part(narrow(DeadLetter._base_manager.all()), most)
    in_reach = _part(narrow(DeadLetter.objects.all()), most) if split else whole
    given = [
        ({one: group for one, group in group_by_fingerprint.items() if (one in split) == is_split}, part)
        for is_split, part in ((False, whole), (True, in_reach))
    ]
    join = _lateral if connection.vendor == "postgresql" else _union
    parts = [join(groups, *part) for groups, part in given if groups]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT home, COUNT(*), COUNT(DISTINCT key_hash), MAX(place) FROM ("  # noqa: S608, joined from the above
            + " UNION ALL ".join(sql for sql, _ in parts)
            + ") AS found GROUP BY home",
            [value for _, parameters in parts for value in parameters],
        )
        return [(int(home), count, keys, longest) for home, count, keys, longest in cursor.fetchall()]


def _lateral(groups: Mapping[int, int], sql: str, parameters: Sequence[Any]) -> tuple[str, list[Any]]:
    """Return a join of fingerprints with their newest dead letters: one plan, however many fingerprints there are."""
    first, *pieces = sql.split("%s")
    texts = ["given.fingerprint" if value == ANY else "%s" for value in parameters]
    of_given = first + "".join(text + piece for text, piece in zip(texts, pieces, strict=True))
    join = "SELECT given.home, newest.* FROM unnest(%s::bigint[], %s::bigint[]) AS given (fingerprint, home)"
    others = [value for value in parameters if value != ANY]
    return f"{join} CROSS JOIN LATERAL ({of_given}) AS newest", [list(groups), list(groups.values()), *others]


def _union(groups: Mapping[int, int], sql: str, parameters: Sequence[Any]) -> tuple[str, list[Any]]:
    """Return a union of the newest dead letters of each fingerprint, because SQLite has no lateral joins."""
    arguments: list[Any] = []
    for fingerprint, group in groups.items():
        arguments += [group, *(fingerprint if value == ANY else value for value in parameters)]
    return " UNION ALL ".join([f"SELECT %s AS home, newest.* FROM ({sql}) AS newest"] * len(groups)), arguments  # noqa: S608, the ORM's


def _part(rows: QuerySet[DeadLetter], most: int) -> tuple[str, Sequence[Any]]:
    """Return the statement about one fingerprint, and its parameters."""
    # One LIMIT for each fingerprint ends each index scan early; GROUP BY over all rows would read them all.
    one = rows.filter(fingerprint_id=ANY).order_by("-failed_at", "-id").values_list("key_hash")[: most + 1]
    sql, parameters = one.query.sql_with_params()
    return f"SELECT key_hash, ROW_NUMBER() OVER () AS place FROM ({sql}) AS rows", parameters  # noqa: S608, the ORM's
