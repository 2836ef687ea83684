"""Replays in the admin: to be read only."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from dlqadmin.replays.models import LedgerEntry, Replay, Selection


class ReadOnlyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not subscriptable at run time
    """Rows can be searched; nobody adds, changes or deletes one here."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Selection)
class SelectionAdmin(ReadOnlyAdmin):
    list_display = ("id", "title", "count", "created_by", "created_at")


@admin.register(Replay)
class ReplayAdmin(ReadOnlyAdmin):
    list_display = ("id", "title", "status", "created_by", "created_at")
    list_filter = ("status",)


@admin.register(LedgerEntry)
class LedgerEntryAdmin(ReadOnlyAdmin):
    list_display = ("lineage", "target_topic", "item")
    search_fields = ("lineage", "target_topic")
    raw_id_fields = ("item",)
