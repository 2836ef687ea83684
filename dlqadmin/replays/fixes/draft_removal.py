"""Discarding many drafts at once: all drafts of a bulk fix, or of the records of a selection."""

from __future__ import annotations

import time

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from dlqadmin.audit.entries import record
from dlqadmin.replays.batches import PARAMETERS
from dlqadmin.replays.fixes import undo
from dlqadmin.replays.fixes.bulk_fixes import UNDER_WAY
from dlqadmin.replays.fixes.documents import DiscardedDrafts
from dlqadmin.replays.models import BulkFix, Fix, Selection
from dlqadmin.replays.selections import frozen_selections
from dlqadmin.rest.problems import StateConflict

REMOVE_S = 5.0


def drafts_of_selection(selection: Selection, author: User) -> QuerySet[Fix]:
    """Return the author's drafts of the selection's records."""
    return Fix.objects.filter(author=author, dead_letter__in=frozen_selections.rows(selection).values("pk"))


def discard_of_bulk_fix(bulk: BulkFix, author: User) -> DiscardedDrafts:
    """Delete the drafts of a bulk fix. Drafts that it had replaced do not come back, unlike after an undo.

    Raises StateConflict if it belongs to somebody else, or if a worker works on it.
    """
    undo.own(bulk, author, "discard")
    if bulk.status in UNDER_WAY:
        raise StateConflict(f"{bulk} is {bulk.status}. Wait for its end, or cancel it.")
    return _discard(Fix.objects.filter(bulk=bulk, author=author), author, "bulk fix", str(bulk))


def discard_of_selection(selection: Selection, author: User) -> DiscardedDrafts:
    """Delete the author's drafts of a selection's records, made by hand and in bulk."""
    return _discard(drafts_of_selection(selection, author), author, "selection", str(selection))


def _discard(drafts: QuerySet[Fix], author: User, kind: str, name: str) -> DiscardedDrafts:
    """Delete drafts in short transactions, for a few seconds."""
    removed, ends = 0, time.monotonic() + REMOVE_S
    while ids := list(drafts.order_by("dead_letter_id").values_list("pk", flat=True)[:PARAMETERS]):
        with transaction.atomic():
            # Locked in the order in which bulk fixes and undos lock them.
            held = Fix.objects.select_for_update().filter(pk__in=ids).order_by("dead_letter_id")
            own = list(held.values_list("pk", flat=True))
            Fix.objects.filter(pk__in=own).delete()
            record(author, "discarded drafts", kind, name, {"drafts": len(own)})
        removed += len(own)
        if time.monotonic() > ends:
            break
    return DiscardedDrafts(discarded=removed, left=drafts.count())
