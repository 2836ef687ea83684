"""The read-only audit trail in Django's admin."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from dlqadmin.audit.models import AuditEntry
from dlqadmin.audit.permissions import READ_PAYLOADS, reach_of
from dlqadmin.masking.rules import rules_for
from dlqadmin.rest.read_only_admin import ReadOnlyAdmin


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnlyAdmin):
    """A searchable list of entries. Nobody can add, change or delete one."""

    list_display = ("seq", "at", "actor", "address", "action", "object_type", "object_id")
    search_fields = ("actor", "object_id")
    list_filter = ("action",)

    def get_exclude(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        # The detail may cite content of records.
        is_shown = not reach_of(request.user, READ_PAYLOADS).is_limited and not rules_for(request.user)
        return () if is_shown else ("detail",)
