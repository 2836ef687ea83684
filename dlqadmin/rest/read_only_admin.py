"""The base class of our Django admin pages, which are read-only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.db.models.constants import LOOKUP_SEP
from django.http import HttpRequest

if TYPE_CHECKING:
    _ModelAdmin = admin.ModelAdmin[Any]
else:
    _ModelAdmin = admin.ModelAdmin


class ReadOnlyAdmin(_ModelAdmin):
    """An admin page whose rows can be listed and searched, but not added, changed or deleted."""

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest | None = None) -> bool:
        """Allow filters on the list's columns only.

        Django allows a filter on each field of a model, even on excluded ones. `?key_text__startswith=`
        would then reveal hidden content, one character at a time.
        """
        columns = {str(name) for name in self.list_display} | {str(name) for name in self.list_filter}
        is_column = lookup.partition(LOOKUP_SEP)[0] in columns
        # The third parameter is optional in Django before 6.0.
        return is_column and super().lookup_allowed(lookup, value, request)  # type: ignore[arg-type]  # see above

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
