"""People's decisions about groups. Each is audited and noted in the activity, in one transaction."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any

import msgspec
from django.contrib.auth.models import User
from django.db import transaction

from dlqadmin.audit.entries import record
from dlqadmin.deadletters.groups import mentions
from dlqadmin.deadletters.index.mutes import NO_MUTE
from dlqadmin.deadletters.models import Group, GroupActivity, GroupStatus
from dlqadmin.rest.problems import ParameterError, StateConflict
from dlqadmin.teams.models import Team


class MuteConditions(msgspec.Struct, frozen=True):
    """The conditions that end a mute. The first one to occur ends it.

    Without a condition, the group stays muted until somebody re-opens it.
    """

    until: datetime | None = None
    events: int | None = None
    rate: int | None = None

    def __str__(self) -> str:
        parts = [
            f"until {self.until.astimezone(UTC):%d %b %Y %H:%M} UTC" if self.until else "",
            f"for {self.events:,} more events" if self.events else "",
            f"until it has {self.rate:,} events in an hour" if self.rate else "",
        ]
        return " or ".join(part for part in parts if part) or "until it is re-opened"


def resolve(groups: Collection[int], actor: User, reason: str, now: datetime) -> int:
    """Resolve groups; return how many were not resolved before. A later failure makes a group regressed."""
    changed = {"status": GroupStatus.RESOLVED, "resolved_at": now, "regressed_at": None, **NO_MUTE}
    with transaction.atomic():
        found = [row.pk for row in lock_groups(groups) if row.status != GroupStatus.RESOLVED]
        return _change(
            found, changed, (actor, "resolved", text_with_reason("resolved", reason), now), "already resolved"
        )


def reopen(groups: Collection[int], actor: User, reason: str, now: datetime) -> int:
    """Undo a resolution or a mute; return the number of changed groups."""
    changed = {"status": GroupStatus.OPEN, "resolved_at": None, **NO_MUTE}
    with transaction.atomic():
        found = [row.pk for row in lock_groups(groups) if row.status != GroupStatus.OPEN]
        return _change(found, changed, (actor, "reopened", text_with_reason("re-opened", reason), now), "already open")


def mute(groups: Collection[int], wanted: MuteConditions, actor: User, reason: str, now: datetime) -> int:
    """Mute groups for some time. Muting a muted group starts a new mute."""
    conditions = {"mute_until": wanted.until, "mute_count": wanted.events, "mute_rate": wanted.rate}
    changed = {**NO_MUTE, "status": GroupStatus.MUTED, "muted_at": now, **conditions}
    with transaction.atomic():
        found = [row.pk for row in lock_groups(groups) if row.status != GroupStatus.RESOLVED]
        return _change(found, changed, (actor, "muted", text_with_reason(f"muted {wanted}", reason), now), "resolved")


def assign(groups: Collection[int], actor: User, owner: User | Team | None, now: datetime) -> int:
    """Assign groups to a person or a team, or to nobody."""
    named = owner.get_username() if isinstance(owner, User) else f"team {owner}" if owner else "nobody"
    changed = {"owner": None, "team": None} | ({} if owner is None else {owner_column(owner): owner})
    with transaction.atomic():
        found = [row.pk for row in lock_groups(groups)]
        return _change(found, changed, (actor, "assigned", f"assigned to {named}", now), "")


def owner_column(owner: User | Team) -> str:
    """Return the column of a group for this owner."""
    return "owner" if isinstance(owner, User) else "team"


def add_note(group: int, actor: User, text: str, now: datetime, link: str = "") -> None:
    """Add a note to the group. It mentions people with `@`, of whom those are told who may see the group."""
    with transaction.atomic():
        record_action([row.pk for row in lock_groups([group])], actor, "note", text, now)
        note = GroupActivity.objects.filter(group_id=group, kind="note").latest("pk")
        mentions.tell(note, link)


def lock_groups(groups: Collection[int]) -> list[Group]:
    """Return these groups, locked until the transaction ends.

    Raises ParameterError for a group that does not exist, Conflict for one that was merged into another.
    """
    rows = list(Group.objects.select_for_update().filter(pk__in=groups).order_by("pk"))
    if missing := sorted(set(groups) - {row.pk for row in rows}):
        raise ParameterError("groups", f"group {missing[0]} does not exist")
    if row := next((row for row in rows if row.merged_into_id is not None), None):
        raise StateConflict(f"Group {row.pk} was merged into group {row.merged_into_id}. Use that group.")
    return rows


def record_action(groups: Collection[int], actor: User, kind: str, text: str, now: datetime) -> None:
    """Record an action in the groups' activity and in the audit."""
    name = actor.get_username()
    GroupActivity.objects.bulk_create(
        [GroupActivity(group_id=group, at=now, actor=name, kind=kind, text=text) for group in groups]
    )
    for group in groups:
        record(actor, kind, "group", str(group), {"text": text})


def text_with_reason(act: str, reason: str) -> str:
    """Return the action as text, with the reason if there is one."""
    return f"{act}: {reason}" if reason else act


def _change(
    found: Collection[int], changed: dict[str, Any], noted: tuple[User, str, str, datetime], otherwise: str
) -> int:
    """Change the rows and record it. Raises StateConflict if all rows already are what `otherwise` says."""
    if not found:
        raise StateConflict(f"The group is {otherwise}.")
    Group.objects.filter(pk__in=found).update(**changed)
    record_action(found, *noted)
    return len(found)
