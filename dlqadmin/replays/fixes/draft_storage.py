"""Bulk inserts of drafts. Existing drafts are kept, or set aside for an undo."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from django.contrib.auth.models import User
from django.db import connection
from django.db.models import QuerySet

from dlqadmin.deadletters.index import erased_records
from dlqadmin.deadletters.index.column_values import pack_headers
from dlqadmin.replays.batches import parts
from dlqadmin.replays.items.messages import Outgoing
from dlqadmin.replays.models import BulkFix, Fix, ReplacedDraft

# Fields of a draft that a bulk fix replaces and an undo restores.
CONTENT = ("key", "value", "headers", "digest", "bulk", "created_at", "updated_at")

_COPY = """
    INSERT INTO {replaced} (by_id, fix_id, "key", "value", headers, digest, bulk_id, created_at, updated_at)
    SELECT %s, id, "key", "value", headers, digest, bulk_id, created_at, updated_at FROM {fixes} WHERE id IN ({ids})
"""


def keep(bulk: BulkFix, author: User, made: Mapping[int, Outgoing], now: datetime, *, replace: bool) -> int:
    """Insert drafts of these messages, by dead letter. Return how many were written.

    The author's existing drafts stay. With `replace`, only those saved since the bulk fix began stay; older ones are
    set aside and replaced. Call it in the transaction that counts the drafts.
    """
    written = 0
    for part in parts(sorted(erased_records.lock_unerased(made))):
        there = Fix.objects.filter(author=author, dead_letter_id__in=part)
        old = _set_aside(bulk, there.filter(updated_at__lt=bulk.created_at)) if replace else set()
        taken = set(there.values_list("dead_letter_id", flat=True))
        new = [_draft(bulk, author, pk, made[pk], now) for pk in part if pk not in taken]
        Fix.objects.bulk_create(new, batch_size=100)
        # Updated in place, so that the drafts that were set aside stay linked to their rows.
        Fix.objects.bulk_create(
            [_draft(bulk, author, pk, made[pk], now) for pk in sorted(old)],
            batch_size=100,
            update_conflicts=True,
            unique_fields=["dead_letter", "author"],
            update_fields=CONTENT,
        )
        written += len(new) + len(old)
    return written


def _set_aside(bulk: BulkFix, drafts: QuerySet[Fix]) -> set[int]:
    """Copy these drafts for an undo, and lock them until the commit.

    Return the ids of their dead letters.
    """
    held = dict(drafts.select_for_update().order_by("dead_letter_id").values_list("pk", "dead_letter_id"))
    if held:
        names = {"replaced": ReplacedDraft._meta.db_table, "fixes": Fix._meta.db_table}
        with connection.cursor() as cursor:
            cursor.execute(_COPY.format(**names, ids=", ".join(["%s"] * len(held))), [bulk.pk, *held])
    return set(held.values())


def _draft(bulk: BulkFix, author: User, dead_letter: int, message: Outgoing, now: datetime) -> Fix:
    return Fix(
        dead_letter_id=dead_letter,
        author=author,
        key=message.key,
        value=message.value,
        headers=pack_headers(message.headers),
        digest=message.digest,
        bulk=bulk,
        created_at=now,
        updated_at=now.replace(microsecond=now.microsecond // 1000 * 1000),  # the API shows milliseconds
    )
