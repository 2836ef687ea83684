"""Export documents for the API."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.http import QueryDict

from dlqadmin.deadletters.payloads import Reader
from dlqadmin.deadletters.search.filters import address_asks_content
from dlqadmin.exports.columns import SCHEMA_VERSION
from dlqadmin.exports.formats import FORMATS
from dlqadmin.exports.models import Export
from dlqadmin.rest.times import iso, iso_or_none


def export_document(export: Export, reader: Reader) -> dict[str, Any]:
    """Return an export for a list.

    The filter is withheld from readers without payload access if it asks for content.
    """
    told = reader.may_read or not address_asks_content(QueryDict(export.query))
    return {
        "id": export.pk,
        "created_at": iso(export.created_at),
        "created_by": _maker(export),
        "format": export.format,
        "query": export.query if told else "",
        "withheld": not told,
        "state": export.state,
        "trouble": export.trouble,
        "rows": export.rows,
        "expected": export.expected,
        "size": export.size,
        "sha256": export.sha256 or None,
        "started_at": iso_or_none(export.started_at),
        "done_at": iso_or_none(export.done_at),
        "expires_at": iso_or_none(export.expires_at),
    }


def manifest(export: Export) -> dict[str, Any]:
    """Describe a complete file and its selection, so that it can be verified and requested again."""
    return {
        "schema": SCHEMA_VERSION,
        "export": str(export),
        "file": download_name(export),
        "format": export.format,
        "columns": [column._asdict() for column in FORMATS[export.format].columns],
        "order": "id, ascending",
        "rows": export.rows,
        "size": export.size,
        "sha256": export.sha256,
        "cluster": settings.CLUSTER,
        "filters": export.filters,
        "query": export.query,
        "watermark": export.watermark,
        "made_by": _maker(export),
        "asked_at": iso(export.created_at),
        "done_at": iso_or_none(export.done_at),
    }


def download_name(export: Export) -> str:
    """Return the file name for downloads."""
    return f"dead-letters-{export}-{export.created_at:%Y%m%dT%H%M%SZ}.{export.format}"


def _maker(export: Export) -> str | None:
    return export.created_by.get_username() if export.created_by else None
