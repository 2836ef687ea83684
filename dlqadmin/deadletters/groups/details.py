"""The details of one group: its fingerprints, regroupings and activity."""

from __future__ import annotations

from collections.abc import Iterable

from dlqadmin.deadletters.groups.common_values import CommonTraits
from dlqadmin.deadletters.groups.documents import (
    ActivityDocument,
    CommonDocument,
    FingerprintDocument,
    GroupDetail,
    GroupDocument,
    HoleDocument,
    IssueDocument,
    RegroupingDocument,
)
from dlqadmin.deadletters.groups.fingerprint_counts import by_fingerprint
from dlqadmin.deadletters.models import Fingerprint, Group, GroupActivity, GroupIssue, Regrouping, RegroupingMove
from dlqadmin.deadletters.payloads import is_masked_for_request, quoting_text
from dlqadmin.deadletters.search.documents import GroupLink
from dlqadmin.deadletters.search.filters import Filters
from dlqadmin.rest.documents import extend
from dlqadmin.rest.times import iso

MOST_FINGERPRINTS, MOST_ACTIVITY, MOST_REGROUPINGS = 50, 100, 20
NAMING_GROUPS = ("merged", "split")  # activity whose texts have titles of other groups


def detail(group: Group, summary: GroupDocument, filters: Filters) -> GroupDetail:
    """Return a group with its fingerprints and its history.

    Fingerprints with the most events in the time range come first.
    """
    fingerprints = list(group.fingerprints.order_by("pk"))
    counts = by_fingerprint(filters.start, filters.end, [row.pk for row in fingerprints])
    fingerprints.sort(key=lambda row: -counts.get(row.pk, 0))
    activity = GroupActivity.objects.filter(group=group).order_by("-at", "-id")[:MOST_ACTIVITY]
    return extend(
        GroupDetail,
        summary,
        fingerprints=[_fingerprint(row, counts.get(row.pk, 0)) for row in fingerprints[:MOST_FINGERPRINTS]],
        regroupings=regroupings(group.pk),
        issues=[issue_document(row) for row in group.issues.order_by("pk")],
        activity=[
            *(_activity(row) for row in activity),
            ActivityDocument(at=summary.first_seen, actor="indexer", kind="first_seen", text="first seen"),
        ],
    )


def issue_document(row: GroupIssue) -> IssueDocument:
    """Return a link to an issue for the API."""
    return IssueDocument(id=row.pk, name=row.name, url=row.url, actor=row.actor, at=iso(row.at))


def regroupings(group: int) -> list[RegroupingDocument]:
    """Return the merges and splits that shaped the group, newest first. Each can be undone."""
    into = RegroupingMove.objects.filter(to_group_id=group, regrouping__undone_at__isnull=True)
    out_of = RegroupingMove.objects.filter(
        from_group_id=group, regrouping__kind=Regrouping.Kind.SPLIT, regrouping__undone_at__isnull=True
    )
    done = set(into.values_list("regrouping_id", flat=True)) | set(out_of.values_list("regrouping_id", flat=True))
    rows = Regrouping.objects.filter(pk__in=done).order_by("-at", "-id").prefetch_related("moves")[:MOST_REGROUPINGS]
    return [regrouping(row) for row in rows]


def regrouping(row: Regrouping) -> RegroupingDocument:
    """Return a merge or split with its source and target groups."""
    moves = list(row.moves.all())
    return RegroupingDocument(
        id=row.pk,
        kind=Regrouping.Kind(row.kind),
        at=iso(row.at),
        actor=row.actor,
        reason=row.reason,
        fingerprints=len(moves),
        sources=_links({move.from_group_id for move in moves}),
        targets=_links({move.to_group_id for move in moves}),
        undone=row.undone_at is not None,
    )


def traits(found: CommonTraits, *, withheld: bool) -> CommonDocument:
    """Return the traits of the group's dead letters for the API."""
    return CommonDocument(
        traits=found.traits, here=found.here, elsewhere=found.elsewhere, partial=found.partial, withheld=withheld
    )


def _activity(row: GroupActivity) -> ActivityDocument:
    text = quoting_text(row.text) if row.kind in NAMING_GROUPS else row.text
    return ActivityDocument(at=iso(row.at), actor=row.actor, kind=row.kind, text=text)


def _fingerprint(row: Fingerprint, events: int) -> FingerprintDocument:
    return FingerprintDocument(
        id=row.pk,
        digest=row.digest,
        exception_class=row.exception_class,
        stage=row.stage,
        message=quoting_text(row.message),
        holes=[] if is_masked_for_request() else [HoleDocument(**hole) for hole in row.holes],
        frame=row.frame,
        name=row.name,
        origin=row.origin,
        events=events,
    )


def _links(groups: Iterable[int]) -> list[GroupLink]:
    rows = Group.objects.filter(pk__in=groups).order_by("pk").values_list("pk", "title")
    return [GroupLink(id=pk, title=quoting_text(title)) for pk, title in rows]
