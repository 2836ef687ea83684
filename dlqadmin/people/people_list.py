"""List teams, people and sign-in groups as far as the reader may see them."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.contrib.auth.models import Group, User
from django.db.models import Q, QuerySet

from dlqadmin.accounts.last_seen import last_seen
from dlqadmin.audit.permissions import SCOPES, is_administrator
from dlqadmin.people.authority import SUPERUSERS_ARE_FOR_ADMINISTRATORS, administered_teams
from dlqadmin.people.documents import (
    HolderDocument,
    HolderList,
    InvitationDocument,
    RolesInTeam,
    TeamDocument,
)
from dlqadmin.people.invitations import state_of
from dlqadmin.people.models import Invitation
from dlqadmin.people.role_changes import Holder, global_roles_of_groups, global_roles_of_users
from dlqadmin.people.role_sets import given, included
from dlqadmin.rest.times import iso, iso_or_none
from dlqadmin.teams.models import Team, TeamRole
from dlqadmin.teams.reach import current_reach, of_colleagues

SHOWN = 500  # people, and as many groups


def teams_in_reach() -> QuerySet[Team]:
    """Return the teams that the request may reach."""
    reach = current_reach()
    return Team.objects.filter(pk__in=reach.teams) if reach.teams is not None else Team.objects.all()


def people_in_reach() -> QuerySet[User]:
    """Return the people whom the request may reach: those with a role in its teams, also through a group."""
    reach = current_reach()
    return User.objects.filter(of_colleagues(reach, "pk")) if reach.is_limited else User.objects.all()


def groups_in_reach() -> QuerySet[Group]:
    """Return the sign-in groups that the request may reach: those with a role in its teams."""
    reach = current_reach()
    if not reach.is_limited:
        return Group.objects.all()
    return Group.objects.filter(pk__in=TeamRole.objects.filter(team__in=reach.teams or ()).values("group"))


def active_people_named(name: str) -> list[User]:
    """Return the active people with exactly this user name, or with this e-mail address, whoever asks.

    The name of one person may be the address of another, and people may share an address.
    """
    username = User.normalize_username(name)
    return list(User.objects.filter(Q(username=username) | Q(email__iexact=name), is_active=True)[:2])


def team_documents(reader: Any, teams: Iterable[Team]) -> list[TeamDocument]:
    """Return teams for the API."""
    known = list(teams)
    people: dict[int, set[int]] = defaultdict(set)
    rows = TeamRole.objects.filter(team__in=known)
    for column in ("user_id", "group__user"):
        for team, user in rows.values_list("team_id", column).distinct():
            people[team].update(() if user is None else (user,))
    administered = administered_teams(reader)
    return [
        TeamDocument(
            id=team.pk,
            name=team.name,
            topics=team.topics,
            connectors=team.connectors,
            people=len(people[team.pk]),
            version=team_version(team),
            may_change_people=administered is None or team.pk in administered,
        )
        for team in known
    ]


def team_version(team: Team) -> str:
    """Return a digest of what a team is, to notice that somebody else changed it."""
    content = json.dumps([team.name, team.topics, team.connectors])
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def holders(reader: Any, team: Team | None) -> HolderList:
    """Return the people and groups of a team; without one, all that the reader may see."""
    roles = TeamRole.objects.filter(team__in=[team] if team else teams_in_reach()).select_related("team")
    users, groups = _visible(roles, is_limited=team is not None or current_reach().is_limited)
    shown = _HolderView(reader, team, roles, users[:SHOWN], groups[:SHOWN])
    return HolderList(
        results=[*map(shown.user, shown.users), *map(shown.group, shown.groups)],
        more=len(shown.users) == SHOWN or len(shown.groups) == SHOWN,
    )


def invitation_document(invitation: Invitation, now: datetime) -> InvitationDocument:
    """Return an invitation for the API, without its secret."""
    state: Any = state_of(invitation, now)
    return InvitationDocument(
        id=invitation.pk,
        name=invitation.name,
        team=invitation.team.name if invitation.team else None,
        roles=invitation.roles,
        resets=invitation.account_id is not None,
        inviter=invitation.inviter.get_username() if invitation.inviter else None,
        created_at=iso(invitation.created_at),
        expires_at=iso(invitation.expires_at),
        state=state,
    )


def _visible(roles: QuerySet[TeamRole], *, is_limited: bool) -> tuple[QuerySet[User], QuerySet[Group]]:
    """Return all people and sign-in groups, or those that have one of the roles."""
    users, groups = User.objects.order_by("username"), Group.objects.order_by("name")
    if is_limited:
        return users.filter(pk__in=roles.values("user")), groups.filter(pk__in=roles.values("group"))
    # The groups of the roles are columns of the table, unless one of them has a role in a team.
    return users, groups.filter(~Q(name__in=SCOPES) | Q(pk__in=roles.values("group")))


class _HolderView:
    """People and groups with all that is read for them at once."""

    def __init__(
        self,
        reader: Any,
        team: Team | None,
        roles: QuerySet[TeamRole],
        users: Sequence[User] | QuerySet[User],
        groups: Sequence[Group] | QuerySet[Group],
    ) -> None:
        self._team, self._reader = team, reader
        self._is_administrator = is_administrator(reader)
        administered = administered_teams(reader)
        self._is_admin = administered is None or (team is not None and team.pk in administered)
        self.users, self.groups = list(users), list(groups)
        self._by_holder: dict[tuple[str, int], dict[Team, list[str]]] = defaultdict(lambda: defaultdict(list))
        for row in roles:
            key = ("user", row.user_id) if row.user_id else ("group", row.group_id or 0)
            self._by_holder[key][row.team].append(row.role)
        self._of_users = global_roles_of_users(self.users)
        self._of_groups = global_roles_of_groups(self.groups)
        pks = [user.pk for user in self.users]
        self._seen = last_seen(pks) if self._is_admin else {}
        inviters = Invitation.objects.filter(accepted_by__in=pks, inviter__isnull=False)
        self._inviters = dict(inviters.values_list("accepted_by", "inviter__username"))
        memberships = User.groups.through.objects.filter(Q(user__in=pks) | Q(group__in=self.groups))
        rows = memberships.order_by("user__username").values_list(
            "user_id", "user__username", "group_id", "group__name"
        )
        self._members: dict[int, list[str]] = defaultdict(list)
        self._groups_of: dict[int, list[str]] = defaultdict(list)
        for user, username, group, name in rows:
            self._members[group].append(username)
            if name not in SCOPES:
                self._groups_of[user].append(name)

    def user(self, user: User) -> HolderDocument:
        """Return a person for the API."""
        barred = SUPERUSERS_ARE_FOR_ADMINISTRATORS if user.is_superuser and not self._is_administrator else None
        return self._holder(user, "user", self._of_users[user.pk], barred)

    def group(self, group: Group) -> HolderDocument:
        """Return a group for the API."""
        return self._holder(group, "group", self._of_groups[group.pk], None)

    def _holder(self, holder: Holder, kind: Any, everywhere: list[str], barred: str | None) -> HolderDocument:
        in_teams = self._by_holder[kind, holder.pk]
        # People of a team are not told what others may do beyond it.
        for_all = [] if current_reach().is_limited else everywhere
        roles = given(in_teams[self._team]) if self._team else for_all
        user = holder if isinstance(holder, User) else None
        is_detailed = self._is_admin
        return HolderDocument(
            kind=kind,
            id=holder.pk,
            name=str(holder),
            active=user is None or user.is_active,
            administrator=user is not None and user.is_superuser,
            roles=roles,
            included=included(roles),
            teams=[
                RolesInTeam(team=team.pk, name=team.name, roles=given(names))
                for team, names in sorted(in_teams.items(), key=lambda row: row[0].name)
                if names
            ],
            members=self._members[holder.pk] if user is None and is_detailed else [],
            groups=self._groups_of[holder.pk] if user is not None and is_detailed else [],
            invited_by=self._inviters.get(holder.pk) if user is not None and is_detailed else None,
            last_seen=iso_or_none(self._seen.get(holder.pk)) if user is not None else None,
            barred=barred,
        )
