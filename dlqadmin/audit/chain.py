"""The chain of audit entries: a seal makes each entry depend on all entries before it.

Actions write unsealed entries, so no action waits for another one. A sealer numbers committed entries in the
order of their ids, under the lock of the head row. An entry that is committed late gets a later number than
one with a higher id.
"""

from __future__ import annotations

import logging
from datetime import datetime
from typing import Any

from django.db import OperationalError, connection, transaction

from dlqadmin.audit import digests
from dlqadmin.audit.models import AuditEntry, AuditHead

BATCH = 500
log = logging.getLogger(__name__)


class ChainHeadMissing(Exception):
    """Sealed entries exist, but the head is missing. Entries may have been deleted with it."""


def seal_all() -> int:
    """Seal all committed entries; return their number. Raises ChainHeadMissing."""
    sealed = 0
    while count := seal_batch(AuditEntry, AuditHead):
        sealed += count
    return sealed


def seal_soon(entry_id: int) -> None:
    """Seal after a commit, unless another process is sealing. The periodic task seals the rest.

    SQLite has one lock for all writers, which the indexer often holds. There only the periodic task seals.
    """
    if not connection.features.has_select_for_update_nowait:
        return
    if not AuditEntry._base_manager.filter(pk=entry_id, seq=None).exists():
        return  # an earlier entry of the same transaction sealed it too
    try:
        seal_batch(AuditEntry, AuditHead, nowait=True)
    except OperationalError:
        # NOWAIT: a request must not wait for another sealer. That one, or the periodic task, seals this entry too.
        log.debug("another process is sealing the audit trail")
    except ChainHeadMissing as error:
        log.error("%s", error)  # noqa: TRY400  # the message is complete without a traceback


def seal_batch(entries: Any, heads: Any, *, nowait: bool = False) -> int:
    """Seal up to 500 entries in a separate transaction; return their number.

    `entries` and `heads` may be a migration's models. A request with limits also seals what it does not reach, so this
    module uses the manager without limits.
    """
    # Old keys only verify: after the first seal with a newer key, verification accepts no older one.
    key = digests.keys()[-1]
    with transaction.atomic():
        head = _locked_head(entries, heads, nowait=nowait)
        # The head row is the only lock of a sealer, and no action takes it, so the two cannot deadlock.
        rows = [*entries._base_manager.filter(seq=None).order_by("id")[:BATCH]]
        for row in rows:
            head.seq += 1
            head.seal = digests.entry_seal(head.seal, head.seq, row.digest, key)
            row.seq, row.seal = head.seq, head.seal
        if rows:
            entries._base_manager.bulk_update(rows, ["seq", "seal"])
            head.digest = digests.head_digest(head.seq, head.seal, key)
            head.save()
    return len(rows)


def unsealed_since() -> datetime | None:
    """Return when the oldest unsealed entry was written; None if all are sealed."""
    return AuditEntry._base_manager.filter(seq=None).order_by("id").values_list("at", flat=True).first()


def _locked_head(entries: Any, heads: Any, *, nowait: bool) -> Any:
    """Return the head, locked until the transaction ends; create it if nothing was ever sealed.

    Raises ChainHeadMissing.
    """
    locked = heads.objects.select_for_update(nowait=nowait)
    head = locked.filter(pk=AuditHead.ID).first()
    if head is not None:
        return head
    # A new head would start a second chain at 1, and hide that entries were deleted together with the old head.
    if entries._base_manager.exclude(seq=None).exists():
        raise ChainHeadMissing(
            "The head of the audit trail is missing, so no entry is sealed. Run `manage.py verify_audit`, "
            "compare its end with the copy kept elsewhere, and restore the table audit_audithead from a "
            "backup."
        )
    heads.objects.get_or_create(pk=AuditHead.ID)
    return locked.get(pk=AuditHead.ID)
