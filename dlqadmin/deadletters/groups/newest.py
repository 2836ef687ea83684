"""Counts among the newest dead letters of each group.

One statement reads a few rows of each fingerprint.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from django.db import connection
from django.db.models import QuerySet

from dlqadmin.deadletters.models import DeadLetter
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


NOTHING = NewestCounts(0, 0, complete=True)


def newest(group_by_fingerprint: Mapping[int, int], rows: QuerySet[DeadLetter]) -> dict[int, NewestCounts]:
    """Return the counts of each group among the newest `rows` of each of its fingerprints.

    Counts are lower bounds after a time-out, or if there are more rows
    than the limits allow.
    """
    groups = set(group_by_fingerprint.values())
    counted = sorted(group_by_fingerprint)[:MOST_FINGERPRINTS]
    uncounted = {group_by_fingerprint[fingerprint] for fingerprint in group_by_fingerprint.keys() - set(counted)}
    most = min(MOST, MOST_OF_ALL // max(1, len(counted)))
    try:
        with bounded():
            found = _read({fingerprint: group_by_fingerprint[fingerprint] for fingerprint in counted}, rows, most)
    except QueryTimedOut:
        return dict.fromkeys(groups, NewestCounts(0, 0, complete=False))
    read = {
        group: NewestCounts(count, keys, complete=longest <= most and group not in uncounted)
        for group, count, keys, longest in found
    }
    return {group: read.get(group, NewestCounts(0, 0, complete=group not in uncounted)) for group in groups}


def _read(
    group_by_fingerprint: Mapping[int, int], rows: QuerySet[DeadLetter], most: int
) -> list[tuple[int, int, int, int]]:
    """Return (group, dead letters, distinct keys, most of one fingerprint) of groups with rows."""
    if not group_by_fingerprint:
        return []
    # One LIMIT for each fingerprint ends each index scan early; GROUP BY over all rows would read them all.
    one = rows.filter(fingerprint_id=ANY).order_by("-failed_at", "-id").values_list("key_hash")[: most + 1]
    sql, parameters = one.query.sql_with_params()
    part = f"SELECT %s AS home, key_hash, ROW_NUMBER() OVER () AS place FROM ({sql}) AS newest"  # noqa: S608, the ORM's
    arguments: list[Any] = []
    for fingerprint, group in group_by_fingerprint.items():
        arguments += [group, *(fingerprint if value == ANY else value for value in parameters)]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT home, COUNT(*), COUNT(DISTINCT key_hash), MAX(place) FROM ("  # noqa: S608, joined from the above
            + " UNION ALL ".join([part] * len(group_by_fingerprint))
            + ") AS found GROUP BY home",
            arguments,
        )
        return [(int(home), count, keys, longest) for home, count, keys, longest in cursor.fetchall()]
