"""Disposals of whole selections: checked, stored, then applied slice by slice."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Q, QuerySet

from dlqadmin.audit.entries import record
from dlqadmin.deadletters.models import DeadLetter
from dlqadmin.jobs.claims import JobKind, held
from dlqadmin.replays.disposals import disposal_rows
from dlqadmin.replays.models import Disposal, DisposalAct, DisposalKind, Selection
from dlqadmin.rest.idempotency import RequestKey
from dlqadmin.rest.problems import StateConflict
from dlqadmin.teams.reach import EVERYTHING, reaching

INLINE = 5_000  # records that are done while the request waits
SLICE = 2_000  # records in one transaction
SITTING = 50_000  # records in one task, so that other tasks get their turn
VERBS = {DisposalKind.DISCARDED: "discard", DisposalKind.PARKED: "park", DisposalKind.HANDLED: "handled elsewhere"}

Rows = Callable[[Selection], QuerySet[DeadLetter]]


@reaching(EVERYTHING)  # other teams' running replays of the records count
def dispose(
    selection: Selection,
    kind: str,
    reason: str,
    actor: User,
    once: RequestKey,
    now: datetime,
    found: QuerySet[DeadLetter],
) -> DisposalAct:
    """Store the decision to dispose of the records of a selection, `found`. `go_on` applies it.

    Raises StateConflict, and stores nothing, if one of them is in a running replay.
    """
    under_way, replays = disposal_rows.replaying(found)
    if under_way:
        names = " and ".join(str(one) for one in replays)
        verb = "is" if under_way == 1 else "are"
        raise StateConflict(
            f"{under_way} of these records {verb} in {names}, which has not ended. Wait for it or cancel it."
        )
    return _write(selection, reason, actor, once, now, kind=kind)


@reaching(EVERYTHING)  # other teams' running replays of the records count
def restore(selection: Selection, reason: str, actor: User, once: RequestKey, now: datetime) -> DisposalAct:
    """Store the decision to restore the records of a selection. `go_on` applies it."""
    return _write(selection, reason, actor, once, now)


@reaching(EVERYTHING)  # other teams' running replays of the records count
def undo(act: DisposalAct, actor: User, now: datetime) -> DisposalAct:
    """Store the decision to undo an act, and stop it if it still runs. `go_on` applies the undo.

    Returns the earlier undo if there is one, and begins it again if it was given up. Raises StateConflict if the act
    restored records.
    """
    if not act.kind:
        raise StateConflict(
            f"{act} restored records, so it can't be undone. Discard or park the records again instead."
        )
    with transaction.atomic():
        DisposalAct.objects.select_for_update().get(pk=act.pk)
        if earlier := DisposalAct.objects.filter(undoes=act).first():
            return _begun_again(earlier, actor, now) if earlier.trouble else earlier
        DisposalAct.objects.filter(pk=act.pk, done_at__isnull=True).update(done_at=now)
        return _write(act.selection, f"undo {act}", actor, RequestKey(), now, undoes=act)


def go_on(act: DisposalAct, rows: Rows, clock: Callable[[], datetime]) -> bool:
    """Apply an act that this worker claimed to the next records. Return whether some are left.

    Calling it several times at once, or again after a crash, is harmless.
    """
    left = array("q", _left(act, rows)[:SITTING].iterator(chunk_size=SLICE))
    for start in range(0, len(left), SLICE):
        if not _slice(act, left[start : start + SLICE], clock()):
            return False
    if len(left) == SITTING:
        return True
    _open(act).update(done_at=clock(), heartbeat=clock())
    return False


def _write(
    selection: Selection,
    reason: str,
    actor: User,
    once: RequestKey,
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
            heartbeat=now,
            idempotency_key=once.key,
            request_digest=once.digest,
        )
        detail = {"act": str(act), "records": selection.count, "selection_digest": selection.digest, "reason": reason}
        record(actor, VERBS[DisposalKind(kind)] if kind else "restore", "selection", str(selection), detail)
    return act


def _left(act: DisposalAct, rows: Rows) -> QuerySet[DeadLetter, int] | QuerySet[Disposal, int]:
    """Return the dead letters that the act has still to look at, ascending.

    A record that left the filter since was already handled.
    """
    if act.undoes is not None:
        mine = Disposal.objects.filter(act=act.undoes, dead_letter__gt=act.progress)
        return mine.order_by("dead_letter").values_list("dead_letter", flat=True)
    return rows(act.selection).filter(pk__gt=act.progress).order_by("pk").values_list("pk", flat=True)


def _slice(act: DisposalAct, dead_letters: Sequence[int], now: datetime) -> bool:
    """Apply the act to these dead letters.

    Return False if the act was ended, or if another worker handled them.
    """
    with transaction.atomic():
        mine = _open(act).select_for_update().filter(progress__lt=dead_letters[0])
        if not list(mine.values_list("pk", flat=True)):
            return False
        done = (
            disposal_rows.dispose(dead_letters, act, now)
            if act.kind
            else disposal_rows.restore(dead_letters, act.undoes)
        )
        mine.update(
            progress=dead_letters[-1],
            changed=F("changed") + done.changed,
            kept=F("kept") + done.kept,
            busy=F("busy") + done.busy,
            heartbeat=now,
            tries=0,
        )
    return True


def _begun_again(act: DisposalAct, actor: User, now: datetime) -> DisposalAct:
    act.done_at, act.trouble, act.claim_token, act.tries, act.heartbeat = None, "", "", 0, now
    act.save(update_fields=["done_at", "trouble", "claim_token", "tries", "heartbeat"])
    record(actor, "restore", "selection", str(act.selection), {"act": str(act), "reason": act.reason})
    return act


def _open(act: DisposalAct) -> QuerySet[DisposalAct]:
    """Return a query that matches the act if it is not ended and this worker still holds it."""
    return held(act).filter(done_at__isnull=True)


def _give_up(act: DisposalAct, why: str, now: datetime) -> None:
    """End an act that ends its workers. Records that it has handled stay so."""
    _open(act).update(done_at=now, trouble=why)
    detail = {"act": str(act), "why": why, "changed": act.changed}
    record(act.actor or "disposal", "gave up", "selection", str(act.selection), detail)


DISPOSALS = JobKind(
    DisposalAct,
    unfinished=Q(done_at__isnull=True),
    lease=timedelta(seconds=30),
    give_up=_give_up,
    related=("selection", "undoes"),
)
