"""Roles and rights, stored as Django groups.

The groups are viewer, operator, approver and payload reader. A superuser has all rights.
"""

from collections.abc import Iterable
from typing import Any, Literal

from django.conf import settings
from django.contrib.auth.models import User
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

Role = Literal["viewer", "operator"]
PAYLOAD_READER = "payload reader"
KEPT = "_dlqadmin_groups"  # an attribute of the user; Django caches permissions in the same way
NEEDS_PAYLOAD_READER = f"It needs the right {PAYLOAD_READER}."

# Each right, with the rights that it implies. A right is a group's name, and a possible scope of an API
# token.
RIGHTS: dict[str, frozenset[str]] = {
    "viewer": frozenset({"viewer"}),
    "operator": frozenset({"viewer", "operator"}),
    "approver": frozenset({"viewer", "operator", "approver"}),
    PAYLOAD_READER: frozenset({PAYLOAD_READER}),
}


def rights_of(user: Any) -> frozenset[str]:
    """Return the rights of a request's user: rights of the groups, limited by API token scopes.

    The authentication class of API tokens sets `token_scopes` on the user. A session has no such limit.
    Anonymous and deactivated users have no rights.
    """
    if not (isinstance(user, User) and user.is_active):
        return frozenset()
    held = frozenset(RIGHTS) if user.is_superuser else _implied(_groups_of(user))
    scopes: Iterable[str] | None = getattr(user, "token_scopes", None)
    return held if scopes is None else held & _implied(scopes)


def role_of(user: Any) -> Role | None:
    """Return the role of a user, or None without a role.

    An approver is an operator who may also approve replays.
    """
    rights = rights_of(user)
    if "operator" in rights:
        return "operator"
    return "viewer" if "viewer" in rights else None


def may_approve(user: Any) -> bool:
    """Return whether this user may approve the replays of other people."""
    return "approver" in rights_of(user)


def may_read_payloads(user: Any) -> bool:
    """Return whether this user may see keys, values and header values of records.

    The right adds to a role and does not replace one: a member of the group without a role cannot read
    anything.
    """
    return PAYLOAD_READER in rights_of(user) and role_of(user) is not None


def _groups_of(user: User) -> frozenset[str]:
    """Return the names of the user's groups.

    The cached value costs one query per request, because each request loads its own user.
    """
    known: frozenset[str] | None = getattr(user, KEPT, None)
    if known is None:
        known = frozenset(user.groups.values_list("name", flat=True))
        setattr(user, KEPT, known)
    return known


def _implied(names: Iterable[str]) -> frozenset[str]:
    """Return the named rights with all rights that they imply. Names of other groups grant nothing."""
    return frozenset(right for name in names for right in RIGHTS.get(name, ()))


class IsViewer(BasePermission):
    """Permission to read, for viewers and operators."""

    message = "This needs the role viewer."

    def has_permission(self, request: Request, view: Any) -> bool:
        return role_of(request.user) is not None


class IsPayloadReader(BasePermission):
    """Permission to read the content of records, for users who also have a role."""

    message = f"This shows the content of records. {NEEDS_PAYLOAD_READER}"

    def has_permission(self, request: Request, view: Any) -> bool:
        return may_read_payloads(request.user)


class IsOperator(BasePermission):
    """Permission to write, for operators while the cluster is not read-only."""

    message = "This needs the role operator."

    def has_permission(self, request: Request, view: Any) -> bool:
        if role_of(request.user) != "operator":
            return False
        if settings.READ_ONLY:
            self.message = "This cluster is read-only."
            return False
        return True


class IsApprover(IsOperator):
    """Permission to approve other people's replays, for approvers unless the cluster is read-only."""

    def has_permission(self, request: Request, view: Any) -> bool:
        if not may_approve(request.user):
            self.message = "This needs the role approver."
            return False
        return super().has_permission(request, view)


class IsAuditExporter(BasePermission):
    """Permission to export the audit trail, for operators who may read payloads.

    The cluster may be read-only, because an export writes nothing to it. The right to read payloads is needed
    because details may cite records, and seals cover the details as a whole.
    """

    message = f"This needs the role operator and the right {PAYLOAD_READER}."

    def has_permission(self, request: Request, view: Any) -> bool:
        return role_of(request.user) == "operator" and may_read_payloads(request.user)
