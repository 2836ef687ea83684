"""Reads of groups: the list from counters, and what one group is made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from django.db.models import Count, Min

from dlqadmin.deadletters.bounding import TimedOut, bounded
from dlqadmin.deadletters.counters import cells, daily, hourly
from dlqadmin.deadletters.filters import Filters
from dlqadmin.deadletters.histogram import MS
from dlqadmin.deadletters.models import CountHour, DeadLetter, Fingerprint, Group, GroupActivity
from dlqadmin.deadletters.preparing import EPOCH
from dlqadmin.deadletters.queries import WINDOW
from dlqadmin.deadletters.states import TABS, state
from dlqadmin.rest.times import iso

DAY, HOUR = timedelta(days=1), timedelta(hours=1)
NOW = timedelta(minutes=5)
SAMPLES = 10
SORTS = ("last_seen", "first_seen", "events")


class Summary(msgspec.Struct):
    """A group with what is counted of it in a time range."""

    group: Group
    exception_class: str
    stage: str
    message: str
    state: str
    events: int
    connectors: list[str]
    topics: list[str]


def summaries(filters: Filters, now: datetime) -> list[Summary]:
    """Every group with events that match; the filters must be `counted`."""
    found = cells(filters)
    known = {
        row.pk: row
        for row in Fingerprint.objects.select_related("group__owner").filter(
            pk__in={cell.fingerprint for cell in found}
        )
    }
    recent = _recent(known, now)
    rows: dict[int, Summary] = {}
    for cell, n in sorted(found.items(), key=lambda item: (item[0].fingerprint, -item[1])):
        fingerprint = known[cell.fingerprint]
        group = fingerprint.group
        row = rows.get(group.pk)
        if row is None:
            word = state(group, now, *recent.get(group.pk, (0, 0)))
            row = rows[group.pk] = Summary(
                group, fingerprint.exception_class, fingerprint.stage, fingerprint.message, word, 0, [], []
            )
        row.events += n
        if cell.connector and cell.connector not in row.connectors:
            row.connectors.append(cell.connector)
        if cell.topic not in row.topics:
            row.topics.append(cell.topic)
    return list(rows.values())


def tab_counts(rows: Iterable[Summary]) -> dict[str, int]:
    """How many groups each tab holds."""
    states = Counter(row.state for row in rows)
    return {tab: sum(states[word] for word in words) for tab, words in TABS.items()}


def ordered(rows: Iterable[Summary], sort: str) -> list[Summary]:
    """The largest or latest first; ties by id, so that pages are stable."""
    keys: dict[str, Any] = {
        "last_seen": lambda row: (row.group.last_seen, row.group.pk),
        "first_seen": lambda row: (row.group.first_seen, row.group.pk),
        "events": lambda row: (row.events, -row.group.pk),
    }
    return sorted(rows, key=keys[sort], reverse=True)


def documents(rows: Sequence[Summary], filters: Filters, now: datetime) -> list[dict[str, Any]]:
    """The rows of a page with what only a page needs: sparklines, keys, the last 24 hours and 5 minutes."""
    ids = [row.group.pk for row in rows]
    arrow = dict(Fingerprint.objects.filter(group_id__in=ids).values_list("pk", "group_id"))
    by_group = msgspec.structs.replace(filters, include={**filters.include, "group": tuple(map(str, ids))})
    day = _events(msgspec.structs.replace(by_group, start=now - DAY, end=now + HOUR), arrow)
    minutes = dict(
        DeadLetter.objects.filter(fingerprint_id__in=arrow, failed_at__gte=now - NOW)
        .order_by()
        .values_list("fingerprint__group_id")
        .annotate(n=Count("pk"))
    )
    lines = _sparklines(by_group, arrow)
    return [
        {
            "id": row.group.pk,
            "title": row.group.title,
            "exception_class": row.exception_class,
            "stage": row.stage,
            "message": row.message,
            "state": row.state,
            "events": row.events,
            "events_24h": day[row.group.pk],
            "now": minutes.get(row.group.pk, 0),
            **_keys([pk for pk, group in arrow.items() if group == row.group.pk], filters),
            "first_seen": iso(row.group.first_seen),
            "last_seen": iso(row.group.last_seen),
            "owner": row.group.owner.get_username() if row.group.owner else None,
            "connectors": row.connectors,
            "topics": row.topics,
            "sparkline": lines[row.group.pk],
        }
        for row in rows
    ]


def document(group: Group, filters: Filters, now: datetime) -> dict[str, Any]:
    """One group, in a time range, whether or not it has events there."""
    own = msgspec.structs.replace(filters, include={"group": (str(group.pk),)}, exclude={})
    rows = summaries(own, now)
    if not rows:
        fingerprint = group.fingerprints.order_by("pk").first()
        recent = _recent({row.pk: row for row in group.fingerprints.all()}, now)
        why = (fingerprint.exception_class, fingerprint.stage, fingerprint.message) if fingerprint else ("", "", "")
        rows = [Summary(group, *why, state(group, now, *recent.get(group.pk, (0, 0))), 0, [], [])]
    return documents(rows, own, now)[0]


def detail(group: Group) -> dict[str, Any]:
    """Why these are one group, what they share, what was done, and some of them."""
    fingerprint = group.fingerprints.order_by("pk").first()
    ids = list(group.fingerprints.values_list("pk", flat=True))
    newest = DeadLetter.objects.filter(fingerprint_id__in=ids).order_by("-failed_at", "-id")
    rows = list(newest.values_list("id", "origin_topic", "origin_partition", "connector", "task_id")[:WINDOW])
    names = ("origin topic", "origin partition", "connector", "task")
    activity = [
        {"at": iso(entry.at), "actor": entry.actor, "kind": entry.kind, "text": entry.text}
        for entry in GroupActivity.objects.filter(group=group).order_by("-at", "-id")[:100]
    ]
    return {
        "why": {
            "exception_class": fingerprint.exception_class if fingerprint else "",
            "stage": fingerprint.stage if fingerprint else "",
            "message": fingerprint.message if fingerprint else "",
            "holes": fingerprint.holes if fingerprint else [],
            "frame": fingerprint.frame if fingerprint else "",
            "fingerprint": fingerprint.digest if fingerprint else "",
        },
        "shared": [
            {"field": name, "values": _values([row[place] for row in rows])} for place, name in enumerate(names, 1)
        ],
        "shared_of": len(rows),
        "activity": [
            *activity,
            {"at": iso(group.first_seen), "actor": "indexer", "kind": "first_seen", "text": "first seen"},
        ],
        "sample_ids": [row[0] for row in rows[:SAMPLES]],
    }


def _recent(known: dict[int, Fingerprint], now: datetime) -> dict[int, tuple[int, int]]:
    """By group: events of this hour and the last, and of the 24 hours before."""
    hour = (now - EPOCH) // HOUR
    rows = CountHour.objects.filter(hour__gte=hour - 25, fingerprint_id__in=known).values_list(
        "fingerprint_id", "hour", "n"
    )
    found: dict[int, tuple[int, int]] = {}
    for fingerprint, at, n in rows:
        group = known[fingerprint].group_id
        last, before = found.get(group, (0, 0))
        found[group] = (last + n, before) if at >= hour - 1 else (last, before + n)
    return found


def _events(filters: Filters, arrow: dict[int, int]) -> Counter[int]:
    counter: Counter[int] = Counter()
    for cell, n in cells(filters).items():
        counter[arrow[cell.fingerprint]] += n
    return counter


def _keys(fingerprints: list[int], filters: Filters) -> dict[str, Any]:
    """Distinct keys among the newest 10 000 of the range; exact when there are no more."""
    newest = (
        DeadLetter.objects.filter(
            fingerprint_id__in=fingerprints, failed_at__gte=filters.start, failed_at__lt=filters.end
        )
        .order_by("-failed_at", "-id")
        .values_list("key_hash", flat=True)[: WINDOW + 1]
    )
    try:
        with bounded():
            values = list(newest)
    except TimedOut:
        return {"keys": 0, "keys_exact": False}
    return {"keys": len(set(values[:WINDOW]) - {None}), "keys_exact": len(values) <= WINDOW}


def _sparklines(filters: Filters, arrow: dict[int, int]) -> dict[int, dict[str, Any]]:
    """Whole buckets of hours or days: by hour up to 48 h, by 6 h up to 14 d, by day beyond."""
    span = filters.end - filters.start
    width = HOUR if span <= 2 * DAY else 6 * HOUR if span <= 14 * DAY else max(1, -(-span // (90 * DAY))) * DAY
    start = EPOCH + (filters.start - EPOCH) // width * width
    size = -(-(filters.end - start) // width)
    points: dict[int, list[int]] = {group: [0] * size for group in arrow.values()}
    counted, unit = (hourly(filters), HOUR) if span <= 14 * DAY else (daily(filters), DAY)
    for at, fingerprint, n in counted:
        bucket = (EPOCH + at * unit - start) // width
        points[arrow[fingerprint]][max(0, min(bucket, size - 1))] += n
    return {group: {"from": iso(start), "bucket_ms": width // MS, "points": values} for group, values in points.items()}


def _values(values: list[Any]) -> list[dict[str, Any]]:
    counted = Counter(str(value) for value in values if value not in (None, ""))
    return [{"value": value, "count": n} for value, n in counted.most_common(10)]


def earliest() -> datetime | None:
    """When the first dead letter of the index failed."""
    found: datetime | None = Group.objects.aggregate(first=Min("first_seen"))["first"]
    return found
