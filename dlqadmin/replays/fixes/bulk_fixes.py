"""Bulk fixes: run over a selection in slices, renamed, cancelled.

A slice changes records outside of any transaction. Then one transaction stores their drafts and the progress, if no
other worker has made the same progress meanwhile. So a killed worker loses the work of a hundred records, and two
workers store nothing twice.

Existing drafts are replaced in a second round, after all records are done. So a program that fails, or is cancelled
before, has replaced none. In that round `progress` continues after the selection's watermark.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet

from dlqadmin.audit.entries import record
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.jobs.claims import JobKind, held
from dlqadmin.masking.rules import TopicMask, active_masks, rules_for
from dlqadmin.replays.fixes import record_batches, undo
from dlqadmin.replays.fixes.draft_storage import keep
from dlqadmin.replays.fixes.errors import ProgramRefused
from dlqadmin.replays.fixes.previews import BulkFixRequest, tried, usable
from dlqadmin.replays.fixes.record_batches import Rows
from dlqadmin.replays.fixes.record_changes import CHANGED, INVALID, UNTOUCHED, Change, changer
from dlqadmin.replays.items.messages import Outgoing
from dlqadmin.replays.models import BulkFix, BulkFixStatus, Fix, Selection
from dlqadmin.rest.idempotency import RequestKey
from dlqadmin.rest.text import storable
from dlqadmin.teams.reach import EVERYTHING, reaching

SLICE_S = 5.0
MAX_WHYS = 20
STAY = "The drafts that it had not replaced yet stay."
UNDER_WAY = (BulkFixStatus.RUNNING, BulkFixStatus.UNDOING)
COUNTS = ("matched", CHANGED, UNTOUCHED, INVALID, "kept")

Counts = dict[str, Any]


@reaching(EVERYTHING)  # the caller has found the selection in reach
def start(
    found: QuerySet[DeadLetter],
    selection: Selection,
    asked: BulkFixRequest,
    author: User,
    once: RequestKey,
    now: datetime,
    *,
    rules: Sequence[TopicMask] = (),
) -> BulkFix:
    """Create a bulk fix. The caller queues it. `rules` mask fields for the author. Raises ParameterError."""
    with usable(asked) as change:
        sample = record_batches.sample(found)
        for _ in tried(
            sample, change, record_batches.masking_by(rules)
        ):  # a program that never ends is refused here, not later in a worker
            pass
    counts = fresh_counts(replace=asked.replace, masked=bool(rules))
    with transaction.atomic():
        made = BulkFix.objects.create(
            selection=selection, author=author, kind=asked.kind, program=asked.program, status=BulkFixStatus.RUNNING,
            counts=counts, sample=sample, name=asked.name, created_at=now, heartbeat=now,
            idempotency_key=once.key, request_digest=once.digest,
        )  # fmt: skip
        detail = {"selection": str(selection), "kind": asked.kind, "program": asked.program, "replace": asked.replace}
        record(author, "started", "bulk fix", str(made), detail)
    return made


def go_on(bulk: BulkFix, rows: Rows, clock: Callable[[], datetime], budget_s: float = SLICE_S) -> bool:
    """Change records, or take drafts back, for `budget_s` seconds. Return whether there is more to do.

    This worker has claimed the bulk fix.
    """
    if bulk.status == BulkFixStatus.UNDOING:
        return undo.go_on(bulk, clock, time.monotonic() + budget_s)
    if bulk.author is None:
        return _failed(bulk, "The account that started the bulk fix no longer exists.", clock)
    found, masking = rows(bulk.selection), record_batches.masking_by(_rules(bulk))
    try:
        with changer(bulk.kind, bulk.program) as change:
            ends = time.monotonic() + budget_s
            while time.monotonic() < ends:
                ids = _next(bulk, found)
                if not ids:
                    if _second_begun(bulk, clock()):
                        continue
                    return _done(bulk, clock())
                if not _kept(bulk, bulk.author, ids, record_batches.changes(ids, change, masking), clock(), ends):
                    return False
    except ProgramRefused as error:
        # Replaced drafts are gone, so the new ones stay.
        if _is_second(bulk):
            return _done(bulk, clock(), f"{error} {STAY}")
        return _failed(bulk, str(error), clock)
    return True


@reaching(EVERYTHING)  # the caller has found the selection in reach
def cancel(bulk: BulkFix, author: User, now: datetime) -> None:
    """Stop a bulk fix. Its drafts stay until it is undone. Raises StateConflict."""
    undo.own(bulk, author, "cancel")
    with transaction.atomic():
        undo.turn(bulk, (BulkFixStatus.RUNNING,), BulkFixStatus.CANCELLED, now)
        record(author, "cancelled", "bulk fix", str(bulk), figures(bulk.counts))


@reaching(EVERYTHING)  # the caller has found the selection in reach
def rename(bulk: BulkFix, author: User, name: str) -> None:
    """Give a bulk fix another name. Raises StateConflict."""
    undo.own(bulk, author, "rename")
    with transaction.atomic():
        BulkFix.objects.filter(pk=bulk.pk).update(name=name)
        record(author, "renamed", "bulk fix", str(bulk), {"from": bulk.name, "to": name})
    bulk.name = name


def fresh_counts(*, replace: bool, masked: bool = False) -> Counts:
    """Return the counts of a bulk fix that has not started. `masked`: some fields are masked for its author."""
    return {**dict.fromkeys(COUNTS, 0), "replace": replace, "masked": masked, "why": []}


def figures(counts: Counts) -> Counts:
    """Return the counts for the audit trail, without the reasons, which cite values."""
    return {name: value for name, value in counts.items() if name != "why"}


def count(counts: Counts, dead_letter: int, change: Change) -> None:
    """Count one record.

    For an invalid record the reason is counted too, with the first record of each reason.
    """
    counts["matched"] += 1
    counts[change.what] += 1
    if change.what != INVALID:
        return
    why = storable(change.why)
    known = next((row for row in counts["why"] if row["text"] == why), None)
    if known:
        known["count"] += 1
    elif len(counts["why"]) < MAX_WHYS:
        counts["why"].append({"text": why, "count": 1, "dead_letter": dead_letter})


def _kept(
    bulk: BulkFix,
    author: User,
    ids: list[int],
    changed: Iterable[tuple[DeadLetter, Outgoing | None, Change]],
    now: datetime,
    ends: float = math.inf,
) -> bool:
    """Store the changes of these records, or of the first ones if the time is over.

    Return False if another worker stored them, or if the bulk fix was cancelled.
    """
    counts, made = {**bulk.counts, "why": [dict(row) for row in bulk.counts["why"]]}, {}
    last, second = ids[-1], _is_second(bulk)
    for row, _, change in changed:
        # In the second round all records are counted already.
        if not second:
            count(counts, row.pk, change)
        if change.message is not None:
            made[row.pk] = change.message
        if time.monotonic() > ends:  # after the lease, another worker would start with the same records
            last = row.pk
            break
    progress = last + (_behind(bulk) if second else 0)
    with transaction.atomic():
        if not _mine(bulk).update(progress=progress, heartbeat=now, tries=0):
            return False
        # Retention may have deleted some.
        there = set(DeadLetter.objects.filter(pk__in=made).values_list("pk", flat=True))
        made = {pk: message for pk, message in made.items() if pk in there}
        written = keep(bulk, author, made, now, replace=second)
        # The second round turns kept drafts into changed ones.
        kept = -written if second else len(made) - written
        counts[CHANGED] -= kept
        counts["kept"] += kept
        BulkFix.objects.filter(pk=bulk.pk).update(counts=counts)
    bulk.counts, bulk.progress = counts, progress
    return True


def _rules(bulk: BulkFix) -> Sequence[TopicMask]:
    """Return the rules that mask fields for the author.

    An API token may have had fewer rights than its owner, so a bulk fix that began with masks obeys all rules.
    """
    return active_masks() if bulk.counts.get("masked") else rules_for(bulk.author)


def _next(bulk: BulkFix, found: QuerySet[DeadLetter]) -> list[int]:
    """Return the next records of this round.

    In the second round, only records with a draft from before the bulk fix.
    """
    if not _is_second(bulk):
        return record_batches.after(found, bulk.progress)
    older = Fix.objects.filter(author=bulk.author, updated_at__lt=bulk.created_at).exclude(bulk=bulk)
    return record_batches.after(found.filter(pk__in=older.values("dead_letter_id")), bulk.progress - _behind(bulk))


def _second_begun(bulk: BulkFix, now: datetime) -> bool:
    """Start the second round, if there are drafts to replace. Return whether it was started."""
    wanted = bulk.counts["replace"] and bulk.counts["kept"] and not _is_second(bulk)
    if not wanted or not _mine(bulk).update(progress=_behind(bulk), heartbeat=now):
        return False
    bulk.progress = _behind(bulk)
    return True


def _is_second(bulk: BulkFix) -> bool:
    return bulk.progress >= _behind(bulk)


def _behind(bulk: BulkFix) -> int:
    return bulk.selection.watermark + 1


def _mine(bulk: BulkFix) -> QuerySet[BulkFix]:
    """Return a query that matches the bulk fix if it still runs, and if nobody else claimed it or made progress."""
    return held(bulk).filter(status=BulkFixStatus.RUNNING, progress=bulk.progress)


def _done(bulk: BulkFix, now: datetime, trouble: str = "") -> bool:
    with transaction.atomic():
        if _mine(bulk).update(status=BulkFixStatus.DONE, trouble=trouble, done_at=now, heartbeat=now):
            facts = {**figures(bulk.counts), "trouble": trouble} if trouble else figures(bulk.counts)
            record(bulk.author, "made drafts", "bulk fix", str(bulk), facts)
    return False


def _failed(bulk: BulkFix, why: str, clock: Callable[[], datetime]) -> bool:
    """Undo a failed bulk fix, so that no draft of it stays."""
    return _turned_back(bulk, why, clock()) and undo.go_on(bulk, clock, time.monotonic() + SLICE_S)


def _turned_back(bulk: BulkFix, why: str, now: datetime) -> bool:
    """Mark a running bulk fix as being undone. Return False if somebody else has changed it."""
    with transaction.atomic():
        if not _mine(bulk).update(status=BulkFixStatus.UNDOING, trouble=why, heartbeat=now, tries=0):
            return False
        record(bulk.author or "bulk fix", "failed", "bulk fix", str(bulk), {"why": why, "drafts": bulk.drafts.count()})
    return True


def _give_up(bulk: BulkFix, why: str, now: datetime) -> None:
    """Stop a bulk fix, or an undo, that ends its workers."""
    if bulk.status == BulkFixStatus.UNDOING:
        undo.give_up(bulk, why, now)
    elif _is_second(bulk):
        _done(bulk, now, f"{why} {STAY}")
    else:
        _turned_back(bulk, why, now)


BULK_FIXES = JobKind(
    BulkFix,
    unfinished=Q(status__in=UNDER_WAY),
    lease=timedelta(seconds=15),  # three slices
    give_up=_give_up,
    related=("selection", "author"),
)
