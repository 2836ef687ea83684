"""The permission to export dead letters."""

from typing import Any

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from dlqadmin.audit.permissions import NEEDS_PAYLOAD_READER, may_read_payloads, role_of


class IsExporter(BasePermission):
    """Permission for operators who may read payloads.

    It also applies to a read-only cluster, because an export writes nothing there.
    """

    message = "This needs the role operator."

    def has_permission(self, request: Request, view: Any) -> bool:
        if role_of(request.user) != "operator":
            return False
        self.message = f"An export holds the content of records. {NEEDS_PAYLOAD_READER}"
        return may_read_payloads(request.user)
