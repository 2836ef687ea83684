"""Queries of the audit trail."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Literal

from django.conf import settings
from django.db import connection
from django.db.models import Q, QuerySet
from django.utils import timezone

from dlqadmin.audit import chain, shipments
from dlqadmin.audit.documents import AuditDocument, AuditOptions, AuditPage, TrailHealth, audit_document
from dlqadmin.audit.entry_filters import EntryFilter
from dlqadmin.audit.models import AuditEntry
from dlqadmin.rest.pagination import decode_cursor, encode_cursor
from dlqadmin.rest.times import iso, parse_time
from dlqadmin.teams.reach import current_reach

SLICE = 1_000
SCANNED = 10_000  # entries that one request checks for a text or an outcome, about a third of a second
MAX_OPTIONS = 500
Position = tuple[datetime, int]  # the time and the id of the last entry of a page


def page(
    wanted: EntryFilter,
    cursor: str | None,
    limit: int,
    shows_content: Callable[[AuditEntry], bool],
    *,
    is_masked: bool = False,
) -> AuditPage:
    """Return up to `limit` matching entries after the cursor, newest first.

    `shows_content` tells of which entries the details may be shown that cite records. `is_masked`: fields of records
    are masked for the reader.
    Filters that entries are checked for one by one stop after SCANNED entries. Raises ParameterError.
    """
    position, found, scanned = _position(cursor), list[AuditDocument](), 0
    size = SLICE if wanted.is_checked_by_entry else limit + 1
    while True:
        rows = list(_after(wanted.query(), position).order_by("-at", "-id")[:size])
        scanned += len(rows)
        for row in rows:
            document = audit_document(row, shows_content=shows_content(row), is_masked=is_masked)
            if not wanted.matches(document):
                position = (row.at, row.pk)
                continue
            if len(found) == limit:
                return AuditPage(results=found, next=_cursor(position), searched_to=None)
            found.append(document)
            position = (row.at, row.pk)
        if len(rows) < size:
            return AuditPage(results=found, next=None, searched_to=None)
        if scanned >= SCANNED:
            return AuditPage(results=found, next=_cursor(position), searched_to=iso(rows[-1].at))


def options() -> AuditOptions:
    """Return the actors, actions and types that the trail contains, each in alphabetical order."""
    return AuditOptions(actors=_distinct("actor"), actions=_distinct("action"), types=_distinct("object_type"))


def _distinct(column: Literal["actor", "action", "object_type"]) -> list[str]:
    """Return the first values of an indexed column.

    The query looks up each value in the index; SELECT DISTINCT would read all entries. A limited reach needs
    the latter.
    """
    if current_reach().is_limited:
        rows = AuditEntry.objects.order_by(column).values_list(column, flat=True).distinct()
        return [name for name in rows[:MAX_OPTIONS] if name]
    table = connection.ops.quote_name(AuditEntry._meta.db_table)
    query = f"""
        WITH RECURSIVE found(name) AS (
            SELECT min({column}) FROM {table}
            UNION ALL
            SELECT (SELECT min({column}) FROM {table} WHERE {column} > found.name) FROM found
            WHERE found.name IS NOT NULL
        )
        SELECT name FROM found WHERE name IS NOT NULL LIMIT %s
    """  # noqa: S608  # the column is one of three literals
    with connection.cursor() as cursor:
        cursor.execute(query, [MAX_OPTIONS])
        return sorted(name for (name,) in cursor.fetchall() if name)


def _after(entries: QuerySet[AuditEntry], position: Position | None) -> QuerySet[AuditEntry]:
    """Return the entries that the list shows after this position."""
    if position is None:
        return entries
    at, pk = position
    # The first condition lets the database start in the index; it does not follow from the OR on its own.
    return entries.filter(Q(at__lt=at) | Q(id__lt=pk), at__lte=at)


def _position(cursor: str | None) -> Position | None:
    decoded = decode_cursor(cursor, str, int)
    if decoded is None:
        return None
    return parse_time("cursor", str(decoded[0]), timezone.now()), int(decoded[1])


def _cursor(position: Position | None) -> str | None:
    return encode_cursor([position[0].isoformat(), position[1]]) if position else None


def trail_health(now: datetime) -> TrailHealth:
    """Return how long the oldest unsealed entry has waited, and how many entries were not sent."""
    since = chain.unsealed_since()
    unshipped, trouble = shipments.shipping_lag() if settings.AUDIT_SHIP_TO else (0, "")
    return TrailHealth(
        unsealed_seconds=round(max(0.0, (now - since).total_seconds()), 1) if since else 0.0,
        unshipped=unshipped,
        shipping_trouble=trouble,
    )
