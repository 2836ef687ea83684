"""Read and change the roles of people and sign-in groups, in one team or for all teams.

The roles for all teams are Django's: a person's membership of the groups of `SCOPES`, the permissions of a sign-in
group, and the superuser flag for `admin`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import Group, Permission, User
from django.db import transaction
from rest_framework.exceptions import PermissionDenied, ValidationError

from dlqadmin.audit.permissions import APP, PERMISSIONS, SCOPES, is_administrator
from dlqadmin.audit.roles import create_missing
from dlqadmin.people.authority import SUPERUSERS_ARE_FOR_ADMINISTRATORS, require_change
from dlqadmin.people.role_sets import ADMIN, given, included, stored
from dlqadmin.rest.problems import StateConflict
from dlqadmin.teams.models import Team, TeamRole

Holder = User | Group
CHANGED_MEANWHILE = "Somebody else changed these roles meanwhile. Load them again, then change them."
LAST_ADMINISTRATOR = "This is the last active administrator. Make another person an administrator first."


def change_roles(actor: Any, holder: Holder, team: Team | None, roles: Iterable[str], opened: Iterable[str]) -> None:
    """Give the holder these roles, and no others, in the team or for all teams.

    `opened` are the given roles that the actor saw before. Raises PermissionDenied, ValidationError, and StateConflict
    if the roles changed meanwhile or nobody would be left to administer.
    """
    require_change(actor, team)
    if isinstance(holder, User) and holder.is_superuser and not is_administrator(actor):
        raise PermissionDenied(SUPERUSERS_ARE_FOR_ADMINISTRATORS)
    with transaction.atomic():
        _lock(holder, team)
        before = roles_of(holder, team)
        if before != given(opened):
            raise StateConflict(CHANGED_MEANWHILE)
        if ADMIN in before and ADMIN not in roles:
            _keep_an_admin(actor, holder, team)
        set_roles(holder, team, roles)


def set_roles(holder: Holder, team: Team | None, roles: Iterable[str]) -> None:
    """Store the roles. The caller has checked that somebody may give them."""
    wanted = stored(roles)
    if team is not None:
        _set_team_roles(holder, team, wanted)
    elif isinstance(holder, User):
        _set_global_roles(holder, wanted)
    else:
        _set_group_permissions(holder, wanted)


def roles_of(holder: Holder, team: Team | None) -> list[str]:
    """Return the roles that the holder was given, without those that others include."""
    if team is not None:
        rows = TeamRole.objects.filter(team=team, **_by(holder))
        return given(rows.values_list("role", flat=True))
    if isinstance(holder, User):
        return global_roles_of_users([holder])[holder.pk]
    return global_roles_of_groups([holder])[holder.pk]


def global_roles_of_users(users: Iterable[User]) -> dict[int, list[str]]:
    """Return the roles that these users were given for all teams, without those of their sign-in groups."""
    people = list(users)
    held: dict[int, set[str]] = defaultdict(set)
    rows = User.groups.through.objects.filter(user__in=people, group__name__in=SCOPES)
    for user, name in rows.values_list("user_id", "group__name"):
        held[user].add(name)
    return {one.pk: given(held[one.pk] | ({ADMIN} if one.is_superuser else set())) for one in people}


def global_roles_of_groups(groups: Iterable[Group]) -> dict[int, list[str]]:
    """Return the roles whose permissions these groups have."""
    known = list(groups)
    scopes = {permission.codename: permission.scope for permission in PERMISSIONS}
    rows = Group.permissions.through.objects.filter(group__in=known, permission__content_type__app_label=APP)
    held: dict[int, set[str]] = defaultdict(set)
    for group, codename in rows.values_list("group_id", "permission__codename"):
        if codename in scopes:
            held[group].add(scopes[codename])
    return {one.pk: given(held[one.pk]) for one in known}


def other_administrators(user: User) -> int:
    """Lock the active superusers, and return how many there are besides this one."""
    rows = User.objects.select_for_update().filter(is_superuser=True, is_active=True)
    return sum(pk != user.pk for pk in rows.values_list("pk", flat=True))


def _lock(holder: Holder, team: Team | None) -> None:
    """Let one change of these roles wait for the other. The row of the team stands for all roles in it."""
    model, pk = (Team, team.pk) if team is not None else (type(holder), holder.pk)
    list(model._default_manager.select_for_update().filter(pk=pk))


def _keep_an_admin(actor: Any, holder: Holder, team: Team | None) -> None:
    """Raise StateConflict if nobody would be left to administer the dashboard, or for a team's admin, the team."""
    if team is None:
        if isinstance(holder, User) and holder.is_active and not other_administrators(holder):
            raise StateConflict(LAST_ADMINISTRATOR)
        return
    others = TeamRole.objects.filter(team=team, role=ADMIN).exclude(**_by(holder))
    left = User.objects.filter(is_active=True)
    if is_administrator(actor) or left.filter(team_roles__in=others).exists():
        return
    if not left.filter(groups__team_roles__in=others).exists():
        raise StateConflict(f"This is the last admin of {team.name}. Make another person an admin of the team first.")


def _set_team_roles(holder: Holder, team: Team, wanted: frozenset[str]) -> None:
    rows = TeamRole.objects.filter(team=team, **_by(holder))
    present = set(rows.values_list("role", flat=True))
    rows.exclude(role__in=wanted).delete()
    for role in sorted(wanted - present):  # not in bulk: each row's signal writes the audit entry
        TeamRole.objects.create(team=team, role=role, **_by(holder))


def _set_global_roles(user: User, wanted: frozenset[str]) -> None:
    names = wanted - {ADMIN}
    create_missing()  # somebody may have deleted the group of a role in Django's admin
    user.groups.add(*Group.objects.filter(name__in=names))
    user.groups.remove(*Group.objects.filter(name__in=SCOPES.keys() - names))
    if user.is_superuser != (ADMIN in wanted):
        user.is_superuser = ADMIN in wanted
        user.save(update_fields=["is_superuser"])


def _set_group_permissions(group: Group, wanted: frozenset[str]) -> None:
    if group.name in SCOPES:
        raise ValidationError({"roles": [f"The group {group.name} is a role itself. Change the roles of its members."]})
    if ADMIN in wanted:
        raise ValidationError({"roles": ["A group cannot be an administrator. Make its people administrators."]})
    everything = {*wanted, *included(wanted)}
    codenames = {permission.codename for permission in PERMISSIONS if permission.scope in everything}
    rows = Permission.objects.filter(
        content_type__app_label=APP, codename__in={permission.codename for permission in PERMISSIONS}
    )
    group.permissions.remove(*rows.exclude(codename__in=codenames))
    group.permissions.add(*rows.filter(codename__in=codenames))


def _by(holder: Holder) -> dict[str, Any]:
    """Return the column of TeamRole that names the holder."""
    return {"user" if isinstance(holder, User) else "group": holder}
