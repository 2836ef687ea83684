"""Read-only views of the index in Django's admin."""

from __future__ import annotations

from django.contrib import admin

from dlqadmin.deadletters.models import DeadLetter, Fingerprint, Group, IndexPosition
from dlqadmin.rest.read_only_admin import ReadOnlyAdmin


@admin.register(DeadLetter)
class DeadLetterAdmin(ReadOnlyAdmin):
    list_display = ["id", "failed_at", "topic", "partition", "offset", "message"]
    exclude = ["key_text", "key_hash"]  # the dashboard shows content, because it audits each read
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
