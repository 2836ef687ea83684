"""Who may do what: roles are Django groups named viewer or operator; a superuser is an operator."""

from typing import Any, Literal

from django.conf import settings
from django.contrib.auth.models import User
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

Role = Literal["viewer", "operator"]


def role_of(user: Any) -> Role | None:
    """The highest role of a user; None for a stranger."""
    if not (isinstance(user, User) and user.is_active):
        return None
    if user.is_superuser:
        return "operator"
    names = set(user.groups.values_list("name", flat=True))
    if "operator" in names:
        return "operator"
    return "viewer" if "viewer" in names else None


class IsViewer(BasePermission):
    """May read: viewers and operators."""

    message = "This needs the role viewer."

    def has_permission(self, request: Request, view: Any) -> bool:
        return role_of(request.user) is not None


class IsOperator(BasePermission):
    """May write: operators, while the cluster is not read-only."""

    message = "This needs the role operator."

    def has_permission(self, request: Request, view: Any) -> bool:
        if role_of(request.user) != "operator":
            return False
        if settings.READ_ONLY:
            self.message = "This cluster is read-only."
            return False
        return True
