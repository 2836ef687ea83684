"""Read-only admin pages of replays."""

from django.contrib import admin

from dlqadmin.replays.models import LedgerEntry, Replay, Selection
from dlqadmin.rest.read_only_admin import ReadOnlyAdmin


@admin.register(Selection)
class SelectionAdmin(ReadOnlyAdmin):
    list_display = ("id", "title", "count", "created_by", "created_at")
    exclude = ("filters",)  # filters may contain keys and values of records


@admin.register(Replay)
class ReplayAdmin(ReadOnlyAdmin):
    list_display = ("id", "title", "status", "created_by", "created_at")
    list_filter = ("status",)


@admin.register(LedgerEntry)
class LedgerEntryAdmin(ReadOnlyAdmin):
    list_display = ("lineage", "target_topic", "item")
    search_fields = ("lineage", "target_topic")
    raw_id_fields = ("item",)
