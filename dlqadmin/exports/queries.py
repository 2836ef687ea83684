"""Queries of exports."""

from __future__ import annotations

from dlqadmin.exports.models import Export
from dlqadmin.rest.pagination import decode_cursor, encode_cursor


def page(cursor: str | None, limit: int) -> tuple[list[Export], str | None]:
    """Return exports, newest first, and the cursor of the next page. Raises ParameterError."""
    rows = Export.objects.select_related("created_by").order_by("-pk")
    if after := decode_cursor(cursor, int):
        rows = rows.filter(pk__lt=after[0])
    found = list(rows[: limit + 1])
    shown = found[:limit]
    return shown, encode_cursor([shown[-1].pk]) if len(found) > limit else None
