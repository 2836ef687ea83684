"""What a person does to a replay: run, pause, resume, cancel, faster, slower; each guarded, logged and audited."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from dlqadmin.audit.recording import record
from dlqadmin.replays import events
from dlqadmin.replays.models import ItemState, Replay, ReplayItem, ReplayStatus
from dlqadmin.replays.sending import items, ledger, recovering
from dlqadmin.replays.tasks import enqueue
from dlqadmin.rest.problems import Conflict
from dlqadmin.rest.text import counted

SETTLE_S = 1.0  # how long an answer waits for the chunk that is on its way
LOOK_S = 0.05


def run(replay: Replay, actor: User, reason: str, plan_digest: str, now: datetime) -> str:
    """Send what was planned, by the plan of this digest: the one that the person saw.

    Raises Conflict when the plan is another one by now, or no longer holds; then nothing has changed.
    """
    with transaction.atomic():
        begun = {"status": ReplayStatus.RUNNING, "reason": reason, "started_by": actor, "started_at": now}
        if not Replay.objects.filter(pk=replay.pk, status=ReplayStatus.PLANNED).update(**begun):
            raise Conflict(f"{replay} was run or cancelled already.")
        replay.refresh_from_db()
        if replay.plan.get("digest") != plan_digest:
            raise Conflict("The plan changed since you saw it; look at it again.")
        planned = list(replay.items.filter(state=ItemState.PLANNED).order_by("ordinal"))
        if not planned or not replay.plan.get("runnable", False):
            raise Conflict(f"The plan of {replay} has nothing that can be sent. Check the plan again.")
        if lost := ledger.claim(planned, resend=replay.resend):
            raise Conflict(_taken(lost, len(planned)))
        items.move(planned, ItemState.PLANNED, ItemState.QUEUED, now)
        Replay.objects.filter(pk=replay.pk).update(progress_topic=planned[0].target_topic)
        facts = {"reason": reason, "records": len(planned), "resend": replay.resend, "rate": replay.rate}
        _say(replay, actor, "run", f"began to send {counted(len(planned), 'record')}: {reason}", now, facts)
        transaction.on_commit(lambda: enqueue(replay.pk))
    return f"sending {counted(len(planned), 'record')}"


def pause(replay: Replay, actor: User, now: datetime, wait: Callable[[float], None] = time.sleep) -> str:
    """Stop after the chunk that is on its way."""
    with transaction.atomic():
        _change(replay, (ReplayStatus.RUNNING,), ReplayStatus.PAUSED, "paused")
        record(actor, "pause", "replay", str(replay), _facts(replay))
    said = f"paused after {_settled(replay, wait)}{_on_the_way(replay)}"
    events.note(replay.pk, "pause", said, now, actor.get_username())
    return said


def resume(replay: Replay, actor: User, now: datetime) -> str:
    """Go on where it stopped."""
    with transaction.atomic():
        _change(replay, (ReplayStatus.PAUSED,), ReplayStatus.RUNNING, "resumed", trouble="")
        left = replay.items.filter(state=ItemState.QUEUED).count()
        said = f"went on with {counted(left, 'record')}"
        _say(replay, actor, "resume", said, now)
        transaction.on_commit(lambda: enqueue(replay.pk))
    return said


def cancel(replay: Replay, actor: User, reason: str, now: datetime, wait: Callable[[float], None] = time.sleep) -> str:
    """Send no more. What was sent stays sent: Kafka takes nothing back."""
    stoppable = (ReplayStatus.PLANNED, ReplayStatus.RUNNING, ReplayStatus.PAUSED)
    with transaction.atomic():
        _change(replay, stoppable, ReplayStatus.CANCELLED, "cancelled", done_at=now)
        left = recovering.leave_out(replay, now)
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
    while replay.items.filter(state=ItemState.SENDING).exists() and time.monotonic() < until:
        wait(LOOK_S)
    return replay.items.filter(sent_at__isnull=False).count()


def _on_the_way(replay: Replay) -> str:
    """What the chunk that has not settled yet holds: nobody knows at present whether it arrives."""
    sending = replay.items.filter(state=ItemState.SENDING).count()
    return f", {sending} on the way" if sending else ""


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


def _taken(lost: list[ReplayItem], planned: int) -> str:
    """Who was faster, in one sentence."""
    others = {item.replay for item in ledger.owners((one.lineage, one.target_topic) for one in lost).values()}
    names = [f"{one} ({one.started_by.get_username() if one.started_by else 'somebody'})" for one in others]
    by = " and ".join(sorted(names)[:3]) or "another replay"
    return f"{len(lost)} of {planned} records are taken by {by} since the plan was made. Check the plan again."
