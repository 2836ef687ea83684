"""Dismissals of findings: who does not want to see one, why, and until when."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple, cast, get_args

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from rest_framework.exceptions import PermissionDenied

from dlqadmin.audit.entries import record
from dlqadmin.deadletters.payloads import quoting_text
from dlqadmin.overview.attention import GroupFinding
from dlqadmin.overview.dismissal_reach import is_for_one_reach
from dlqadmin.overview.documents import DismissalDocument, DismissalEndReason
from dlqadmin.overview.findings import Finding
from dlqadmin.overview.models import Dismissal, DismissalEnd
from dlqadmin.rest.problems import StateConflict
from dlqadmin.rest.text import storable
from dlqadmin.rest.times import iso, iso_or_none

LONGEST = timedelta(days=30)
KEPT = timedelta(days=30)
WORSE_FACTOR = 1.5
SHOWN = 200
SHARED = "This finding concerns other teams too, so only people with a role for all teams dismiss it or list it again."


class FindingSplit(NamedTuple):
    """Findings without the dismissed ones, the dismissals that hold, and those that end now."""

    listed: list[Finding]
    held: list[Dismissal]
    ended: list[tuple[Dismissal, DismissalEnd]]


def end_of(dismissal: Dismissal, finding: Finding | None, now: datetime) -> DismissalEnd | None:
    """Return why a dismissal ends now, or None if it holds. Pure.

    `finding` is None while there is no such finding. A larger count is worse from one and a half times the
    count at the dismissal. Until it changes: any larger count, or any new event, ends the dismissal.
    """
    if dismissal.until is not None and dismissal.until <= now:
        return DismissalEnd.OVER
    if finding is None:
        return None
    has_new_failure = finding.failed_at is not None and (
        dismissal.failed_at is None or finding.failed_at > dismissal.failed_at
    )
    is_larger = finding.count > dismissal.count and finding.count >= WORSE_FACTOR * dismissal.count
    if finding.level > dismissal.level or has_new_failure or is_larger:
        return DismissalEnd.WORSE
    is_active = finding.active_at is not None and finding.active_at > dismissal.at
    if dismissal.until is None and (is_active or finding.count > dismissal.count):
        return DismissalEnd.CHANGED
    return None


def split(found: Sequence[Finding], dismissals: Iterable[Dismissal], now: datetime) -> FindingSplit:
    """Separate findings from dismissed ones. Pure."""
    by_id = {row.id: row for row in found}
    held, ended = [], []
    for dismissal in dismissals:
        if why := end_of(dismissal, by_id.get(dismissal.finding), now):
            ended.append((dismissal, why))
        else:
            held.append(dismissal)
    hidden = {dismissal.finding for dismissal in held}
    return FindingSplit([row for row in found if row.id not in hidden], held, ended)


def apply(found: Sequence[Finding], now: datetime) -> FindingSplit:
    """Separate findings from dismissed ones, and end the dismissals that no longer hold."""
    result = split(found, active(), now)
    for dismissal, why in result.ended:
        _active_row(dismissal.finding).filter(pk=dismissal.pk).update(ended_at=now, ended_why=why)
    return result


def dismiss(finding: Finding, actor: User, reason: str, until: datetime | None, now: datetime) -> Dismissal:
    """Dismiss a finding for all users.

    Raises PermissionDenied if it is also about what is out of reach, StateConflict if it is dismissed already.
    """
    _refuse_shared(finding.object_type, finding.object_id)
    try:
        with transaction.atomic():
            made = Dismissal.objects.create(
                finding=finding.id,
                object_type=finding.object_type,
                object_id=finding.object_id,
                kind=finding.kind,
                title=storable(finding.title)[:500],
                reason=storable(reason),
                user=actor,
                actor=actor.get_username(),
                at=now,
                until=until,
                count=finding.count,
                level=finding.level,
                failed_at=finding.failed_at,
            )
            _record(actor, "dismiss", made, {"reason": reason, "until": iso_or_none(until)})
    except IntegrityError as error:
        raise StateConflict("Somebody has dismissed this finding already.") from error
    return made


def undo(finding: str, actor: User, now: datetime) -> Dismissal | None:
    """List a dismissed finding again. Returns None if it is not dismissed.

    Raises PermissionDenied if the finding is also about what is out of reach.
    """
    with transaction.atomic():
        found = _active_row(finding).select_for_update().first()
        if found is None:
            return None
        _refuse_shared(found.object_type, found.object_id)
        found.ended_at, found.ended_by, found.ended_why = now, actor.get_username(), DismissalEnd.UNDONE
        found.save(update_fields=["ended_at", "ended_by", "ended_why"])
        _record(actor, "undo dismissal", found, {})
    return found


def active() -> list[Dismissal]:
    """Return the dismissals that nobody ended, newest first."""
    return list(Dismissal.objects.filter(ended_at=None).order_by("-at", "-pk"))


def recent() -> list[Dismissal]:
    """Return the dismissals that hold, then those that ended lately, newest first."""
    ended = Dismissal.objects.filter(ended_at__isnull=False).order_by("-ended_at", "-pk")
    return [*active(), *ended][:SHOWN]


def prune(now: datetime) -> None:
    """End dismissals whose time is over, and delete those that ended over 30 days ago."""
    over = Dismissal.objects.filter(ended_at=None, until__lte=now)
    over.update(ended_at=now, ended_why=DismissalEnd.OVER)
    Dismissal.objects.filter(ended_at__lt=now - KEPT).delete()


def dismissal_document(row: Dismissal) -> DismissalDocument:
    """Return a dismissal for the API."""
    return DismissalDocument(
        finding=row.finding,
        kind=row.kind,
        title=quoting_text(row.title) if row.kind in get_args(GroupFinding) else row.title,
        reason=row.reason,
        by=row.actor,
        at=iso(row.at),
        until=iso_or_none(row.until),
        ended_at=iso_or_none(row.ended_at),
        ended_by=row.ended_by or None,
        ended_why=cast("DismissalEndReason", row.ended_why),
    )


def _active_row(finding: str) -> QuerySet[Dismissal]:
    return Dismissal.objects.filter(finding=finding, ended_at=None)


def _refuse_shared(object_type: str, object_id: str) -> None:
    if not is_for_one_reach(object_type, object_id):
        raise PermissionDenied(SHARED)


def _record(actor: User, action: str, row: Dismissal, detail: dict[str, Any]) -> None:
    facts = {"kind": row.kind, "title": row.title, "cluster": settings.CLUSTER}
    record(actor, action, "finding", row.finding, {**facts, **detail})
