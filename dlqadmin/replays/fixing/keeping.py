"""Drafts by the many: what a bulk fix makes is kept beside what a person edited by hand."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from django.contrib.auth.models import User
from django.db import connection
from django.db.models import QuerySet

from dlqadmin.deadletters.values import pack_headers
from dlqadmin.replays.models import BulkFix, Fix, ReplacedDraft
from dlqadmin.replays.parts import parts
from dlqadmin.replays.sending.messages import Outgoing

CONTENT = ("key", "value", "headers", "digest", "bulk", "created_at", "updated_at")  # of a draft, before and after

_COPY = """
    INSERT INTO {replaced} (by_id, fix_id, "key", "value", headers, digest, bulk_id, created_at, updated_at)
    SELECT %s, id, "key", "value", headers, digest, bulk_id, created_at, updated_at FROM {fixes} WHERE id IN ({ids})
"""


def keep(bulk: BulkFix, author: User, made: Mapping[int, Outgoing], now: datetime, *, replace: bool) -> int:
    """Drafts of these messages by dead letter; a draft that the author has already stays.

    With `replace` only one that was saved since the bulk fix began does; what the others were is set aside for its
    undoing. Returns how many were made. Call it in the transaction that counts them.
    """
    written = 0
    for part in parts(sorted(made)):
        there = Fix.objects.filter(author=author, dead_letter_id__in=part)
        old = _set_aside(bulk, there.filter(updated_at__lt=bulk.created_at)) if replace else set()
        taken = set(there.values_list("dead_letter_id", flat=True))
        new = [_draft(bulk, author, pk, made[pk], now) for pk in part if pk not in taken]
        Fix.objects.bulk_create(new, batch_size=100)
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
    """Write down what these are, and hold them until the transaction ends; whose dead letters' they are."""
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
        updated_at=now.replace(microsecond=now.microsecond // 1000 * 1000),  # as precise as the API tells it
    )
