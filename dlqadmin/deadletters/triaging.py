"""What people do to groups; each act is audited and noted in the group's activity, in one transaction."""

from __future__ import annotations

from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from dlqadmin.audit.recording import record
from dlqadmin.deadletters.models import Group, GroupActivity, GroupStatus
from dlqadmin.rest.problems import Conflict


def resolve(group_id: int, actor: User, reason: str, now: datetime) -> None:
    """Say that the cause is gone; a later failure re-opens the group as regressed."""
    with transaction.atomic():
        changed = (
            Group.objects.filter(pk=group_id)
            .exclude(status=GroupStatus.RESOLVED)
            .update(status=GroupStatus.RESOLVED, resolved_at=now, regressed_at=None)
        )
        if not changed:
            raise Conflict("The group is resolved already.")
        _note(group_id, actor, "resolved", f"resolved: {reason}" if reason else "resolved", now)


def reopen(group_id: int, actor: User, reason: str, now: datetime) -> None:
    """Take back a resolution."""
    with transaction.atomic():
        changed = (
            Group.objects.filter(pk=group_id)
            .exclude(status=GroupStatus.OPEN)
            .update(status=GroupStatus.OPEN, resolved_at=None)
        )
        if not changed:
            raise Conflict("The group is open already.")
        _note(group_id, actor, "reopened", f"re-opened: {reason}" if reason else "re-opened", now)


def assign(group_id: int, actor: User, owner: User | None, now: datetime) -> None:
    """Give the group to a person, or to nobody."""
    with transaction.atomic():
        Group.objects.filter(pk=group_id).update(owner=owner)
        text = f"assigned to {owner.get_username()}" if owner else "assigned to nobody"
        _note(group_id, actor, "assigned", text, now)


def add_note(group_id: int, actor: User, text: str, now: datetime) -> None:
    """Keep a sentence with the group."""
    with transaction.atomic():
        _note(group_id, actor, "note", text, now)


def _note(group_id: int, actor: User, kind: str, text: str, now: datetime) -> None:
    GroupActivity.objects.create(group_id=group_id, at=now, actor=actor.get_username(), kind=kind, text=text)
    record(actor, kind, "group", str(group_id), {"text": text})
