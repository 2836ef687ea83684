"""The index in Django's admin: to look at, not to change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.http import HttpRequest

from dlqadmin.deadletters.models import DeadLetter, Fingerprint, Group, IndexPosition

if TYPE_CHECKING:
    _ModelAdmin = admin.ModelAdmin[Any]
else:
    _ModelAdmin = admin.ModelAdmin


class ReadOnlyAdmin(_ModelAdmin):
    """Rows are written by the indexer, and by people over REST, where it is audited."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(DeadLetter)
class DeadLetterAdmin(ReadOnlyAdmin):
    list_display = ["id", "failed_at", "topic", "partition", "offset", "key_text", "message"]
    list_select_related = True
    show_full_result_count = False


@admin.register(Group)
class GroupAdmin(ReadOnlyAdmin):
    list_display = ["id", "title", "status", "first_seen", "last_seen", "owner"]


@admin.register(Fingerprint)
class FingerprintAdmin(ReadOnlyAdmin):
    list_display = ["digest", "exception_class", "stage", "message", "group"]


@admin.register(IndexPosition)
class IndexPositionAdmin(ReadOnlyAdmin):
    list_display = ["topic", "partition", "position", "end_offset", "updated_at"]
