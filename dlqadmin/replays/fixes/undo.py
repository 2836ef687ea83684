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
from dlqadmin.jobs.claims import held
from dlqadmin.replays.batches import PARAMETERS
from dlqadmin.replays.fixes.draft_storage import CONTENT
from dlqadmin.replays.models import BulkFix, BulkFixStatus, Fix, ReplacedDraft
from dlqadmin.rest.problems import StateConflict
from dlqadmin.teams.reach import EVERYTHING, reaching

INLINE_S = 1.0  # how long the request works on it before a worker continues


@reaching(EVERYTHING)  # as a worker would run it
def undo(bulk: BulkFix, author: User, now: datetime) -> None:
    """Mark the bulk fix as being undone. `go_on` does the work. Raises StateConflict.

    Drafts that were edited by hand since do not belong to it any more.
    """
    own(bulk, author, "undo")
    with transaction.atomic():
        if bulk.status == BulkFixStatus.CANCELLED:
            BulkFix.objects.filter(pk=bulk.pk).update(trouble="")  # of an undo that was given up
        turn(bulk, (BulkFixStatus.DONE, BulkFixStatus.CANCELLED), BulkFixStatus.UNDOING, now)
        detail = {"drafts": bulk.drafts.count(), "replaced": bulk.replaced.filter(fix__bulk=bulk).count()}
        record(author, "undid", "bulk fix", str(bulk), detail)


@reaching(EVERYTHING)  # as a worker would run it
def go_on(bulk: BulkFix, clock: Callable[[], datetime], ends: float) -> bool:
    """Take drafts back until the time `ends`, at least one slice. Return whether there is more."""
    while _slice(bulk, clock()):
        if time.monotonic() > ends:
            return True
    return not _ended(bulk, clock())


def give_up(bulk: BulkFix, why: str, now: datetime) -> None:
    """Stop an undo that ends its workers. The remaining drafts stay, and a person can undo the bulk fix again."""
    trouble = f"Its undo was given up: {why} Undo it again."
    if bulk.done_at is None:  # it failed before
        trouble = f"{bulk.trouble} {trouble}"
    if _undoing(bulk).update(status=BulkFixStatus.CANCELLED, trouble=trouble, done_at=now, heartbeat=now):
        record(bulk.author or "bulk fix", "gave up the undo of", "bulk fix", str(bulk), {"why": why})


def own(bulk: BulkFix, author: User, act: str) -> None:
    """Check that the bulk fix belongs to the author. Raises StateConflict."""
    if bulk.author_id != author.pk:
        whose = bulk.author.get_username() if bulk.author else "an account that no longer exists"
        raise StateConflict(f"Its drafts belong to {whose}. Only their author can {act} it.")


def turn(bulk: BulkFix, before: tuple[BulkFixStatus, ...], after: BulkFixStatus, now: datetime) -> None:
    """Move the bulk fix to another status. Raises StateConflict if it has none of the expected ones."""
    # Without its token, a worker that is still at it can store nothing more.
    changed = {"status": after, "done_at": now, "heartbeat": now, "claim_token": "", "tries": 0}
    if not BulkFix.objects.filter(pk=bulk.pk, status__in=before).update(**changed):
        bulk.refresh_from_db(fields=["status"])
        raise StateConflict(f"{bulk} is {bulk.status} already.")
    bulk.refresh_from_db()


def _slice(bulk: BulkFix, now: datetime) -> bool:
    """Undo one slice. Return whether there was any."""
    with transaction.atomic():
        if not _undoing(bulk).update(heartbeat=now, tries=0):
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
    return bool(over.update(status=after, done_at=now, heartbeat=now)) or not _undoing(bulk).exists()


def _undoing(bulk: BulkFix) -> QuerySet[BulkFix]:
    return held(bulk).filter(status=BulkFixStatus.UNDOING)
