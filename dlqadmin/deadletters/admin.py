"""Read-only views of the index in Django's admin."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from dlqadmin.deadletters.models import DeadLetter, Fingerprint, Group, IndexPosition
from dlqadmin.masking.rules import rules_for
from dlqadmin.rest.read_only_admin import ReadOnlyAdmin


class QuotingAdmin(ReadOnlyAdmin):
    """A page of rows that may quote any record. People with masked fields do not see it."""

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_view_permission(request, obj) and not rules_for(request.user)


@admin.register(DeadLetter)
class DeadLetterAdmin(QuotingAdmin):
    list_display = ["id", "failed_at", "topic", "partition", "offset", "message"]
    exclude = ["key_text", "key_hash"]  # the dashboard shows content, because it audits each read
    list_select_related = True
    show_full_result_count = False


@admin.register(Group)
class GroupAdmin(QuotingAdmin):
    list_display = ["id", "title", "status", "first_seen", "last_seen", "owner"]


@admin.register(Fingerprint)
class FingerprintAdmin(QuotingAdmin):
    list_display = ["digest", "exception_class", "stage", "message", "group"]


@admin.register(IndexPosition)
class IndexPositionAdmin(ReadOnlyAdmin):
    list_display = ["topic", "partition", "position", "end_offset", "updated_at"]
