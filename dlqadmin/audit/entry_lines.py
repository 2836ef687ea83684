"""Audit entries as lines of JSON, for exports and external systems."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from typing import Any

from asgiref.sync import sync_to_async
from django.db.models import QuerySet

from dlqadmin.audit.models import AuditEntry

PAGE = 1000


def encode_entry(entry: AuditEntry) -> bytes:
    """Return the entry as one line, with all that its digest and seal cover, and both of these."""
    document: dict[str, Any] = {
        "seq": entry.seq,
        "id": entry.pk,
        "at": entry.at.astimezone(UTC).isoformat(timespec="microseconds"),
        "actor": entry.actor,
        "address": entry.address,
        "action": entry.action,
        "object_type": entry.object_type,
        "object_id": entry.object_id,
        "detail": entry.detail,
        "digest": entry.digest,
        "seal": entry.seal,
    }
    # orjson refuses integers of more than 64 bits, and PostgreSQL returns 1e22 as one.
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def iterate_pages(start: datetime | None, end: datetime | None) -> Iterator[bytes]:
    """Yield the entries of [start, end) as lines, one page at a time.

    Sealed entries come first, in the order of the chain; unsealed entries come last.
    """
    entries = AuditEntry.objects.all()
    if start:
        entries = entries.filter(at__gte=start)
    if end:
        entries = entries.filter(at__lt=end)
    unsealed = [*entries.filter(seq=None).order_by("id")]  # first: an entry sealed meanwhile is sent twice, not never
    yield from _lines_by_field(entries.exclude(seq=None), "seq")
    if unsealed:
        yield b"".join(map(encode_entry, unsealed))


async def stream_pages(found: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Yield each page after the client has received the page before it."""
    while (page := await sync_to_async(_next_page)(found)) is not None:
        yield page


def _lines_by_field(entries: QuerySet[AuditEntry], field: str) -> Iterator[bytes]:
    last = 0
    while rows := [*entries.filter(**{f"{field}__gt": last}).order_by(field)[:PAGE]]:
        yield b"".join(map(encode_entry, rows))
        last = getattr(rows[-1], field)


def _next_page(found: Iterator[bytes]) -> bytes | None:
    return next(found, None)
