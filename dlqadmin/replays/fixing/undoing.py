"""Taking a bulk fix back, slice by slice: its drafts go, and those that it replaced are what they were.

A slice is one transaction, and leaves nothing of the bulk fix where it has been: whoever comes next finds what is left.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet, Subquery

from dlqadmin.audit.recording import record
from dlqadmin.replays.fixing.keeping import CONTENT
from dlqadmin.replays.models import BulkFix, BulkFixStatus, Fix, ReplacedDraft
from dlqadmin.replays.parts import PARAMETERS
from dlqadmin.rest.problems import Conflict

INLINE_S = 1.0  # how long the request waits for it before a worker goes on


def undo(bulk: BulkFix, author: User, now: datetime) -> None:
    """Write down that it is taken back; `go_on` does it. What was edited by hand since is its no more.

    Raises Conflict.
    """
    own(bulk, author, "undo")
    with transaction.atomic():
        turn(bulk, (BulkFixStatus.DONE, BulkFixStatus.CANCELLED), BulkFixStatus.UNDOING, now)
        detail = {"drafts": bulk.drafts.count(), "replaced": bulk.replaced.filter(fix__bulk=bulk).count()}
        record(author, "undid", "bulk fix", str(bulk), detail)


def go_on(bulk: BulkFix, clock: Callable[[], datetime], ends: float) -> bool:
    """Take as many of its drafts back as there is time for; is there more to do? One at least."""
    while _slice(bulk, clock()):
        if time.monotonic() > ends:
            return True
    return not _ended(bulk, clock())


def own(bulk: BulkFix, author: User, act: str) -> None:
    """Raises Conflict unless it is theirs."""
    if bulk.author_id != author.pk:
        whose = bulk.author.get_username() if bulk.author else "somebody whose account is gone"
        raise Conflict(f"Its drafts belong to {whose}, who alone can {act} it.")


def turn(bulk: BulkFix, before: tuple[BulkFixStatus, ...], after: BulkFixStatus, now: datetime) -> None:
    """Let it stand there from now on. Raises Conflict where it did not stand at one of those before."""
    changed = {"status": after, "done_at": now, "touched_at": now}
    if not BulkFix.objects.filter(pk=bulk.pk, status__in=before).update(**changed):
        bulk.refresh_from_db(fields=["status"])
        raise Conflict(f"{bulk} is {bulk.status} already.")
    bulk.refresh_from_db()


def _slice(bulk: BulkFix, now: datetime) -> bool:
    """Take some of it back: was there any?"""
    with transaction.atomic():
        if not _undoing(bulk).update(touched_at=now):
            return False
        if ids := list(bulk.drafts.values_list("pk", flat=True)[:PARAMETERS]):
            _give_back(bulk, _held(Fix.objects.filter(pk__in=ids, bulk=bulk)))
        elif ids := list(ReplacedDraft.objects.filter(bulk=bulk).values_list("fix", flat=True)[:PARAMETERS]):
            _take_out(bulk, _held(Fix.objects.filter(pk__in=ids)))
    return bool(ids)


def _held(drafts: QuerySet[Fix]) -> list[int]:
    """Hold these until the transaction ends, in the order in which everybody does."""
    return list(drafts.select_for_update().order_by("dead_letter_id").values_list("pk", flat=True))


def _give_back(bulk: BulkFix, drafts: list[int]) -> None:
    """Let these drafts of its be what they were before it, or go."""
    before = ReplacedDraft.objects.filter(by=bulk, fix__in=drafts)
    back = list(before.values_list("fix", flat=True))
    was = ReplacedDraft.objects.filter(by=bulk, fix=OuterRef("pk"))
    Fix.objects.filter(pk__in=back).update(**{name: Subquery(was.values(name)) for name in CONTENT})
    before.delete()
    Fix.objects.filter(pk__in=set(drafts).difference(back)).only("pk").delete()


def _take_out(bulk: BulkFix, drafts: list[int]) -> None:
    """These are other bulk fixes' by now: let what was before this one be what was before those."""
    own = ReplacedDraft.objects.filter(bulk=bulk, fix__in=drafts)
    later = dict(own.values_list("fix", "by"))
    own.delete()
    for by in set(later.values()):
        theirs = [fix for fix, one in later.items() if one == by]
        ReplacedDraft.objects.filter(by=bulk, fix__in=theirs).update(by=by)


def _ended(bulk: BulkFix, now: datetime) -> bool:
    """Nothing of it is left, nor comes back by the undoing of another one that is under way."""
    left = [Exists(table.objects.filter(bulk=OuterRef("pk"))) for table in (Fix, ReplacedDraft)]
    after = BulkFixStatus.UNDONE if bulk.done_at else BulkFixStatus.FAILED
    over = _undoing(bulk).exclude(left[0] | left[1])
    return bool(over.update(status=after, done_at=now, touched_at=now)) or not _undoing(bulk).exists()


def _undoing(bulk: BulkFix) -> QuerySet[BulkFix]:
    return BulkFix.objects.filter(pk=bulk.pk, status=BulkFixStatus.UNDOING)
