"""Audit entries as lines of JSON, for exports and external systems, and as CSV, for exports."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import AsyncIterator, Iterable, Iterator
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from asgiref.sync import sync_to_async

from dlqadmin.audit.documents import audit_document
from dlqadmin.audit.entry_filters import EntryFilter
from dlqadmin.audit.models import AuditEntry
from dlqadmin.rest.text import spreadsheet_cell

PAGE = 1000
LineFormat = Literal["ndjson", "csv"]
FORMATS: tuple[str, ...] = get_args(LineFormat)
CONTENT_TYPES = {"ndjson": "application/x-ndjson", "csv": "text/csv; charset=utf-8"}
COLUMNS = (
    *("seq", "id", "at", "actor", "address", "action", "object_type", "object_id"),
    *("outcome", "sentence", "reason", "detail", "digest", "seal"),
)


def encode_entry(entry: AuditEntry) -> bytes:
    """Return the entry as one line, with all that its digest and seal cover, and both of these."""
    document: dict[str, Any] = {
        "seq": entry.seq,
        "id": entry.pk,
        "at": _exact(entry.at),
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


def iterate_pages(wanted: EntryFilter, form: LineFormat = "ndjson") -> Iterator[bytes]:
    """Yield the matching entries as lines, one page at a time.

    Sealed entries come first, in the order of the chain; unsealed entries come last. The lines contain the whole
    detail, so only readers of payloads may get them.
    """
    encode = _encode_row if form == "csv" else encode_entry
    entries = wanted.query()
    # First: an entry that is sealed meanwhile is sent twice, not never.
    unsealed = _matching(wanted, entries.filter(seq=None).order_by("id"))
    if form == "csv":
        yield _table_line(COLUMNS)
    last = 0
    while rows := [*entries.filter(seq__gt=last).order_by("seq")[:PAGE]]:
        if lines := b"".join(map(encode, _matching(wanted, rows))):
            yield lines
        last = rows[-1].seq or last
    if unsealed:
        yield b"".join(map(encode, unsealed))


async def stream_pages(found: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Yield each page after the client has received the page before it."""
    while (page := await sync_to_async(_next_page)(found)) is not None:
        yield page


def _matching(wanted: EntryFilter, rows: Iterable[AuditEntry]) -> list[AuditEntry]:
    if not wanted.is_checked_by_entry:
        return [*rows]
    return [row for row in rows if wanted.matches(audit_document(row, shows_content=True))]


def _encode_row(entry: AuditEntry) -> bytes:
    """Return the entry as one line of CSV: the columns of a line of JSON, and the texts that the screen shows."""
    document = audit_document(entry, shows_content=True)
    detail = json.dumps(entry.detail, ensure_ascii=False, separators=(",", ":"))
    facts = (entry.seq, entry.pk, _exact(entry.at), entry.actor, entry.address, entry.action)
    texts = (entry.object_type, entry.object_id, document.outcome, document.sentence, document.reason, detail)
    return _table_line((*facts, *texts, entry.digest, entry.seal))


def _table_line(cells: Iterable[Any]) -> bytes:
    buffer = io.StringIO()
    csv.writer(buffer).writerow([spreadsheet_cell(cell) for cell in cells])
    return buffer.getvalue().encode("utf-8", "replace")


def _exact(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def _next_page(found: Iterator[bytes]) -> bytes | None:
    return next(found, None)
