"""Queries of the index: pages, totals, facets and neighbours. Each tells how complete it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec
from django.db.models import QuerySet

from dlqadmin.deadletters.index.group_titles import short
from dlqadmin.deadletters.models import DeadLetter, Fingerprint, Group
from dlqadmin.deadletters.payloads import quoting_text
from dlqadmin.deadletters.search.candidates import Place, count_some, nearest_newer, newest, tally
from dlqadmin.deadletters.search.counters import CounterCell, cells, count
from dlqadmin.deadletters.search.documents import FacetValue, MatchTotal, NeighbourIds
from dlqadmin.deadletters.search.fields import COUNTED, FACETS, FILTER_FIELDS, FieldHome, FieldKind
from dlqadmin.deadletters.search.filter_queries import without_reach
from dlqadmin.deadletters.search.filters import Filters
from dlqadmin.deadletters.search.time_limits import QueryTimedOut, TimeBudget, bounded
from dlqadmin.rest.pagination import decode_cursor, encode_cursor
from dlqadmin.rest.problems import ParameterError

WINDOW = 10_000
MAX_FACET_VALUES = 50


class RowPage(msgspec.Struct, frozen=True):
    """Rows of a list.

    `partial` if the time-out ended the reading. `searched` is the number of records whose bytes were read.
    `blind` and `absent`: see `MatchingRows`. `absent` is empty if records were left unread.
    """

    rows: list[DeadLetter]
    next: str | None
    partial: bool
    searched: int | None = None
    blind: bool = False
    absent: tuple[str, ...] = ()


class FacetCounts(msgspec.Struct, frozen=True):
    """Counts by value. `sampled` names the fields counted over the newest `of` matching records only.

    `partial` if the time-out left some of them uncounted.
    """

    facets: dict[str, list[FacetValue]]
    exact: bool
    of: int | None
    sampled: list[str]
    partial: bool


def page(filters: Filters, cursor: str | None, limit: int) -> RowPage:
    """Return the newest matching dead letters after the cursor. Raises ParameterError."""
    after = decode_cursor(cursor, str, int)
    place = (_time(str(after[0])), int(after[1])) if after is not None else None
    # One row more than the page tells whether there is a next page. The scan reads times and ids; whole rows and
    # their groups are read by id, for the rows of this page only.
    found = newest(filters, (), limit + 1, place)
    ids = [row[1] for row in found.rows[:limit]]
    by_id = DeadLetter.objects.select_related("fingerprint__group", "mark").in_bulk(ids)
    rows = [by_id[pk] for pk in ids if pk in by_id]
    more = len(found.rows) > limit
    last = (found.rows[limit - 1][0], found.rows[limit - 1][1]) if more else found.last
    absent = () if more else found.absent
    return RowPage(rows, _cursor(last), found.partial, found.searched, found.blind, absent)


def total(filters: Filters, first: RowPage | None = None) -> MatchTotal:
    """Return the exact total from counters if possible, else count up to 10 000.

    The function does not count if `first` contains all matches.
    """
    if filters.counted:
        try:
            with bounded():
                return MatchTotal(count(filters), exact=True)
        except QueryTimedOut:
            return MatchTotal(0, exact=False)
    if first is not None and (first.next is None or first.partial):  # a page that ran out of time would do so again
        return MatchTotal(len(first.rows), exact=not (first.blind or first.partial))
    at_least = len(first.rows) if first is not None else 0
    return count_some(filters, WINDOW, at_least)


def facets(filters: Filters) -> FacetCounts:
    """Count the values of each dimension, without the filter by that dimension."""
    budget = TimeBudget()
    asked = without_reach(filters)
    narrowed = [name for name in FACETS if name in asked.include or name in asked.exclude]
    others = [name for name in FACETS if name not in narrowed]
    counted: dict[str, Counter[Any]] = {}
    sampled: list[str] = []
    sizes: list[int] = []
    partial = False
    for names, own in [(others, filters), *(([name], filters.without(name)) for name in narrowed)]:
        known = [name for name in names if name in COUNTED and own.counted]
        try:
            with bounded(budget.left):
                found = cells(own) if known else {}
            counted |= {name: _by_cell(name, found) for name in known}
        except QueryTimedOut:
            counted |= {name: Counter() for name in known}
            sampled, partial = [*sampled, *known], True
        if rest := [name for name in names if name not in known]:
            columns = list(dict.fromkeys(_column(name) for name in rest))
            window = tally(own, columns, WINDOW, budget)
            for name in rest:
                counted[name] = _by_value(name, window.counts, columns.index(_column(name)))
            if not window.complete:
                sampled, sizes = [*sampled, *rest], [*sizes, sum(window.counts.values())]
                partial = partial or window.partial
    answer = {name: _label(name, counted[name]) for name in FACETS}
    of = max(sizes, default=0) if sampled else None
    return FacetCounts(answer, not sampled, of, [name for name in FACETS if name in sampled], partial)


def neighbours(filters: Filters, row: DeadLetter) -> NeighbourIds:
    """Return the ids before and after this row in the filtered list (newest first), if found."""
    place, budget = (row.failed_at, row.pk), TimeBudget()
    previous = nearest_newer(filters, place, budget).rows
    following = newest(filters, (), 1, place, budget).rows
    return NeighbourIds(previous=previous[0][1] if previous else None, next=following[0][1] if following else None)


def same_origin(row: DeadLetter, before: int, after: int) -> QuerySet[DeadLetter]:
    """Return dead letters whose origin is near this one's, in the same partition."""
    if row.origin_partition is None or row.origin_offset is None:
        return DeadLetter.objects.filter(pk=row.pk)
    return (
        DeadLetter.objects.filter(
            cluster=row.cluster,
            origin_topic=row.origin_topic,
            origin_partition=row.origin_partition,
            origin_offset__gte=row.origin_offset - before,
            origin_offset__lte=row.origin_offset + after,
        )
        .select_related("fingerprint__group")
        .order_by("origin_offset", "id")
    )


def fingerprints(ids: Iterable[int]) -> Mapping[int, Fingerprint]:
    """Return the fingerprints with their groups, by id."""
    return {row.pk: row for row in Fingerprint.objects.filter(pk__in=set(ids)).select_related("group")}


def _by_cell(name: str, found: Mapping[CounterCell, int]) -> Counter[Any]:
    column = FILTER_FIELDS[name].column
    known = fingerprints(cell.fingerprint for cell in found) if _is_of_fingerprint(name) else {}
    counter: Counter[Any] = Counter()
    for cell, n in found.items():
        counter[getattr(known[cell.fingerprint] if known else cell, column)] += n
    return counter


def _by_value(name: str, counts: Mapping[tuple[Any, ...], int], place: int) -> Counter[Any]:
    counter: Counter[Any] = Counter()
    for values, n in counts.items():
        counter[values[place]] += n
    if not _is_of_fingerprint(name):
        return counter
    column, known = FILTER_FIELDS[name].column, fingerprints(counter)
    merged: Counter[Any] = Counter()
    for fingerprint, n in counter.items():
        merged[getattr(known[fingerprint], column)] += n
    return merged


def _column(name: str) -> str:
    return "fingerprint_id" if _is_of_fingerprint(name) else name


def _is_of_fingerprint(name: str) -> bool:
    return FILTER_FIELDS[name].home is FieldHome.FINGERPRINT


def _label(name: str, counter: Counter[Any]) -> list[FacetValue]:
    rows = sorted(
        ((value, n) for value, n in counter.items() if value not in (None, "")), key=lambda row: (-row[1], str(row[0]))
    )[:MAX_FACET_VALUES]
    titles: dict[int, str] = {}
    if name == "group":
        titles = dict(Group.objects.filter(pk__in=[value for value, _ in rows]).values_list("pk", "title"))
    if FILTER_FIELDS[name].kind is FieldKind.NUMBER:
        rows.sort()
    return [
        FacetValue(
            value=str(value),
            label=quoting_text(titles.get(value, "")) or (short(value) if name == "exception" else str(value)),
            count=n,
        )
        for value, n in rows
    ]


def _cursor(place: Place | None) -> str | None:
    return encode_cursor([place[0].isoformat(), place[1]]) if place else None


def _time(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            raise ValueError(text)
    except ValueError:
        raise ParameterError("cursor", "is not a cursor of this list") from None
    return moment
