"""Carrying out what a person decided about a selection: checked, written down, then done slice by slice."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, QuerySet

from dlqadmin.audit.recording import record
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.replays.disposing import disposals
from dlqadmin.replays.models import Disposal, DisposalAct, DisposalKind, Selection
from dlqadmin.rest.idempotency import Once
from dlqadmin.rest.problems import Conflict

INLINE = 5_000  # records that are done while the request waits
SLICE = 2_000  # records in one transaction
SITTING = 50_000  # records in one task: then other tasks have their turn
QUIET = timedelta(seconds=30)  # an act that nobody has touched for so long is taken up again
VERBS = {DisposalKind.DISCARDED: "discard", DisposalKind.PARKED: "park", DisposalKind.HANDLED: "handled elsewhere"}

Rows = Callable[[Selection], QuerySet[DeadLetter]]


def dispose(
    selection: Selection, kind: str, reason: str, actor: User, once: Once, now: datetime, found: QuerySet[DeadLetter]
) -> DisposalAct:
    """Write down that the records of a selection, `found`, are disposed of; `go_on` does it.

    Raises Conflict, and nothing has changed, when one of them is in a running replay.
    """
    under_way, replays = disposals.replaying(found)
    if under_way:
        names = " and ".join(str(one) for one in replays)
        verb = "is" if under_way == 1 else "are"
        raise Conflict(f"{under_way} of these records {verb} in {names}, not over yet: wait for it or cancel it.")
    return _write(selection, reason, actor, once, now, kind=kind)


def restore(selection: Selection, reason: str, actor: User, once: Once, now: datetime) -> DisposalAct:
    """Write down that whatever was decided about the records of a selection is taken back; `go_on` does it."""
    return _write(selection, reason, actor, once, now)


def undo(act: DisposalAct, actor: User, now: datetime) -> DisposalAct:
    """Write down that what this act decided is taken back, and no more of it is done; `go_on` does it."""
    if not act.kind:
        raise Conflict(f"{act} restored records; decide about them again instead.")
    with transaction.atomic():
        DisposalAct.objects.select_for_update().get(pk=act.pk)
        if earlier := DisposalAct.objects.filter(undoes=act).first():
            return earlier
        DisposalAct.objects.filter(pk=act.pk, done_at__isnull=True).update(done_at=now)
        return _write(act.selection, f"undo {act}", actor, Once(), now, undoes=act)


def go_on(pk: int, rows: Rows, clock: Callable[[], datetime]) -> bool:
    """Do the next records of an act; whether some are left. Several may call it at once, or one again after a crash."""
    act = DisposalAct.objects.select_related("selection", "undoes").get(pk=pk)
    if act.done_at is not None:
        return False
    left = array("q", _left(act, rows)[:SITTING].iterator(chunk_size=SLICE))
    for start in range(0, len(left), SLICE):
        if not _slice(act, left[start : start + SLICE], clock()):
            return False
    if len(left) == SITTING:
        return True
    DisposalAct.objects.filter(pk=pk, done_at__isnull=True).update(done_at=clock(), touched_at=clock())
    return False


def unsettled(now: datetime) -> QuerySet[DisposalAct]:
    """Acts that nobody works on: their worker died, or the message to it was lost."""
    return DisposalAct.objects.filter(done_at__isnull=True, touched_at__lt=now - QUIET)


def _write(
    selection: Selection,
    reason: str,
    actor: User,
    once: Once,
    now: datetime,
    *,
    kind: str = "",
    undoes: DisposalAct | None = None,
) -> DisposalAct:
    with transaction.atomic():
        act = DisposalAct.objects.create(
            selection=selection,
            kind=kind,
            undoes=undoes,
            reason=reason,
            actor=actor,
            created_at=now,
            touched_at=now,
            idempotency_key=once.key,
            request_digest=once.digest,
        )
        detail = {"act": str(act), "records": selection.count, "selection_digest": selection.digest, "reason": reason}
        record(actor, VERBS[DisposalKind(kind)] if kind else "restore", "selection", str(selection), detail)
    return act


def _left(act: DisposalAct, rows: Rows) -> QuerySet[DeadLetter, int] | QuerySet[Disposal, int]:
    """What is still to be looked at, in ascending order; a record that left the filter since was looked at before."""
    if act.undoes is not None:
        mine = Disposal.objects.filter(act=act.undoes, dead_letter__gt=act.progress)
        return mine.order_by("dead_letter").values_list("dead_letter", flat=True)
    return rows(act.selection).filter(pk__gt=act.progress).order_by("pk").values_list("pk", flat=True)


def _slice(act: DisposalAct, dead_letters: Sequence[int], now: datetime) -> bool:
    """Do these, unless the act was ended, or somebody else did them, in the meantime."""
    with transaction.atomic():
        mine = DisposalAct.objects.select_for_update().filter(
            pk=act.pk, done_at__isnull=True, progress__lt=dead_letters[0]
        )
        if not list(mine.values_list("pk", flat=True)):
            return False
        done = disposals.dispose(dead_letters, act, now) if act.kind else disposals.restore(dead_letters, act.undoes)
        mine.update(
            progress=dead_letters[-1],
            changed=F("changed") + done.changed,
            kept=F("kept") + done.kept,
            busy=F("busy") + done.busy,
            touched_at=now,
        )
    return True
