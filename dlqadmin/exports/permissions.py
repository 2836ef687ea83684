"""Who may take dead letters away."""

from typing import Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from dlqadmin.audit.permissions import role_of


class IsExporter(BasePermission):
    """May take files away: operators, of a read-only cluster too, since nothing is written there."""

    message = "This needs the role operator."

    def has_permission(self, request: Request, view: Any) -> bool:
        return role_of(request.user) == "operator"
