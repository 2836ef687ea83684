"""Queries of the audit trail."""

from datetime import datetime

from django.conf import settings

from dlqadmin.audit import chain, shipments
from dlqadmin.audit.documents import TrailHealth
from dlqadmin.audit.models import AuditEntry
from dlqadmin.rest.pagination import decode_cursor


def page(cursor: str | None, limit: int) -> tuple[list[AuditEntry], bool]:
    """Return up to `limit` entries before the cursor, newest first, and whether there are more."""
    entries = AuditEntry.objects.order_by("-id")
    if position := decode_cursor(cursor, int):
        entries = entries.filter(id__lt=position[0])
    rows = list(entries[: limit + 1])
    return rows[:limit], len(rows) > limit


def trail_health(now: datetime) -> TrailHealth:
    """Return how long the oldest unsealed entry has waited, and how many entries were not sent."""
    since = chain.unsealed_since()
    unshipped, trouble = shipments.shipping_lag() if settings.AUDIT_SHIP_TO else (0, "")
    return TrailHealth(
        unsealed_seconds=round(max(0.0, (now - since).total_seconds()), 1) if since else 0.0,
        unshipped=unshipped,
        shipping_trouble=trouble,
    )
