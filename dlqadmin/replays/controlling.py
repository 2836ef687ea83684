"""What a person does to a replay: run, pause, resume, cancel, faster, slower; each guarded, logged and audited."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet, Sum

from dlqadmin.audit.recording import record
from dlqadmin.replays import events
from dlqadmin.replays.approval import approved, needs_approval
from dlqadmin.replays.disposing import disposals
from dlqadmin.replays.models import Chunk, ChunkState, ItemState, LedgerEntry, Replay, ReplayStatus
from dlqadmin.replays.sending import canary, counters, items, leaving, ledger, taking
from dlqadmin.replays.tasks import enqueue
from dlqadmin.rest.problems import Conflict
from dlqadmin.rest.text import counted

CHANGED = "The plan changed since you saw it; look at it again."
SETTLE_S = 1.0  # how long an answer waits for the chunk that is on its way
LOOK_S = 0.05


def run(
    replay: Replay, actor: User, reason: str, plan_digest: str, now: datetime, *, resolve_groups: bool = False
) -> str:
    """Send what was planned, by the plan of this digest: the one that the person saw.

    Raises Conflict when the plan is another one by now, or no longer holds; then nothing has changed. Of a large one
    the sender leaves out what others take, or decide about, before it has come so far.
    """
    with transaction.atomic():
        begun = {"status": ReplayStatus.RUNNING, "reason": reason, "started_by": actor, "started_at": now}
        if not Replay.objects.filter(pk=replay.pk, status=ReplayStatus.PLANNED).update(**begun):
            raise Conflict(f"{replay} was run or cancelled already.")
        replay.refresh_from_db()
        if replay.plan.get("digest") != plan_digest:
            raise Conflict(CHANGED)
        if needs_approval(replay) and not approved(replay):  # it may have been taken back just now
            raise Conflict(f"{replay} needs the approval of a second person.")
        planned = counters.count(replay.pk, ItemState.PLANNED)
        if not planned or not replay.plan.get("runnable", False):
            raise Conflict(f"The plan of {replay} has nothing that can be sent. Check the plan again.")
        first = replay.items.filter(state=ItemState.PLANNED).order_by("ordinal")
        topic = first.values_list("target_topic", flat=True)[0]
        _take(replay, planned, now)
        Replay.objects.filter(pk=replay.pk).update(progress_topic=topic, resolve_groups=resolve_groups)
        facts = {"reason": reason, "records": planned, "resend": replay.resend, "rate": replay.rate}
        facts |= {"resolve_groups": True} if resolve_groups else {}
        _say(replay, actor, "run", f"began to send {counted(planned, 'record')}: {reason}", now, facts)
        transaction.on_commit(lambda: enqueue(replay.pk))
    return f"sending {counted(planned, 'record')}"


def pause(replay: Replay, actor: User, now: datetime, wait: Callable[[float], None] = time.sleep) -> str:
    """Stop after the chunk that is on its way."""
    with transaction.atomic():
        _change(replay, (ReplayStatus.RUNNING,), ReplayStatus.PAUSED, "paused")
        record(actor, "pause", "replay", str(replay), _facts(replay))
    said = f"paused after {_settled(replay, wait)}{_on_the_way(replay)}"
    events.note(replay.pk, "pause", said, now, actor.get_username())
    return said


def resume(replay: Replay, actor: User, now: datetime, reason: str = "") -> str:
    """Go on where it stopped, past a canary that did not pass: for that, a person says why. Raises Conflict."""
    with transaction.atomic():
        _change(replay, (ReplayStatus.PAUSED,), ReplayStatus.RUNNING, "resumed", trouble="")
        left = counters.count(replay.pk, *items.UNSENT)
        said = f"went on with {counted(left, 'record')}"
        step = {}
        if canary.is_stopped(replay):
            if not reason:
                raise Conflict(f"The canary of {replay} did not pass; say why it goes on all the same.")
            step = {"steps": canary.as_sent(replay), "step": replay.step + 1}
            said = f"{said}, past the canary: {reason}"
        Replay.objects.filter(pk=replay.pk).update(accepted=canary.accepted(replay), **step)
        _say(replay, actor, "resume", said, now, {"reason": reason})
        transaction.on_commit(lambda: enqueue(replay.pk))
    return said


def cancel(replay: Replay, actor: User, reason: str, now: datetime, wait: Callable[[float], None] = time.sleep) -> str:
    """Send no more. What was sent stays sent: Kafka takes nothing back.

    What was not is left out at once where that is a matter of a moment, else by a worker.
    """
    stoppable = (ReplayStatus.PLANNING, ReplayStatus.PLANNED, ReplayStatus.RUNNING, ReplayStatus.PAUSED)
    with transaction.atomic():
        _change(replay, stoppable, ReplayStatus.CANCELLED, "cancelled", done_at=now)
        left = counters.count(replay.pk, ItemState.PLANNED, ItemState.QUEUED) - _sending(replay)
        if left <= leaving.AT_ONCE:
            left = leaving.leave_out(replay, now)
            if not replay.plan:  # was cancelled while it was planned: nothing of it has been counted yet
                items.created(replay)
        else:
            transaction.on_commit(lambda: enqueue(replay.pk))
        record(actor, "cancel", "replay", str(replay), {"reason": reason, "left_out": left, **_facts(replay)})
    said = f"cancelled after {_settled(replay, wait)}{_on_the_way(replay)}; {counted(left, 'record')} not sent"
    events.note(replay.pk, "cancel", f"{said}: {reason}" if reason else said, now, actor.get_username())
    return said


def set_rate(replay: Replay, actor: User, rate: int, now: datetime) -> str:
    """Records a second from now on; 0 for no limit."""
    with transaction.atomic():
        open_ = (ReplayStatus.PLANNED, ReplayStatus.RUNNING, ReplayStatus.PAUSED)
        if not Replay.objects.filter(pk=replay.pk, status__in=open_).update(rate=rate):
            raise Conflict(f"{replay} has nothing left to send.")
        replay.refresh_from_db()
        said = f"now {rate} a second" if rate else "now without a limit"
        _say(replay, actor, "rate", said, now, {"rate": rate})
    return said


def _change(replay: Replay, before: tuple[str, ...], after: ReplayStatus, word: str, **fields: Any) -> None:
    if not Replay.objects.filter(pk=replay.pk, status__in=before).update(status=after, **fields):
        replay.refresh_from_db()
        raise Conflict(f"{replay} can't be {word}: it is {replay.status}.")
    replay.refresh_from_db()


def _settled(replay: Replay, wait: Callable[[float], None]) -> int:
    """How many were sent, once the chunk that is on its way has arrived, or a second is over."""
    until = time.monotonic() + SETTLE_S
    while _sending(replay) and time.monotonic() < until:
        wait(LOOK_S)
    return canary.tally(counters.states(replay.pk)).sent


def _on_the_way(replay: Replay) -> str:
    """What the chunk that has not settled yet holds: nobody knows at present whether it arrives."""
    sending = _sending(replay)
    return f", {sending} on the way" if sending else ""


def _sending(replay: Replay) -> int:
    """Records in a chunk that is open."""
    open_ = Chunk.objects.filter(replay=replay, state=ChunkState.OPEN)
    records: int = open_.aggregate(n=Sum("records", default=0))["n"]
    return records


def _say(
    replay: Replay, actor: User, kind: str, text: str, now: datetime, detail: dict[str, Any] | None = None
) -> None:
    events.note(replay.pk, kind, text, now, actor.get_username())
    record(actor, kind, "replay", str(replay), {"said": text, **_facts(replay), **(detail or {})})


def _facts(replay: Replay) -> dict[str, str]:
    """What the replay was about, for the audit."""
    return {
        "selection": str(replay.selection),
        "selection_digest": replay.selection.digest,
        "plan_digest": replay.plan.get("digest", ""),
    }


def _take(replay: Replay, planned: int, now: datetime) -> None:
    """Take all of it up, or, of a plan that is too large for that, let the sender do so, slice by slice.

    Raises Conflict where a part of it was taken, or decided about, since the plan was made.
    """
    held = ledger.taken(replay)
    if planned <= taking.AT_ONCE:
        lost = planned - taking.take(replay, now).held
    else:  # who was run before the plan was made is known to it
        since = Replay.objects.filter(started_at__gte=replay.planned_at).exclude(pk=replay.pk)
        held = held.filter(item__replay__in=list(since.values_list("pk", flat=True)))
        lost = held.count()
    if lost:
        raise Conflict(_taken(held, lost, planned))
    if disposed := disposals.standing(replay):  # whoever decides about a record waits for those, or was before
        since_then = f"{counted(disposed, 'record')} of the plan were discarded, parked or handled elsewhere since."
        raise Conflict(f"{since_then} Check the plan again.")


def _taken(held: QuerySet[LedgerEntry], lost: int, planned: int) -> str:
    """Who was faster, in one sentence."""
    others = ledger.holders(held, 3)
    names = [f"{one} ({one.started_by.get_username() if one.started_by else 'somebody'})" for one in others]
    by = " and ".join(names) or "another record of it"
    return f"{lost} of {planned} records are taken by {by} since the plan was made. Check the plan again."
