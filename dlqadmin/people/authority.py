"""The rights to change teams, roles and accounts.

Administrators may change everything. An admin of a team decides who has which roles in that team, and nothing else.
API tokens change nothing here.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from rest_framework.exceptions import PermissionDenied
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from dlqadmin.audit.permissions import is_administrator
from dlqadmin.teams.models import Team, TeamRoleName
from dlqadmin.teams.reach import of_teams, set_reach, teams_with_roles

ONLY_ADMINISTRATORS = "Only administrators can change roles that hold for all teams."
SUPERUSERS_ARE_FOR_ADMINISTRATORS = "Only administrators can change the account of an administrator."


def administered_teams(user: Any) -> frozenset[int] | None:
    """Return the teams whose people the user may change; None means all."""
    if is_administrator(user):
        return None
    if not isinstance(user, User) or not user.is_active or hasattr(user, "token_scopes"):
        return frozenset()
    return teams_with_roles(user, (TeamRoleName.ADMIN,))


def can_change(user: Any, team: Team | None) -> bool:
    """Return whether the user may change roles in the team; without a team, roles that hold for all teams."""
    teams = administered_teams(user)
    return teams is None or (team is not None and team.pk in teams)


def require_change(user: Any, team: Team | None) -> None:
    """Raise PermissionDenied unless the user may change roles in the team, or for all teams."""
    if not can_change(user, team):
        raise PermissionDenied(f"This needs the role admin in {team.name}." if team else ONLY_ADMINISTRATORS)


class IsTeamAdmin(BasePermission):
    """Permission to change who is in some team, for administrators and admins of a team with a session.

    The view asks `require_change` for the team.
    """

    message = "This needs an administrator, or the role admin in the team."

    def has_permission(self, request: Request, view: Any) -> bool:
        teams = administered_teams(request.user)
        set_reach(request, of_teams(teams))
        return teams != frozenset()
