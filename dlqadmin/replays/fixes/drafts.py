"""Drafts: the messages that people want to send in place of failed records, in exact bytes."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol

import msgspec
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from dlqadmin.audit.entries import record
from dlqadmin.deadletters.index import erased_records
from dlqadmin.deadletters.index.column_values import pack_headers, unpack_headers
from dlqadmin.deadletters.models import DeadLetter, Original
from dlqadmin.deadletters.records.details import as_bytes
from dlqadmin.replays.items.messages import Outgoing, original
from dlqadmin.replays.models import Fix
from dlqadmin.rest.problems import StateConflict
from dlqadmin.rest.times import iso
from engine.record.record import Headers

MILLISECOND = timedelta(milliseconds=1)


class MessageChange(Protocol):
    """A change of a message."""

    def of(self, message: Outgoing) -> Outgoing:
        """Return the changed message."""
        ...


class DraftChange(msgspec.Struct, frozen=True):
    """Changes to the parts of a message. An UNSET part stays as it is."""

    key: bytes | msgspec.UnsetType | None = msgspec.UNSET
    value: bytes | msgspec.UnsetType | None = msgspec.UNSET
    headers: Headers | msgspec.UnsetType = msgspec.UNSET

    def of(self, message: Outgoing) -> Outgoing:
        """Return the message with these changes."""
        return Outgoing(
            message.key if self.key is msgspec.UNSET else self.key,
            message.value if self.value is msgspec.UNSET else self.value,
            message.headers if self.headers is msgspec.UNSET else self.headers,
        )


def save(row: DeadLetter, author: User, edit: MessageChange, base: datetime | None, now: datetime) -> Fix:
    """Store the edit as the author's draft. The row's `body` must be loaded.

    Raises StateConflict if the draft was changed since `base`, or if the original bytes are lost.
    """
    try:
        return _save(row, author, edit, base, now)
    except IntegrityError:  # another window created the draft at the same time, or the record was deleted
        raise StateConflict("The record or your draft of it changed in the meantime. Reload the page.") from None


def discard(row: DeadLetter, author: User) -> bool:
    """Delete the author's draft. Return whether there was one."""
    with transaction.atomic():
        kept = Fix.objects.select_for_update().filter(dead_letter=row, author=author).first()
        if kept is None:
            return False
        record(author, "discarded draft", "fix", str(kept), {"dead_letter": row.pk, "before": kept.digest})
        kept.delete()
    return True


def drafts_of(author: User | None, dead_letters: Sequence[int]) -> dict[int, Fix]:
    """Return a person's drafts of these dead letters, by dead letter id."""
    if author is None:
        return {}
    found = Fix.objects.filter(author=author, dead_letter_id__in=dead_letters).select_related("bulk")
    return {fix.dead_letter_id: fix for fix in found}


def message_of(fix: Fix) -> Outgoing:
    """Return the message that the draft sends."""
    return Outgoing(as_bytes(fix.key), as_bytes(fix.value), unpack_headers(bytes(fix.headers)))


def _save(row: DeadLetter, author: User, edit: MessageChange, base: datetime | None, now: datetime) -> Fix:
    whole = original(row)
    if whole is None:
        raise StateConflict(
            f"The original bytes are {Original(row.original).label.lower()}, so the record can't be edited."
        )
    now = now.replace(microsecond=now.microsecond // 1000 * 1000)  # the API shows milliseconds
    with transaction.atomic():
        if row.pk not in erased_records.lock_unerased([row.pk]):
            raise StateConflict("The record was deleted, or its content was erased. Reload the page.")
        kept = Fix.objects.select_for_update().filter(dead_letter=row, author=author).first()
        if (kept and iso(kept.updated_at)) != (base and iso(base)):
            how = f"changed at {iso(kept.updated_at)}" if kept else "discarded"
            raise StateConflict(f"Your draft was {how}, in another window or by a bulk fix. Reload the page.")
        message = edit.of(message_of(kept) if kept else whole)
        before = kept.digest if kept else whole.digest
        draft = kept or Fix(dead_letter=row, author=author, created_at=now)
        draft.key, draft.value, draft.headers = message.key, message.value, pack_headers(message.headers)
        draft.digest = message_of(draft).digest
        draft.bulk = None  # from now on a person's own draft, which undoing a bulk fix keeps
        draft.updated_at = max(now, kept.updated_at + MILLISECOND) if kept else now
        draft.save()
        draft.before.all().delete()
        detail = {"dead_letter": row.pk, "before": before, "after": draft.digest}
        record(author, "saved draft", "fix", str(draft), detail)
    return draft
