"""The newest matching dead letters, found by one index, by several, or by reading bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import msgspec
from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import BinaryField, Case, Q, QuerySet, When
from django.db.models.functions import Coalesce

from dlqadmin.deadletters import replay_marks
from dlqadmin.deadletters.index import decoded_values
from dlqadmin.deadletters.index.words import has_backlog
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.deadletters.search.byte_search import probes, read_bytes
from dlqadmin.deadletters.search.documents import MatchTotal
from dlqadmin.deadletters.search.filter_queries import SortedBranch, branches, by_topic, in_reach
from dlqadmin.deadletters.search.filters import PROBED, Filters
from dlqadmin.deadletters.search.time_limits import QueryTimedOut, TimeBudget, bounded

CHUNK, BYTES_CHUNK = 500, 50
MAX_VALUE_BYTES = 1024 * 1024  # the bytes of longer values are not read
BYTES = ("looked_at", "body__headers", "body__original_headers")
Place = tuple[datetime, int]


class MatchingRows(msgspec.Struct, frozen=True):
    """Rows in order, each starting with failed_at and id.

    - `partial`: the time-out ended the reading.
    - `searched`: the number of records whose bytes were read, if any.
    - `last`: the place up to which all matches are in `rows`; None if `rows` contains all matches.
    - `blind`: some records could not be judged, because their value is too long or not decoded yet, or their text
      is not yet searchable.
    - `absent`: the members and headers of the filters that no searched record has.
    """

    rows: list[tuple[Any, ...]]
    partial: bool
    searched: int | None = None
    last: Place | None = None
    blind: bool = False
    absent: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Return whether the rows are exactly the matching ones."""
        return not (self.partial or self.blind) and self.last is None


class ValueCounts(msgspec.Struct, frozen=True):
    """Counts of each combination of values. `complete` and `partial` as in `MatchingRows`."""

    counts: Mapping[tuple[Any, ...], int]
    complete: bool
    partial: bool


def newest(
    filters: Filters, columns: Sequence[str], most: int, after: Place | None = None, budget: TimeBudget | None = None
) -> MatchingRows:
    """Return these columns of the newest matching rows older than the place `after`."""
    return _find(filters, columns, most, after, budget or TimeBudget())


def tally(filters: Filters, columns: Sequence[str], most: int, budget: TimeBudget) -> ValueCounts:
    """Count combinations of these columns among the newest matching rows.

    If one index finds the rows, the database counts them.
    """
    ways = [] if filters.probed or filters.worded else _one_index(filters)
    if not ways:
        found = newest(filters, columns, most, budget=budget)
        return ValueCounts(Counter(row[2:] for row in found.rows), found.complete, found.partial)
    try:
        with bounded(budget.left):
            counts = _counted(ways, columns, most)
    except QueryTimedOut:
        return ValueCounts({}, complete=False, partial=True)
    return ValueCounts(counts, complete=sum(counts.values()) < most, partial=False)


def count_some(filters: Filters, most: int, at_least: int) -> MatchTotal:
    """Count the matching rows up to `most`. After a time-out, `at_least` rows are known.

    If one index finds the rows, the database counts them. By states of replays it would read all marks: reading the
    rows through a cursor makes PostgreSQL walk along an index.
    """
    is_read = filters.probed or filters.worded or bool(filters.names & {replay_marks.MARK, replay_marks.WORK})
    ways = [] if is_read else _one_index(filters)
    if not ways:
        found = newest(filters, (), most + 1)
        return MatchTotal(min(len(found.rows), most), exact=found.complete)
    try:
        with bounded():
            number = sum(_counted(ways, (), most + 1).values())
    except QueryTimedOut:
        return MatchTotal(at_least, exact=False)
    return MatchTotal(min(number, most), exact=number <= most)


def nearest_newer(filters: Filters, place: Place, budget: TimeBudget) -> MatchingRows:
    """Return the oldest matching row that is newer than the place."""
    return _find(filters, (), 1, place, budget, newest_first=False)


def _one_index(filters: Filters) -> list[SortedBranch]:
    """Return the queries that find the rows of `branches` if these are one query, else none.

    There are several only for several topics, whose rows are merged.
    """
    found = [branches(part) for part in by_topic(filters)]
    return [way for (way,) in found] if all(len(ways) == 1 for ways in found) else []


def _counted(ways: Sequence[SortedBranch], columns: Sequence[str], most: int) -> dict[tuple[Any, ...], int]:
    """Count combinations of these columns among the newest rows of `_one_index`."""
    names = ", ".join(map(connection.ops.quote_name, columns))
    try:
        # In order: the database stops after a few rows more than it counts.
        rows, parameters = _merged(ways, columns, most).query.sql_with_params()
    except EmptyResultSet:  # no fingerprint matches
        return {}
    grouped = f"SELECT {names}, COUNT(*) FROM ({rows}) AS newest GROUP BY {names}"  # noqa: S608 (the ORM's, and names of ours)
    total = f"SELECT COUNT(*) FROM ({rows}) AS newest"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(grouped if names else total, parameters)
        return {row[:-1]: row[-1] for row in cursor.fetchall()}


def _find(
    filters: Filters,
    columns: Sequence[str],
    most: int,
    behind: Place | None,
    budget: TimeBudget,
    *,
    newest_first: bool = True,
) -> MatchingRows:
    """Find rows beyond the place `behind`.

    Text may become searchable meanwhile, so the queue is checked before and after.
    """
    begin, blind = behind or (filters.end, 0), filters.worded and has_backlog()
    if filters.probed:
        # Reading bytes needs one ordered list of candidates, so several branches become one query.
        ways = branches(filters.unprobed())
        way = ways[0] if len(ways) == 1 else SortedBranch(in_reach(filters.unprobed()))
        rows = _ordered(way, columns, behind, newest_first=newest_first)
        found = _probe(filters, rows, columns, most, begin, budget)
    else:
        lists = [
            _merged(alternative, columns, most, behind, newest_first=newest_first)
            for alternative in zip(*map(branches, by_topic(filters)), strict=True)
        ]
        parts = [_read(rows, most, begin, budget) for rows in lists]
        found = parts[0] if len(parts) == 1 else _merge(parts, most, newest_first=newest_first)
    return msgspec.structs.replace(found, blind=found.blind or blind or (filters.worded and has_backlog()))


def _merged(
    ways: Sequence[SortedBranch],
    columns: Sequence[str],
    most: int,
    beyond: Place | None = None,
    *,
    newest_first: bool = True,
) -> QuerySet[DeadLetter, Any]:
    """Return the first rows beyond the place, in order: time, id and these columns.

    Several `ways` are those of several topics: PostgreSQL merges their scans, and ends each where the rows are enough.
    """
    lists = [
        _ordered(way, columns, beyond, newest_first=newest_first).values_list(way.time, way.pk, *columns)[:most]
        for way in ways
    ]
    if len(lists) == 1:
        return lists[0]
    merged = lists[0].union(*lists[1:], all=True)
    return merged.order_by(*(("-failed_at", "-id") if newest_first else ("failed_at", "id")))[:most]


def _ordered(
    branch: SortedBranch, columns: Sequence[str], beyond: Place | None = None, *, newest_first: bool = True
) -> QuerySet[DeadLetter]:
    """Return rows beyond the place, in the order of the index.

    `columns` may contain the replay state and the work state, which are not columns of a table.
    """
    rows = branch.rows.order_by(*((f"-{branch.time}", f"-{branch.pk}") if newest_first else (branch.time, branch.pk)))
    if beyond is not None:
        than = "lt" if newest_first else "gt"
        later, same = Q(**{f"{branch.time}__{than}": beyond[0]}), Q(**{f"{branch.pk}__{than}": beyond[1]})
        # The first condition is redundant, but the database can use it as a bound of the index scan.
        rows = rows.filter(Q(**{f"{branch.time}__{than}e": beyond[0]}) & (later | same))
    return rows.annotate(**{name: value for name, value in replay_marks.COLUMNS.items() if name in columns})


def _read(rows: QuerySet[DeadLetter, Any], most: int, begin: Place, budget: TimeBudget) -> MatchingRows:
    read: list[tuple[Any, ...]] = []
    try:
        with bounded(budget.left) as bound:
            for row in rows.iterator(chunk_size=CHUNK):
                read.append(row)
                if len(read) % CHUNK == 0:
                    bound.check()
    except QueryTimedOut:
        return MatchingRows(read, partial=True, last=_sort_position(read) or begin)
    return MatchingRows(read, partial=False, last=_sort_position(read) if len(read) == most else None)


def _merge(found: Sequence[MatchingRows], most: int, *, newest_first: bool) -> MatchingRows:
    """Merge results in order.

    If one of the lists was cut short, rows beyond its end are dropped, since others may be missing there.
    """
    # Branches of an OR overlap: a dead letter can match by its text and by its key. Its id makes it one row.
    rows = {row[1]: row for one in found for row in one.rows}
    merged = sorted(rows.values(), key=lambda row: row[:2], reverse=newest_first)[:most]
    ends = [one.last for one in found if one.last is not None]
    partial = any(one.partial for one in found)
    if not ends:
        return MatchingRows(merged, partial, last=_sort_position(merged) if len(merged) == most else None)
    # Results are complete only up to the end of the list that was cut short first.
    end = max(ends) if newest_first else min(ends)
    kept = [row for row in merged if (row[:2] >= end if newest_first else row[:2] <= end)]
    return MatchingRows(kept, partial, last=_sort_position(kept) if len(kept) == most else end)


def _probe(
    filters: Filters, rows: QuerySet[DeadLetter], columns: Sequence[str], most: int, begin: Place, budget: TimeBudget
) -> MatchingRows:
    """Read the bytes of these records one after the other, at most 10 000."""
    checks = probes(filters.include, filters.exclude)
    in_values = not all(probe.is_header for probe in checks)
    unseen = {probe.name: probe for probe in checks}
    # A CASE and not a filter: longer values must count as searched and set `blind`, but their bytes stay unread.
    short = Case(
        When(value_size__lte=MAX_VALUE_BYTES, then=Coalesce("decoded__json", "body__value")), output_field=BinaryField()
    )
    wanted = ("failed_at", "id", *columns, "value_size", *BYTES)
    candidates = rows.annotate(looked_at=short).values_list(*wanted)[: PROBED + 1]
    kept: list[tuple[Any, ...]] = []
    searched, last, blind = 0, begin, in_values and decoded_values.has_backlog()
    try:
        with bounded(budget.left) as bound:
            for row in candidates.iterator(chunk_size=BYTES_CHUNK):
                if searched == PROBED or len(kept) == most or budget.left <= 0:
                    return MatchingRows(kept, budget.left <= 0, searched, last, blind, tuple(unseen))
                searched, last = searched + 1, (row[0], row[1])
                *shown, size, value, headers, original_headers = row
                blind = blind or (in_values and (size or 0) > MAX_VALUE_BYTES)
                record = read_bytes(value, headers, original_headers)
                for probe in [probe for probe in unseen.values() if probe.is_present(record)]:
                    del unseen[probe.name]
                if all(probe.passes(record) for probe in checks):
                    kept.append(tuple(shown))
                if searched % BYTES_CHUNK == 0:
                    bound.check()
    except QueryTimedOut:
        return MatchingRows(kept, partial=True, searched=searched, last=last, blind=blind, absent=tuple(unseen))
    return MatchingRows(kept, partial=False, searched=searched, blind=blind, absent=tuple(unseen))


def _sort_position(rows: Sequence[tuple[Any, ...]]) -> Place | None:
    return (rows[-1][0], rows[-1][1]) if rows else None
