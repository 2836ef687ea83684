"""The audit trail in the admin: to be read only."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from dlqadmin.audit.models import AuditEntry


@admin.register(AuditEntry)
class AuditEntryAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not subscriptable at run time
    """Entries can be searched; nobody adds, changes or deletes one."""

    list_display = ("at", "actor", "action", "object_type", "object_id")
    search_fields = ("actor", "object_id")
    list_filter = ("action",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
