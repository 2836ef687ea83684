"""Requests for a second person's approval of a plan, and their answers.

An approval is for one plan digest and void for any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F

from dlqadmin.audit.entries import record
from dlqadmin.replays import events
from dlqadmin.replays.models import Replay, ReplayStatus
from dlqadmin.replays.plans.approval_rules import approved, barred
from dlqadmin.rest.problems import StateConflict
from dlqadmin.rest.text import counted
from dlqadmin.teams.reach import EVERYTHING, reaching


class WaitingApproval(NamedTuple):
    """A plan whose approval somebody asked for, and the number of its records."""

    replay: Replay
    records: int


def waiting() -> list[WaitingApproval]:
    """Return the plans that wait for approval, newest request first.

    A request for a former version of a plan is void, so the plan does not wait.
    """
    rows = (
        Replay.objects.filter(status=ReplayStatus.PLANNED)
        .exclude(asked_digest="")
        .select_related("asked_by")
        .annotate(digest=F("plan__digest"), records=F("plan__to_send"))
        .defer("plan")
        .order_by("-asked_at", "-pk")
    )
    return [
        WaitingApproval(row, int(row.records or 0))
        for row in rows
        if row.asked_digest == row.digest and not _is_approved(row)
    ]


@reaching(EVERYTHING)  # the caller has found the replay in reach
def ask(replay: Replay, actor: User, reason: str, plan_digest: str, now: datetime) -> str:
    """Ask for approval of the plan with this digest.

    Raises StateConflict if the plan has another digest or can't be run.
    """
    with transaction.atomic():
        _locked(replay, plan_digest)
        if not replay.plan.get("runnable"):
            raise StateConflict("The plan has an error, so nobody can approve it. Check it again.")
        if approved(replay):
            raise StateConflict(f"{replay} is already approved.")
        _store(replay, asked_by=actor, asked_at=now, asked_digest=plan_digest, reason=reason, **_NOBODY)
        said = f"asked for approval of {counted(replay.plan['to_send'], 'record')}: {reason}"
        _say(replay, actor, "ask", said, now, {"reason": reason})
    return "asked for approval"


@reaching(EVERYTHING)  # the caller has found the replay in reach
def approve(replay: Replay, actor: User, reason: str, plan_digest: str, now: datetime) -> str:
    """Approve the plan that somebody else asked for.

    Raises StateConflict if nobody asked for this plan, or if the person may not approve it.
    """
    with transaction.atomic():
        _locked(replay, plan_digest)
        _asked(replay, actor)
        _store(replay, approved_by=actor, approved_at=now, approved_digest=plan_digest)
        said = f"approved {counted(replay.plan['to_send'], 'record')}{f': {reason}' if reason else ''}"
        _say(replay, actor, "approve", said, now, {"reason": reason})
    return "approved"


@reaching(EVERYTHING)  # the caller has found the replay in reach
def reject(replay: Replay, actor: User, reason: str, now: datetime) -> str:
    """Reject a request for approval, or withdraw an approval.

    The plan stays and approval can be asked for again. Raises StateConflict if nobody has asked.
    """
    with transaction.atomic():
        _locked(replay, None)
        if replay.asked_by_id is None and not replay.asked_digest:
            raise StateConflict(f"Nobody has asked for approval of {replay}.")
        _store(replay, asked_by=None, asked_at=None, asked_digest="", **_NOBODY)
        _say(replay, actor, "reject", f"rejected: {reason}", now, {"reason": reason})
    return "rejected"


def _is_approved(row: Replay) -> bool:
    """Return whether somebody else approved the version of the plan that was asked for."""
    return row.approved_digest == row.asked_digest and row.approved_by_id not in row.authors


_NOBODY: Mapping[str, Any] = {"approved_by": None, "approved_at": None, "approved_digest": ""}


def _locked(replay: Replay, plan_digest: str | None) -> None:
    """Lock and reload the replay.

    Raises StateConflict if it is not a plan any more, or not the plan that the person saw.
    """
    there = Replay.objects.select_for_update().filter(pk=replay.pk, status=ReplayStatus.PLANNED)
    if not there.exists():
        raise StateConflict(f"{replay} has no plan that is waiting to be run.")
    replay.refresh_from_db()
    if plan_digest is not None and replay.plan.get("digest") != plan_digest:
        raise StateConflict("The plan changed since you opened it. Read it again.")


def _asked(replay: Replay, actor: User) -> None:
    if not replay.asked_digest:
        raise StateConflict(f"Nobody has asked for approval of {replay}.")
    if replay.asked_digest != replay.plan.get("digest"):
        raise StateConflict("The plan changed after the approval was requested. Ask for approval again.")
    if why := barred(replay, actor):
        raise StateConflict(why)


def _store(replay: Replay, **fields: Any) -> None:
    for name, value in fields.items():
        setattr(replay, name, value)
    replay.save(update_fields=list(fields))


def _say(replay: Replay, actor: User, kind: str, said: str, now: datetime, detail: Mapping[str, Any]) -> None:
    events.note(replay.pk, kind, said, now, actor.get_username())
    facts = {"plan_digest": replay.plan.get("digest", ""), "records": replay.plan.get("to_send", 0)}
    record(actor, kind, "replay", str(replay), {"said": said, **facts, **detail})
