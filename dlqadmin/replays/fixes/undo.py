"""Undo of a bulk fix, slice by slice: its drafts are deleted, and replaced drafts restored.

A slice is one transaction and leaves no rows of the bulk fix behind. So the next worker finds exactly the remaining
work.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet, Subquery

from dlqadmin.audit.entries import record
from dlqadmin.replays.batches import PARAMETERS
from dlqadmin.replays.fixes.draft_storage import CONTENT
from dlqadmin.replays.models import BulkFix, BulkFixStatus, Fix, ReplacedDraft
from dlqadmin.rest.problems import Conflict

INLINE_S = 1.0  # how long the request works on it before a worker continues


def undo(bulk: BulkFix, author: User, now: datetime) -> None:
    """Mark the bulk fix as being undone. `go_on` does the work. Raises Conflict.

    Drafts that were edited by hand since do not belong to it any more.
    """
    own(bulk, author, "undo")
    with transaction.atomic():
        turn(bulk, (BulkFixStatus.DONE, BulkFixStatus.CANCELLED), BulkFixStatus.UNDOING, now)
        detail = {"drafts": bulk.drafts.count(), "replaced": bulk.replaced.filter(fix__bulk=bulk).count()}
        record(author, "undid", "bulk fix", str(bulk), detail)


def go_on(bulk: BulkFix, clock: Callable[[], datetime], ends: float) -> bool:
    """Take drafts back until the time `ends`, at least one slice. Return whether there is more."""
    while _slice(bulk, clock()):
        if time.monotonic() > ends:
            return True
    return not _ended(bulk, clock())


def own(bulk: BulkFix, author: User, act: str) -> None:
    """Check that the bulk fix belongs to the author. Raises Conflict."""
    if bulk.author_id != author.pk:
        whose = bulk.author.get_username() if bulk.author else "somebody whose account is gone"
        raise Conflict(f"Its drafts belong to {whose}, who alone can {act} it.")


def turn(bulk: BulkFix, before: tuple[BulkFixStatus, ...], after: BulkFixStatus, now: datetime) -> None:
    """Move the bulk fix to another status. Raises Conflict if it has none of the expected ones."""
    changed = {"status": after, "done_at": now, "touched_at": now}
    if not BulkFix.objects.filter(pk=bulk.pk, status__in=before).update(**changed):
        bulk.refresh_from_db(fields=["status"])
        raise Conflict(f"{bulk} is {bulk.status} already.")
    bulk.refresh_from_db()


def _slice(bulk: BulkFix, now: datetime) -> bool:
    """Undo one slice. Return whether there was any."""
    with transaction.atomic():
        if not _undoing(bulk).update(touched_at=now):
            return False
        # First the drafts that it owns, then its rows in the history of other drafts.
        if ids := list(bulk.drafts.values_list("pk", flat=True)[:PARAMETERS]):
            _give_back(bulk, _held(Fix.objects.filter(pk__in=ids, bulk=bulk)))
        elif ids := list(ReplacedDraft.objects.filter(bulk=bulk).values_list("fix", flat=True)[:PARAMETERS]):
            _take_out(bulk, _held(Fix.objects.filter(pk__in=ids)))
    return bool(ids)


def _held(drafts: QuerySet[Fix]) -> list[int]:
    """Lock these drafts until the commit, in the same order in all transactions."""
    return list(drafts.select_for_update().order_by("dead_letter_id").values_list("pk", flat=True))


def _give_back(bulk: BulkFix, drafts: list[int]) -> None:
    """Restore these drafts of the bulk fix, or delete them if it created them."""
    before = ReplacedDraft.objects.filter(by=bulk, fix__in=drafts)
    back = list(before.values_list("fix", flat=True))
    was = ReplacedDraft.objects.filter(by=bulk, fix=OuterRef("pk"))
    Fix.objects.filter(pk__in=back).update(**{name: Subquery(was.values(name)) for name in CONTENT})
    before.delete()
    Fix.objects.filter(pk__in=set(drafts).difference(back)).only("pk").delete()


def _take_out(bulk: BulkFix, drafts: list[int]) -> None:
    """Remove the bulk fix from the history of drafts that later bulk fixes own now.

    The draft from before this one becomes the draft from before the later one.
    """
    own = ReplacedDraft.objects.filter(bulk=bulk, fix__in=drafts)
    later = dict(own.values_list("fix", "by"))
    own.delete()
    for by in set(later.values()):
        theirs = [fix for fix, one in later.items() if one == by]
        ReplacedDraft.objects.filter(by=bulk, fix__in=theirs).update(by=by)


def _ended(bulk: BulkFix, now: datetime) -> bool:
    """Finish the undo if nothing of the bulk fix remains. Return whether it is over.

    Rows in the history of other bulk fixes count too, because undoing those would restore its drafts.
    """
    left = [Exists(table.objects.filter(bulk=OuterRef("pk"))) for table in (Fix, ReplacedDraft)]
    after = BulkFixStatus.UNDONE if bulk.done_at else BulkFixStatus.FAILED
    over = _undoing(bulk).exclude(left[0] | left[1])
    return bool(over.update(status=after, done_at=now, touched_at=now)) or not _undoing(bulk).exists()


def _undoing(bulk: BulkFix) -> QuerySet[BulkFix]:
    return BulkFix.objects.filter(pk=bulk.pk, status=BulkFixStatus.UNDOING)
