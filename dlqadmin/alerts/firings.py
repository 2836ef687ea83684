"""Actions of people on firings: acknowledge and snooze. Each is audited."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, QueryDict

from dlqadmin.alerts.models import AlertFiring, FiringState
from dlqadmin.alerts.notices import told_title
from dlqadmin.alerts.rules import require_end
from dlqadmin.audit.entries import record
from dlqadmin.rest.pagination import MAX_ID, newest_page, parse_id, parse_limit
from dlqadmin.rest.problems import ParameterError, StateConflict
from dlqadmin.rest.times import iso

LONGEST_SNOOZE = timedelta(days=30)


def acknowledge(firing: AlertFiring, actor: User, now: datetime) -> AlertFiring:
    """Stop the escalation and the repeats of a firing. It lasts until its condition ends. Idempotent."""
    with transaction.atomic():
        locked = _lasting(firing)
        if locked.state == FiringState.FIRING:
            locked.state = FiringState.ACKNOWLEDGED
            locked.acknowledged_by, locked.acknowledged_at = actor.get_username(), now
            locked.save(update_fields=["state", "acknowledged_by", "acknowledged_at"])
            _record(actor, "acknowledge alert", locked)
    return locked


def snooze(firing: AlertFiring, until: datetime, actor: User, now: datetime) -> AlertFiring:
    """Send no repeats until then. Raises ParameterError."""
    require_end(until, now, LONGEST_SNOOZE)
    with transaction.atomic():
        locked = _lasting(firing)
        locked.snoozed_until = until
        locked.save(update_fields=["snoozed_until"])
        _record(actor, "snooze alert", locked, until=iso(until))
    return locked


def find(pk: int) -> AlertFiring:
    """Return the firing with this id. Raises Http404."""
    found = AlertFiring.objects.filter(pk=pk).first() if pk <= MAX_ID else None
    if found is None:
        raise Http404("There is no alert with this id.")
    return found


def page(params: QueryDict) -> tuple[list[AlertFiring], str | None]:
    """Return a page of firings, newest first, and the cursor of the next one. Raises ParameterError."""
    return newest_page(_filtered(params), params.get("cursor"), parse_limit(params.get("limit"), default=50))


def _filtered(params: QueryDict) -> QuerySet[AlertFiring]:
    rows = AlertFiring.objects.all()
    for name, column in (("rule", "rule_id"), ("team", "team_id")):
        if text := params.get(name):
            rows = rows.filter(**{column: parse_id(name, text)})
    if state := params.get("state"):
        if state not in FiringState.values:
            raise ParameterError("state", f"must be one of {', '.join(FiringState.values)}")
        rows = rows.filter(state=state)
    if subject := params.get("subject"):
        kind, _, key = subject.partition(":")
        rows = rows.filter(subject_kind=kind, subject_key=key)
    return rows


def _lasting(firing: AlertFiring) -> AlertFiring:
    locked = AlertFiring.objects.select_for_update().get(pk=firing.pk)
    if locked.ended_at is not None:
        raise StateConflict("This alert has ended.")
    return locked


def _record(actor: User, action: str, firing: AlertFiring, **detail: Any) -> None:
    record(actor, action, "alert", str(firing.pk), {"rule": firing.rule_name, "title": told_title(firing), **detail})
