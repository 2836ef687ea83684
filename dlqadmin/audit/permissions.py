"""The table of permissions, and every check of one.

The permissions are Django permissions of the app audit. Groups and users hold them. Roles are groups: an
installation starts with those of `SCOPES`, and an administrator may create more in Django's admin.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

from django.conf import settings
from django.contrib.auth.models import User
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from dlqadmin.teams.models import TeamRoleName
from dlqadmin.teams.reach import EVERYTHING, Reach, of_teams, set_reach, teams_with_roles

APP = "audit"  # the Django app whose model declares the permissions
_NEEDED = "needed_permissions"  # an attribute of REST requests
NEEDS_PAYLOAD_READER = "It needs the right payload reader."

Role = Literal["viewer", "operator"]


@dataclass(frozen=True, slots=True)
class AccessPermission:
    """A Django permission, with its texts, its API token scope and the permissions that it needs beside it."""

    codename: str
    label: str  # in Django's admin
    missing: str  # the message of a refusal
    scope: str  # names the permission in the API: in `rights` of a session, and in `scopes` of a token
    needs: tuple["AccessPermission", ...] = ()


VIEW = AccessPermission(
    "view_deadletters",
    "View dead letters without their content, groups, replays, connectors and the audit trail",
    "This needs the role viewer.",
    scope="viewer",
)
OPERATE = AccessPermission(
    "operate",
    "Plan and run replays, triage groups, control connectors; needs the permission to view",
    "This needs the role operator.",
    scope="operator",
    needs=(VIEW,),
)
APPROVE = AccessPermission(
    "approve_replays",
    "Approve the replays of other people; needs the permissions to view and to operate",
    "This needs the role approver.",
    scope="approver",
    needs=(OPERATE, VIEW),
)
READ_PAYLOADS = AccessPermission(
    "read_payloads",
    "Read keys, values and headers of records; needs the permission to view",
    f"This shows the content of records. {NEEDS_PAYLOAD_READER}",
    scope="payload reader",
    needs=(VIEW,),
)
PERMISSIONS = (VIEW, OPERATE, APPROVE, READ_PAYLOADS)

# The permissions that each scope of an API token covers. The groups of a new installation hold the same. Existing
# groups get a permission of a later version only from a migration, such as 0005.
SCOPES: dict[str, tuple[AccessPermission, ...]] = {
    VIEW.scope: (VIEW,),
    OPERATE.scope: (VIEW, OPERATE),
    APPROVE.scope: (VIEW, OPERATE, APPROVE),
    READ_PAYLOADS.scope: (READ_PAYLOADS,),
}

# The permissions that each role in a team covers.
TEAM_ROLES: dict[str, tuple[AccessPermission, ...]] = {**SCOPES, TeamRoleName.ADMIN: PERMISSIONS}


def first_missing(user: Any, *permissions: AccessPermission) -> AccessPermission | None:
    """Return the first of these permissions, or of those they need, that a request's user lacks.

    To have a permission in one team is enough. `reach_of` tells for which teams it holds.
    """
    return next((permission for permission, teams in _narrowing(user, permissions) if teams == frozenset()), None)


def reach_of(user: Any, *permissions: AccessPermission) -> Reach:
    """Return what the user may reach with all these permissions, and those they need."""
    *_, (_, teams) = _narrowing(user, permissions)
    return of_teams(teams)


def has_permission(user: Any, *permissions: AccessPermission) -> bool:
    """Return whether a request's user has all these permissions, and those they need.

    Anonymous and deactivated users, and None, have no permissions. A superuser has all. The scopes of an API token
    limit them.
    """
    return first_missing(user, *permissions) is None


def is_administrator(user: Any) -> bool:
    """Return whether a request's user is a superuser with a session.

    No scope of an API token covers administration.
    """
    return isinstance(user, User) and user.is_superuser and user.is_active and not hasattr(user, "token_scopes")


def rights_of(user: Any) -> list[str]:
    """Return the names of the user's permissions in the API, in the order of the table."""
    return [permission.scope for permission in PERMISSIONS if _granted_teams(user, permission) != frozenset()]


def global_rights_of(user: Any) -> list[str]:
    """Return the names of the user's permissions that hold for everything, in the order of the table."""
    return [permission.scope for permission in PERMISSIONS if _granted_teams(user, permission) is None]


def rights_in(user: Any, team: int) -> list[str]:
    """Return the names of the user's permissions for what this team owns, in the order of the table."""
    granted = ((permission.scope, _granted_teams(user, permission)) for permission in PERMISSIONS)
    return [scope for scope, teams in granted if teams is None or team in teams]


def role_of(user: Any) -> Role | None:
    """Return the role of a user for the API, or None for users who may not view."""
    if has_permission(user, OPERATE):
        return "operator"
    return "viewer" if has_permission(user, VIEW) else None


def _narrowing(
    user: Any, permissions: Iterable[AccessPermission]
) -> Iterator[tuple[AccessPermission, frozenset[int] | None]]:
    """Yield each permission, and those it needs, with the teams for which the user has it and all before it."""
    left: frozenset[int] | None = None
    for each in permissions:
        for permission in (each, *each.needs):
            granted = _granted_teams(user, permission)
            left = granted if left is None else left if granted is None else left & granted
            yield permission, left


def _granted_teams(user: Any, permission: AccessPermission) -> frozenset[int] | None:
    """Return the teams for which the user, and the API token if there is one, have the permission by itself.

    None means all that there is, without a limit to teams. The authentication class of API tokens sets `token_scopes`
    and `token_team` on the user. A session has no such limits. Django caches the permissions on the user, and each
    request loads its own user: see LimitedBackend.
    """
    if not isinstance(user, User) or not user.is_active:
        return frozenset()
    scopes: Iterable[str] | None = getattr(user, "token_scopes", None)
    if scopes is not None and not any(permission in SCOPES.get(scope, ()) for scope in scopes):
        return frozenset()
    only: int | None = getattr(user, "token_team", None)
    if user.has_perm(f"{APP}.{permission.codename}"):
        return None if only is None else frozenset((only,))
    roles = (name for name, covered in TEAM_ROLES.items() if permission in covered)
    teams = teams_with_roles(user, roles)
    return teams if only is None else teams & {only}


class Requirement(NamedTuple):
    """The permissions that a request needs. A read-only cluster refuses requests that write."""

    permissions: tuple[AccessPermission, ...]
    is_write: bool


class RequiredPermissions(BasePermission):
    """Base class of view permissions that ask for rows of the table."""

    of_reads: ClassVar[Requirement]
    of_writes: ClassVar[Requirement]
    message = ""

    def has_permission(self, request: Request, view: Any) -> bool:
        required = self.of_reads if request.method in SAFE_METHODS else self.of_writes
        # A view with two of these classes needs all permissions in one team: each would set a reach of its own.
        needed = (*getattr(request, _NEEDED, ()), *required.permissions)
        if missing := first_missing(request.user, *needed):
            self.message = missing.missing
            return False
        setattr(request, _NEEDED, needed)
        set_reach(request, reach_of(request.user, *needed))
        if required.is_write and settings.READ_ONLY:
            self.message = "This cluster is read-only."
            return False
        return True


def requires(
    *permissions: AccessPermission, to_write: tuple[AccessPermission, ...] = (), writes: bool = False
) -> type[RequiredPermissions]:
    """Return a permission class for views that need all these permissions.

    With `to_write`, methods such as POST need those permissions instead. A read-only cluster refuses these methods,
    and all methods of a view that `writes`.
    """
    required = Requirement(permissions, writes)

    class ViewPermissions(RequiredPermissions):
        of_reads = required
        of_writes = Requirement(to_write, is_write=True) if to_write else required

    return ViewPermissions


class IsAdministrator(BasePermission):
    """Permission to change what the dashboard itself does, for superusers."""

    message = "This needs an administrator: a superuser who signed in. API tokens cannot do this."

    def has_permission(self, request: Request, view: Any) -> bool:
        if not is_administrator(request.user):
            return False
        set_reach(request, EVERYTHING)
        return True


IsViewer = requires(VIEW)
IsViewerOrWritingOperator = requires(VIEW, to_write=(OPERATE,))
IsPayloadReader = requires(READ_PAYLOADS)


class IsViewerOrOperator(requires(VIEW)):  # type: ignore[misc]  # made by a function
    """Permission to read, and for operators to change what writes nothing to Kafka, also on a read-only cluster."""

    of_writes = Requirement((OPERATE,), is_write=False)


IsOperator = requires(OPERATE, writes=True)
IsApprover = requires(APPROVE, writes=True)


class IsViewerOrAdministrator(IsAdministrator):
    """Permission to see what the dashboard does, and for administrators to change it."""

    def has_permission(self, request: Request, view: Any) -> bool:
        if request.method in SAFE_METHODS:
            return IsViewer().has_permission(request, view)
        return super().has_permission(request, view)


# A connector can write whole topics to another system, so its configuration needs the right to their content.
IsViewerOrConnectorEditor = requires(VIEW, to_write=(OPERATE, READ_PAYLOADS))
IsConnectorEditor = requires(OPERATE, READ_PAYLOADS, writes=True)
# An export writes nothing to the cluster, so a read-only cluster allows it.
IsExporter = requires(OPERATE, READ_PAYLOADS)
