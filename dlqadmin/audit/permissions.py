"""Who may do what: roles are Django groups named viewer, operator or approver; a superuser may do all of it."""

from typing import Any, Literal

from django.conf import settings
from django.contrib.auth.models import User
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

Role = Literal["viewer", "operator"]


def role_of(user: Any) -> Role | None:
    """The role of a user, None for a stranger; an approver is an operator who may agree to other people's replays."""
    if not (isinstance(user, User) and user.is_active):
        return None
    if user.is_superuser:
        return "operator"
    names = set(user.groups.values_list("name", flat=True))
    if names & {"operator", "approver"}:
        return "operator"
    return "viewer" if "viewer" in names else None


def may_approve(user: Any) -> bool:
    """May this person agree to what somebody else asked for?"""
    if not (isinstance(user, User) and user.is_active):
        return False
    return user.is_superuser or user.groups.filter(name="approver").exists()


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


class IsApprover(IsOperator):
    """May agree to other people's replays: approvers, while the cluster is not read-only."""

    def has_permission(self, request: Request, view: Any) -> bool:
        if not may_approve(request.user):
            self.message = "This needs the role approver."
            return False
        return super().has_permission(request, view)
