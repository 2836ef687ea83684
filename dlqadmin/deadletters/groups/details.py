"""The details of one group: its fingerprints, regroupings and activity."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from dlqadmin.deadletters.groups.common_values import Common
from dlqadmin.deadletters.groups.shares import by_fingerprint
from dlqadmin.deadletters.models import Fingerprint, Group, GroupActivity, Regrouping, RegroupingMove
from dlqadmin.deadletters.search.filters import Filters
from dlqadmin.rest.times import iso

MOST_FINGERPRINTS, MOST_ACTIVITY, MOST_REGROUPINGS = 50, 100, 20


def detail(group: Group, filters: Filters) -> dict[str, Any]:
    """Return the group's fingerprints and its history.

    Fingerprints with the most events in the time range come first.
    """
    fingerprints = list(group.fingerprints.order_by("pk"))
    counts = by_fingerprint(filters.start, filters.end, [row.pk for row in fingerprints])
    fingerprints.sort(key=lambda row: -counts.get(row.pk, 0))
    activity = GroupActivity.objects.filter(group=group).order_by("-at", "-id")[:MOST_ACTIVITY]
    return {
        "fingerprints": [_fingerprint(row, counts.get(row.pk, 0)) for row in fingerprints[:MOST_FINGERPRINTS]],
        "regroupings": regroupings(group.pk),
        "activity": [
            *({"at": iso(row.at), "actor": row.actor, "kind": row.kind, "text": row.text} for row in activity),
            {"at": iso(group.first_seen), "actor": "indexer", "kind": "first_seen", "text": "first seen"},
        ],
    }


def regroupings(group: int) -> list[dict[str, Any]]:
    """Return the merges and splits that shaped the group, newest first. Each can be undone."""
    into = RegroupingMove.objects.filter(to_group_id=group, regrouping__undone_at__isnull=True)
    out_of = RegroupingMove.objects.filter(
        from_group_id=group, regrouping__kind=Regrouping.Kind.SPLIT, regrouping__undone_at__isnull=True
    )
    done = set(into.values_list("regrouping_id", flat=True)) | set(out_of.values_list("regrouping_id", flat=True))
    rows = Regrouping.objects.filter(pk__in=done).order_by("-at", "-id").prefetch_related("moves")[:MOST_REGROUPINGS]
    return [regrouping(row) for row in rows]


def regrouping(row: Regrouping) -> dict[str, Any]:
    """Return a merge or split with its source and target groups."""
    moves = list(row.moves.all())
    return {
        "id": row.pk,
        "kind": row.kind,
        "at": iso(row.at),
        "actor": row.actor,
        "reason": row.reason,
        "fingerprints": len(moves),
        "sources": _links({move.from_group_id for move in moves}),
        "targets": _links({move.to_group_id for move in moves}),
        "undone": row.undone_at is not None,
    }


def traits(found: Common) -> dict[str, Any]:
    """Return the traits of the group's dead letters for the API."""
    return {
        "traits": [
            {"field": row.field, "value": row.value, "here": row.here, "elsewhere": row.elsewhere}
            for row in found.traits
        ],
        "here": found.here,
        "elsewhere": found.elsewhere,
        "partial": found.partial,
    }


def _fingerprint(row: Fingerprint, events: int) -> dict[str, Any]:
    return {
        "id": row.pk,
        "digest": row.digest,
        "exception_class": row.exception_class,
        "stage": row.stage,
        "message": row.message,
        "holes": row.holes,
        "frame": row.frame,
        "events": events,
    }


def _links(groups: Iterable[int]) -> list[dict[str, Any]]:
    rows = Group.objects.filter(pk__in=groups).order_by("pk").values_list("pk", "title")
    return [{"id": pk, "title": title} for pk, title in rows]
