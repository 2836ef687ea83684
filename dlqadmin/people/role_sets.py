"""Sets of roles, and which roles include others."""

from __future__ import annotations

from collections.abc import Iterable

from dlqadmin.teams.models import TeamRoleName

VIEWER, PAYLOAD_READER = TeamRoleName.VIEWER.value, TeamRoleName.PAYLOAD_READER.value
OPERATOR, APPROVER, ADMIN = TeamRoleName.OPERATOR.value, TeamRoleName.APPROVER.value, TeamRoleName.ADMIN.value
ROLES: tuple[str, ...] = tuple(TeamRoleName.values)

INCLUDED: dict[str, frozenset[str]] = {
    VIEWER: frozenset(),
    PAYLOAD_READER: frozenset((VIEWER,)),
    OPERATOR: frozenset((VIEWER,)),
    APPROVER: frozenset((VIEWER, OPERATOR)),
    ADMIN: frozenset((VIEWER, PAYLOAD_READER, OPERATOR, APPROVER)),
}


def included(roles: Iterable[str]) -> list[str]:
    """Return the roles that these roles include, in the order of the table."""
    found = frozenset[str]().union(*(INCLUDED[role] for role in roles))
    return [role for role in ROLES if role in found]


def given(roles: Iterable[str]) -> list[str]:
    """Return the roles without those that others of them include, in the order of the table."""
    wanted = frozenset(roles)
    covered = included(wanted)
    return [role for role in ROLES if role in wanted and role not in covered]


def stored(roles: Iterable[str]) -> frozenset[str]:
    """Return the roles to store: the given ones, and `viewer` for a payload reader without another role.

    The permission to read payloads has no effect without the permission to view.
    """
    wanted = frozenset(given(roles))
    return wanted | {VIEWER} if wanted == {PAYLOAD_READER} else wanted
