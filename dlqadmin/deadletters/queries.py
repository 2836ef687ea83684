"""Reads of the index: pages, totals, facets and neighbours. Each says how complete its answer is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec
from django.db.models import Q, QuerySet

from dlqadmin.deadletters.bounding import TimedOut, bounded
from dlqadmin.deadletters.counters import cells
from dlqadmin.deadletters.filters import COUNTED, Filters, apply
from dlqadmin.deadletters.models import DeadLetter, Fingerprint, Group
from dlqadmin.deadletters.titles import short
from dlqadmin.rest.pagination import decode_cursor, encode_cursor
from dlqadmin.rest.problems import ParameterError

WINDOW = 10_000
FACETS = ("stage", "exception", "group", "connector", "topic", "origin_partition", "replay_state")
MAX_FACET_VALUES = 50


class Page(msgspec.Struct, frozen=True):
    """Rows of a list; `partial` when the time-out ended the reading."""

    rows: list[DeadLetter]
    next: str | None
    partial: bool


class Total(msgspec.Struct, frozen=True):
    """How many match; a lower bound when not exact."""

    count: int
    exact: bool


class Facets(msgspec.Struct, frozen=True):
    """Counts by value. `sampled` names those counted over the newest `of` matching records only."""

    facets: dict[str, list[dict[str, Any]]]
    exact: bool
    of: int | None
    sampled: list[str]


def page(filters: Filters, cursor: str | None, limit: int) -> Page:
    """The newest matching dead letters after the cursor. Raises ParameterError."""
    rows = apply(filters, DeadLetter.objects.select_related("fingerprint__group")).order_by("-failed_at", "-id")
    after = decode_cursor(cursor, str, int)
    if after is not None:
        rows = rows.filter(_older(_time(str(after[0])), int(after[1])))
    found: list[DeadLetter] = []
    try:
        with bounded():
            found.extend(rows[: limit + 1].iterator(chunk_size=100))
    except TimedOut:
        return Page(found[:limit], _cursor(found[:limit]), partial=True)
    return Page(found[:limit], _cursor(found[:limit]) if len(found) > limit else None, partial=False)


def total(filters: Filters) -> Total:
    """Exact from the counters where they can answer, else counted up to 10 000."""
    try:
        with bounded():
            if filters.counted:
                return Total(sum(cells(filters).values()), exact=True)
            count = apply(filters, DeadLetter.objects.all()).order_by()[: WINDOW + 1].count()
    except TimedOut:
        return Total(0, exact=False)
    return Total(min(count, WINDOW), exact=count <= WINDOW)


def facets(filters: Filters) -> Facets:
    """Counts of each dimension's values, each with its own filter taken off."""
    counted: dict[str, Counter[Any]] = {}
    sampled, of = [], None
    for name in FACETS:
        own = filters.without(name)
        try:
            with bounded():
                if name in COUNTED and own.counted:
                    counted[name] = _by_cell(name, cells(own))
                    continue
                values = list(_newest(own, name)[: WINDOW + 1])
        except TimedOut:
            counted[name], of = Counter(), of or 0
            sampled.append(name)
            continue
        counted[name] = _by_value(name, values[:WINDOW])
        if len(values) > WINDOW:
            sampled.append(name)
            of = WINDOW
    answer = {name: _label(name, counter) for name, counter in counted.items()}
    return Facets(answer, exact=not sampled, of=of, sampled=sampled)


def neighbours(filters: Filters, row: DeadLetter) -> dict[str, int | None]:
    """The records before and after this one in the list that the filters make (newest first)."""
    rows = apply(filters, DeadLetter.objects.all())
    newer = Q(failed_at__gte=row.failed_at) & (Q(failed_at__gt=row.failed_at) | Q(id__gt=row.pk))
    try:
        with bounded():
            previous = rows.filter(newer).order_by("failed_at", "id").values_list("id", flat=True).first()
            following = (
                rows.filter(_older(row.failed_at, row.pk))
                .order_by("-failed_at", "-id")
                .values_list("id", flat=True)
                .first()
            )
    except TimedOut:
        return {"previous": None, "next": None}
    return {"previous": previous, "next": following}


def same_origin(row: DeadLetter, before: int, after: int) -> QuerySet[DeadLetter]:
    """Dead letters whose origin is near this one's, in the same partition."""
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
    """The fingerprints with their groups, by id."""
    return {row.pk: row for row in Fingerprint.objects.filter(pk__in=set(ids)).select_related("group")}


def _by_cell(name: str, found: Mapping[Any, int]) -> Counter[Any]:
    known = fingerprints(cell.fingerprint for cell in found) if name in ("stage", "exception", "group") else {}
    counter: Counter[Any] = Counter()
    for cell, n in found.items():
        counter[_of(name, known[cell.fingerprint]) if known else getattr(cell, name)] += n
    return counter


def _by_value(name: str, values: list[Any]) -> Counter[Any]:
    counter = Counter(values)
    if name not in ("stage", "exception", "group"):
        return counter
    known = fingerprints(counter)
    merged: Counter[Any] = Counter()
    for fingerprint, n in counter.items():
        merged[_of(name, known[fingerprint])] += n
    return merged


def _newest(filters: Filters, name: str) -> QuerySet[DeadLetter, Any]:
    column = "fingerprint_id" if name in ("stage", "exception", "group") else name
    rows = apply(filters, DeadLetter.objects.all()).order_by("-failed_at", "-id")
    return rows.values_list(column, flat=True)


def _of(name: str, fingerprint: Fingerprint) -> Any:
    if name == "stage":
        return fingerprint.stage
    return fingerprint.exception_class if name == "exception" else fingerprint.group_id


def _label(name: str, counter: Counter[Any]) -> list[dict[str, Any]]:
    rows = sorted(
        ((value, n) for value, n in counter.items() if value not in (None, "")), key=lambda row: (-row[1], str(row[0]))
    )[:MAX_FACET_VALUES]
    titles: dict[int, str] = {}
    if name == "group":
        titles = dict(Group.objects.filter(pk__in=[value for value, _ in rows]).values_list("pk", "title"))
    if name == "origin_partition":
        rows.sort()
    return [
        {
            "value": str(value),
            "label": titles.get(value) or (short(value) if name == "exception" else str(value)),
            "count": n,
        }
        for value, n in rows
    ]


def _older(moment: datetime, pk: int) -> Q:
    return Q(failed_at__lte=moment) & (Q(failed_at__lt=moment) | Q(id__lt=pk))


def _cursor(rows: list[DeadLetter]) -> str | None:
    return encode_cursor([rows[-1].failed_at.isoformat(), rows[-1].pk]) if rows else None


def _time(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            raise ValueError(text)
    except ValueError:
        raise ParameterError("cursor", "is not a cursor of this list") from None
    return moment
