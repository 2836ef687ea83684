"""Actions on exports: request, cancel, delete the file. Each action is checked and audited."""

from __future__ import annotations

from datetime import datetime

import msgspec
from django.contrib.auth.models import User
from django.db import transaction

from dlqadmin.audit.entries import record
from dlqadmin.deadletters.search import queries
from dlqadmin.exports import file_expiry, tasks
from dlqadmin.exports.formats import FileFormat
from dlqadmin.exports.models import Export, ExportState
from dlqadmin.exports.requests import ExportRequest, settle
from dlqadmin.rest.idempotency import RequestKey
from dlqadmin.rest.problems import StateConflict
from dlqadmin.rest.text import storable


def create(asked: ExportRequest, form: FileFormat, query: str, actor: User, once: RequestKey, now: datetime) -> Export:
    """Queue an export for the next worker."""
    total = queries.total(asked.filters)  # outside the transaction, which on SQLite would block the indexer
    with transaction.atomic():
        export = Export.objects.create(
            created_by=actor,
            created_at=now,
            format=form.name,
            query=storable(query),
            filters=msgspec.to_builtins(settle(asked).filters),
            watermark=asked.watermark,
            expected=total.count if total.exact else None,
            idempotency_key=once.key,
            request_digest=once.digest,
        )
        detail = {"format": form.name, "query": query, "watermark": asked.watermark, "expected": export.expected}
        record(actor, "export", "dead letters", str(export), detail)
        transaction.on_commit(tasks.wake)
    return export


def cancel(export: Export, actor: User, now: datetime) -> None:
    """Cancel an export; its worker deletes the partial file.

    Raises StateConflict if it is neither queued nor running.
    """
    with transaction.atomic():
        open_ = Export.objects.filter(pk=export.pk, state__in=(ExportState.QUEUED, ExportState.RUNNING))
        if not open_.update(state=ExportState.CANCELLED, done_at=now):
            raise StateConflict(f"{export} can't be cancelled, because it is not being written.")
        record(actor, "cancel", "export", str(export))


def delete(export: Export, actor: User, now: datetime) -> None:
    """Delete the file before it expires and keep its metadata. Raises StateConflict if there is no file."""
    with transaction.atomic():
        if not file_expiry.forget(export, now):
            raise StateConflict(f"{export} has no file.")
        record(actor, "delete", "export", str(export), {"file": export.file, "sha256": export.sha256})
