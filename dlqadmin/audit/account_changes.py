"""Audit entries for changes of users, groups, permissions and teams, whatever code changes them.

Django's signals create the entries, in the transaction of the change. `QuerySet.update` and SQL send no
signals.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from django.contrib.auth.models import Group, Permission, User
from django.db.models import Model
from django.db.models.signals import m2m_changed, post_delete, post_save, pre_delete, pre_save

from dlqadmin.audit.entries import record
from dlqadmin.rest.current_request import current_request
from dlqadmin.teams.models import Team, TeamRole

WATCHED = ("username", "email", "first_name", "last_name", "is_active", "is_staff", "is_superuser")
TEAM = "team"
ROLE = "role"  # a Django group; "group" is a group of dead letters
COMMANDS = {"manage.py", "django-admin", "__main__.py"}
OF_TEAM = ("name", "topics", "connectors")
_BEFORE = "_audit_before"  # the instance's row before it is saved

Named = Callable[[Iterable[Any]], list[str]]


def watch() -> None:
    """Connect the receivers of Django's signals."""
    for model, before, after, gone in (
        (User, _user_before, _user_saved, _user_deleted),
        (Group, _group_before, _group_saved, _group_deleted),
        (Team, _team_before, _team_saved, _team_deleted),
    ):
        pre_save.connect(before, sender=model, dispatch_uid="audit")
        post_save.connect(after, sender=model, dispatch_uid="audit")
        pre_delete.connect(gone, sender=model, dispatch_uid="audit")
    post_save.connect(_team_role_saved, sender=TeamRole, dispatch_uid="audit")
    post_delete.connect(_team_role_deleted, sender=TeamRole, dispatch_uid="audit")
    for through, changed in (
        (User.groups.through, _groups_changed),
        (User.user_permissions.through, _user_permissions_changed),
        (Group.permissions.through, _group_permissions_changed),
    ):
        m2m_changed.connect(changed, sender=through, dispatch_uid="audit")


def actor() -> User | str:
    """Return the actor: the user of the current request, else the name of the command or process.

    During a sign-in with an OpenID provider, the provider is the actor.
    """
    request = current_request()
    if request is not None:
        if provider := getattr(request, "sign_in_provider", None):
            return f"provider {provider}"
        user = getattr(request, "user", None)
        return user if isinstance(user, User) and user.is_authenticated else ""
    program = Path(sys.argv[0]).name if sys.argv else ""
    return f"manage.py {sys.argv[1]}"[:150] if program in COMMANDS and len(sys.argv) > 1 else "process"


def _user_before(sender: Any, instance: User, **kwargs: Any) -> None:
    row = User.objects.filter(pk=instance.pk).values(*WATCHED, "password").first() if instance.pk else None
    setattr(instance, _BEFORE, row)


def _user_saved(sender: Any, instance: User, created: bool, update_fields: Any = None, **kwargs: Any) -> None:
    before = getattr(instance, _BEFORE, None)
    row = User.objects.filter(pk=instance.pk).values(*WATCHED, "password").get()
    if created or before is None:
        _note("created", "user", row["username"], {name: row[name] for name in WATCHED if row[name]})
        return
    changes: dict[str, Any] = {
        name: {"before": before[name], "after": row[name]} for name in WATCHED if before[name] != row[name]
    }
    if before["password"] != row["password"]:
        # At a sign-in, Django may save the same password with a newer hash. It then saves only this field.
        rehashed = update_fields is not None and set(update_fields) == {"password"} and _raw_password(instance) is None
        changes["password"] = "rehashed" if rehashed else "changed"
    if changes:
        _note("changed", "user", row["username"], changes)


def _raw_password(user: User) -> str | None:
    """Return the password given to `set_password`. Django keeps it until the user is saved."""
    found: str | None = getattr(user, "_password", None)
    return found


def _user_deleted(sender: Any, instance: User, **kwargs: Any) -> None:
    _note("deleted", "user", instance.get_username(), {"groups": _group_names(instance.groups.all())})


def _group_before(sender: Any, instance: Group, **kwargs: Any) -> None:
    name = Group.objects.filter(pk=instance.pk).values_list("name", flat=True).first() if instance.pk else None
    setattr(instance, _BEFORE, name)


def _group_saved(sender: Any, instance: Group, created: bool, **kwargs: Any) -> None:
    before = getattr(instance, _BEFORE, None)
    if created or before is None:
        _note("created", ROLE, instance.name, {})
    elif before != instance.name:
        _note("changed", ROLE, instance.name, {"name": {"before": before, "after": instance.name}})


def _group_deleted(sender: Any, instance: Group, **kwargs: Any) -> None:
    members = User.objects.filter(groups=instance).order_by("username").values_list("username", flat=True)
    _note("deleted", ROLE, instance.name, {"members": [*members]})


def _team_before(sender: Any, instance: Team, **kwargs: Any) -> None:
    row = Team.objects.filter(pk=instance.pk).values(*OF_TEAM).first() if instance.pk else None
    setattr(instance, _BEFORE, row)


def _team_saved(sender: Any, instance: Team, created: bool, **kwargs: Any) -> None:
    before, after = getattr(instance, _BEFORE, None), {name: getattr(instance, name) for name in OF_TEAM}
    if created or before is None:
        _note("created", TEAM, instance.name, {name: after[name] for name in OF_TEAM[1:]})
        return
    changes = {name: {"before": before[name], "after": after[name]} for name in OF_TEAM if before[name] != after[name]}
    if changes:
        _note("changed", TEAM, instance.name, changes)


def _team_deleted(sender: Any, instance: Team, **kwargs: Any) -> None:
    people = [str(row) for row in instance.roles.select_related("user", "group", "team")]
    _note("deleted", TEAM, instance.name, {name: getattr(instance, name) for name in OF_TEAM[1:]} | {"roles": people})


def _team_role_saved(sender: Any, instance: TeamRole, created: bool, **kwargs: Any) -> None:
    now = _roles_of_holder(instance)
    if created:
        _note_roles(instance, now - {instance.role}, now)


def _team_role_deleted(sender: Any, instance: TeamRole, origin: Any = None, **kwargs: Any) -> None:
    # The entry of a deleted team, user or group says enough.
    if origin is None or isinstance(origin, TeamRole) or getattr(origin, "model", None) is TeamRole:
        now = _roles_of_holder(instance)
        _note_roles(instance, now | {instance.role}, now)


def _roles_of_holder(row: TeamRole) -> set[str]:
    rows = TeamRole.objects.filter(team=row.team_id, user=row.user_id, group=row.group_id)
    return set(rows.values_list("role", flat=True))


def _note_roles(row: TeamRole, before: set[str], after: set[str]) -> None:
    change = {"before": sorted(before), "after": sorted(after)}
    holder = f"group {row.group}" if row.group else str(row.user)
    _note("changed", TEAM, row.team.name, {f"roles of {holder}": change})


def _groups_changed(instance: User | Group, **kwargs: Any) -> None:
    _relation_changed("user", User, "groups", Group, _group_names, instance, **kwargs)


def _user_permissions_changed(instance: User | Permission, **kwargs: Any) -> None:
    _relation_changed("user", User, "user_permissions", Permission, _permission_names, instance, **kwargs)


def _group_permissions_changed(instance: Group | Permission, **kwargs: Any) -> None:
    _relation_changed(ROLE, Group, "permissions", Permission, _permission_names, instance, **kwargs)


def _relation_changed(
    kind: str,
    holder: type[Model],
    field: str,
    held: type[Model],
    named: Named,
    instance: Any,
    *,
    action: str,
    reverse: bool,
    pk_set: set[Any] | None,
    **kwargs: Any,
) -> None:
    """Record the holders' values before and after the change.

    The relation may be changed from either of its ends.
    """
    if action not in {"post_add", "post_remove", "pre_clear"}:
        return
    manager = holder._default_manager
    # A clear names no keys, and after it the former holders are unknown.
    if reverse and action == "pre_clear":
        changed = [*manager.filter(**{field: instance})]
    elif reverse:
        changed = [*manager.filter(pk__in=pk_set or ())]
    else:
        changed = [instance]
    moved = {instance.pk} if reverse else pk_set or set()
    for one in changed:
        now = set(named(getattr(one, field).all()))
        touched = set(named(held._default_manager.filter(pk__in=moved)))
        if action == "post_add":
            before, after = now - touched, now
        elif action == "post_remove":
            before, after = now | touched, now
        else:
            before, after = now, (now - touched if reverse else set())
        if before != after:
            _note("changed", kind, str(one), {field: {"before": sorted(before), "after": sorted(after)}})


def _group_names(groups: Iterable[Group]) -> list[str]:
    return sorted(group.name for group in groups)


def _permission_names(permissions: Any) -> list[str]:
    rows = permissions.values_list("content_type__app_label", "codename")
    return sorted(f"{app}.{codename}" for app, codename in rows)


def _note(action: str, kind: str, name: str, detail: dict[str, Any]) -> None:
    record(actor(), action, kind, name, detail)
