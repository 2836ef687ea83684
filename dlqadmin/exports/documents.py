"""Exports as API documents."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import QueryDict

from dlqadmin.deadletters.payloads import PayloadReader
from dlqadmin.deadletters.search.filters import url_has_content_filter
from dlqadmin.exports.columns import SCHEMA_VERSION
from dlqadmin.exports.formats import FORMATS, FormatName
from dlqadmin.exports.models import Export, ExportState
from dlqadmin.rest.documents import Document, Time
from dlqadmin.rest.times import iso, iso_or_none


class ExportDocument(Document):
    """A file that a worker writes.

    `withheld` is true if the query asks for content that the reader may not see. `rows` and `size`, in bytes,
    are those written so far. `expected` is null if the number of matches is unknown. `expires_at` is the time
    at which the file is deleted, or was.
    """

    id: int
    created_at: Time
    created_by: str | None
    format: FormatName
    query: str
    withheld: bool
    state: ExportState
    trouble: str
    rows: int
    expected: int | None
    size: int
    sha256: str | None
    started_at: Time | None
    done_at: Time | None
    expires_at: Time | None


class ExportPage(Document):
    """Exports, newest first."""

    results: list[ExportDocument]
    next: str | None


class ColumnDocument(Document):
    """A column of a file."""

    name: str
    type: str


class ManifestDocument(Document):
    """The description of a complete file, and of its selection."""

    schema: int
    export: str
    file: str
    format: FormatName
    columns: list[ColumnDocument]
    order: str
    rows: int
    size: int
    sha256: str
    cluster: str
    filters: dict[str, Any]
    query: str
    watermark: int
    made_by: str | None
    asked_at: Time
    done_at: Time | None


def export_document(export: Export, reader: PayloadReader) -> ExportDocument:
    """Return an export for a list.

    A filter that asks for content is withheld, except from its author and readers of all payloads.
    """
    told = tells_filter(export, reader)
    return ExportDocument(
        id=export.pk,
        created_at=iso(export.created_at),
        created_by=_creator_name(export),
        format=FORMATS[export.format].name,
        query=export.query if told else "",
        withheld=not told,
        state=ExportState(export.state),
        trouble=export.trouble,
        rows=export.rows,
        expected=export.expected,
        size=export.size,
        sha256=export.sha256 or None,
        started_at=iso_or_none(export.started_at),
        done_at=iso_or_none(export.done_at),
        expires_at=iso_or_none(export.expires_at),
    )


def tells_filter(export: Export, reader: PayloadReader) -> bool:
    """Return whether this reader may see the filter: it may quote records."""
    return reader.of_text_by(export.created_by_id).may_read or not url_has_content_filter(QueryDict(export.query))


def manifest(export: Export) -> ManifestDocument:
    """Describe a complete file and its selection, so that it can be verified and requested again."""
    return ManifestDocument(
        schema=SCHEMA_VERSION,
        export=str(export),
        file=download_name(export),
        format=FORMATS[export.format].name,
        columns=[ColumnDocument(name=column.name, type=column.type) for column in FORMATS[export.format].columns],
        order="id, ascending",
        rows=export.rows,
        size=export.size,
        sha256=export.sha256,
        cluster=settings.CLUSTER,
        filters=export.filters,
        query=export.query,
        watermark=export.watermark,
        made_by=_creator_name(export),
        asked_at=iso(export.created_at),
        done_at=iso_or_none(export.done_at),
    )


def download_name(export: Export) -> str:
    """Return the file name for downloads."""
    return f"dead-letters-{export}-{export.created_at:%Y%m%dT%H%M%SZ}.{export.format}"


def _creator_name(export: Export) -> str | None:
    return export.created_by.get_username() if export.created_by else None
