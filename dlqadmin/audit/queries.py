"""Reading the audit trail."""

from dlqadmin.audit.models import AuditEntry
from dlqadmin.rest.pagination import decode_cursor


def page(cursor: str | None, limit: int) -> tuple[list[AuditEntry], bool]:
    """Up to `limit` entries before the cursor, newest first, and whether there are more."""
    entries = AuditEntry.objects.order_by("-id")
    if position := decode_cursor(cursor, int):
        entries = entries.filter(id__lt=position[0])
    rows = list(entries[: limit + 1])
    return rows[:limit], len(rows) > limit
