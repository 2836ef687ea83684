"""A person's actions on a replay: run, pause, resume, cancel, change the rate, remove its plan.

Each action is guarded by the replay's status, logged and audited.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet, Sum

from dlqadmin.audit.entries import record
from dlqadmin.replays import events
from dlqadmin.replays.disposals import disposal_rows
from dlqadmin.replays.items import item_counters, item_states, lineage_claims
from dlqadmin.replays.models import Chunk, ChunkState, ItemState, LedgerEntry, Replay, ReplayStatus
from dlqadmin.replays.plans import approval_rules, item_writer
from dlqadmin.replays.plans.options import digest_of, options_of
from dlqadmin.replays.sending import canary, cancellation, queueing
from dlqadmin.replays.sending.tasks import enqueue
from dlqadmin.rest.problems import StateConflict
from dlqadmin.rest.text import counted
from dlqadmin.teams.reach import EVERYTHING, reaching

CHANGED = "The plan changed since you opened it. Read it again."
SETTLE_S = 1.0  # how long a response waits for the open chunk
LOOK_S = 0.05


@reaching(EVERYTHING)  # other teams' claims of the same lineages count
def run(
    replay: Replay, actor: User, reason: str, plan_digest: str, now: datetime, *, resolve_groups: bool = False
) -> str:
    """Start to send the records of the plan with this digest, which the person saw.

    Raises StateConflict if the plan has another digest by now, or is not valid any more. Then nothing has changed. For
    a large plan, the sender later skips the records that others take or dispose of before it reaches them.
    """
    with transaction.atomic():
        approval_rules.hold(replay, actor)
        begun = {"status": ReplayStatus.RUNNING, "reason": reason, "started_by": actor, "started_at": now}
        if not Replay.objects.filter(pk=replay.pk, status=ReplayStatus.PLANNED).update(**begun):
            raise StateConflict(f"{replay} was run or cancelled already.")
        replay.refresh_from_db()
        if replay.plan.get("digest") != plan_digest:
            raise StateConflict(CHANGED)
        # An approval may have been withdrawn just now.
        if missing := approval_rules.refusal(replay, actor, now):
            raise StateConflict(missing)
        if resolve_groups and not replay.resolve_groups and approval_rules.approved(replay):
            raise StateConflict(
                f"Nobody approved that {replay} resolves groups. Check the plan again with this option, then "
                "ask for approval again."
            )
        resolve_groups = resolve_groups or replay.resolve_groups
        planned = item_counters.count(replay.pk, ItemState.PLANNED)
        if not planned or not replay.plan.get("runnable", False):
            raise StateConflict(f"The plan of {replay} has no records to send. Check the plan again.")
        first = replay.items.filter(state=ItemState.PLANNED).order_by("ordinal")
        topic = first.values_list("target_topic", flat=True)[0]
        _take(replay, planned, now)
        Replay.objects.filter(pk=replay.pk).update(progress_topic=topic, resolve_groups=resolve_groups)
        facts = {"reason": reason, "records": planned, "resend": replay.resend, "rate": replay.rate}
        facts |= {"resolve_groups": True} if resolve_groups else {}
        _say(replay, actor, "run", f"started to send {counted(planned, 'record')}: {reason}", now, facts)
        transaction.on_commit(lambda: enqueue(replay.pk))
    return f"sending {counted(planned, 'record')}"


@reaching(EVERYTHING)  # other teams' claims of the same lineages count
def pause(replay: Replay, actor: User, now: datetime, wait: Callable[[float], None] = time.sleep) -> str:
    """Stop after the open chunk. Raises StateConflict if the replay does not run."""
    with transaction.atomic():
        _change(replay, (ReplayStatus.RUNNING,), ReplayStatus.PAUSED, "paused")
        record(actor, "pause", "replay", str(replay), _facts(replay))
    said = f"paused after {_settled(replay, wait)}{_on_the_way(replay)}"
    events.note(replay.pk, "pause", said, now, actor.get_username())
    return said


@reaching(EVERYTHING)  # other teams' claims of the same lineages count
def resume(replay: Replay, actor: User, now: datetime, reason: str = "") -> str:
    """Continue a paused replay.

    Raises StateConflict if it is not paused. A person must give a reason to continue past a canary that did not pass;
    without one, Conflict is raised.
    """
    with transaction.atomic():
        _change(replay, (ReplayStatus.PAUSED,), ReplayStatus.RUNNING, "resumed", trouble="")
        left = item_counters.count(replay.pk, *item_states.UNSENT)
        said = f"resumed with {counted(left, 'record')} left"
        step = {}
        if canary.is_stopped(replay):
            if not reason:
                raise StateConflict(f"The canary of {replay} did not pass. Give a reason to go on.")
            step = {"steps": canary.as_sent(replay), "step": replay.step + 1}
            said = f"{said}, past the canary: {reason}"
        Replay.objects.filter(pk=replay.pk).update(accepted=canary.accepted(replay), **step)
        _say(replay, actor, "resume", said, now, {"reason": reason})
        transaction.on_commit(lambda: enqueue(replay.pk))
    return said


@reaching(EVERYTHING)  # other teams' claims of the same lineages count
def cancel(replay: Replay, actor: User, reason: str, now: datetime, wait: Callable[[float], None] = time.sleep) -> str:
    """Stop sending for good. Sent records stay in Kafka. Raises StateConflict if there is nothing to stop.

    Unsent items are skipped at once if they are few, else by a worker.
    """
    stoppable = (ReplayStatus.PLANNING, ReplayStatus.PLANNED, ReplayStatus.RUNNING, ReplayStatus.PAUSED)
    with transaction.atomic():
        _change(replay, stoppable, ReplayStatus.CANCELLED, "cancelled", done_at=now)
        # The open chunk is settled separately, as sent or as unsent.
        left = item_counters.count(replay.pk, ItemState.PLANNED, ItemState.QUEUED) - _sending(replay)
        if left <= cancellation.AT_ONCE:
            left = cancellation.leave_out(replay, now)
            if not replay.plan:  # cancelled while it was planned: its items were never counted
                item_states.created(replay)
        else:
            transaction.on_commit(lambda: enqueue(replay.pk))
        record(actor, "cancel", "replay", str(replay), {"reason": reason, "left_out": left, **_facts(replay)})
    said = f"cancelled after {_settled(replay, wait)}{_on_the_way(replay)}; {counted(left, 'record')} not sent"
    events.note(replay.pk, "cancel", f"{said}: {reason}" if reason else said, now, actor.get_username())
    return said


@reaching(EVERYTHING)  # other teams' claims of the same lineages count
def remove(replay: Replay, actor: User) -> None:
    """Delete a replay that was never run, with its plan. Its selection stays.

    Raises StateConflict if it was run: its items are the evidence of what was sent.
    """
    with transaction.atomic():
        if not Replay.objects.select_for_update().filter(pk=replay.pk, started_at=None).exists():
            raise StateConflict(f"{replay} was run, so it can't be removed.")
        item_writer.clear(replay)  # before Django's cascade, which would read all items
        record(actor, "removed plan", "replay", str(replay), {"title": replay.title, **_facts(replay)})
        Replay.objects.filter(pk=replay.pk).delete()


@reaching(EVERYTHING)  # other teams' claims of the same lineages count
def set_rate(replay: Replay, actor: User, rate: int, now: datetime) -> str:
    """Set the rate in records per second, 0 for no limit.

    The rate of a plan is part of its digest. Raises StateConflict if nothing is left to send, or if a second person
    approved a lower rate.
    """
    with transaction.atomic():
        open_ = (ReplayStatus.PLANNED, ReplayStatus.RUNNING, ReplayStatus.PAUSED)
        kept = Replay.objects.select_for_update().filter(pk=replay.pk, status__in=open_).first()
        if kept is None:
            raise StateConflict(f"{replay} has no records left to send.")
        before = kept.rate
        kept.rate = rate
        if kept.status == ReplayStatus.PLANNED:
            if rate != before:
                _plan_anew(kept, actor)
            kept.save(update_fields=["rate", "plan", "authors"])
        elif approval_rules.approved(kept) and is_faster(rate, most := kept.plan.get("rate", before)):
            raise StateConflict(
                f"{replay} was approved for {most} records a second. To send faster, cancel it and have a "
                "faster plan approved."
            )
        else:
            kept.save(update_fields=["rate"])
        replay.refresh_from_db()
        said = f"rate set to {rate} a second" if rate else "rate limit removed"
        _say(replay, actor, "rate", said, now, {"rate": rate})
    return said


def is_faster(rate: int, than: int) -> bool:
    """Return whether `rate` is higher than `than`. 0 means no limit."""
    return than != 0 and (rate == 0 or rate > than)


def _plan_anew(replay: Replay, actor: User) -> None:
    """Store the new rate in the plan. This voids an approval of the former rate."""
    digest = digest_of(options_of(replay), replay.plan.get("records_digest", ""))
    replay.plan = {**replay.plan, "rate": replay.rate, "digest": digest}
    replay.authors = sorted({*replay.authors, actor.pk})


def _change(replay: Replay, before: tuple[str, ...], after: ReplayStatus, word: str, **fields: Any) -> None:
    if not Replay.objects.filter(pk=replay.pk, status__in=before).update(status=after, **fields):
        replay.refresh_from_db()
        raise StateConflict(f"{replay} can't be {word}: it is {replay.status}.")
    replay.refresh_from_db()


def _settled(replay: Replay, wait: Callable[[float], None]) -> int:
    """Return the number of sent records, once the open chunk is settled or a second has passed."""
    until = time.monotonic() + SETTLE_S
    while _sending(replay) and time.monotonic() < until:
        wait(LOOK_S)
    return canary.tally(item_counters.states(replay.pk)).sent


def _on_the_way(replay: Replay) -> str:
    """Return a note about the records in an open chunk. Their fate is not known yet."""
    sending = _sending(replay)
    return f", {sending} still being sent" if sending else ""


def _sending(replay: Replay) -> int:
    """Return the number of records in open chunks."""
    open_ = Chunk.objects.filter(replay=replay, state=ChunkState.OPEN)
    records: int = open_.aggregate(n=Sum("records", default=0))["n"]
    return records


def _say(
    replay: Replay, actor: User, kind: str, text: str, now: datetime, detail: dict[str, Any] | None = None
) -> None:
    events.note(replay.pk, kind, text, now, actor.get_username())
    record(actor, kind, "replay", str(replay), {"said": text, **_facts(replay), **(detail or {})})


def _facts(replay: Replay) -> dict[str, str]:
    """Return the facts about the replay for the audit trail."""
    return {
        "selection": str(replay.selection),
        "selection_digest": replay.selection.digest,
        "plan_digest": replay.plan.get("digest", ""),
    }


def _take(replay: Replay, planned: int, now: datetime) -> None:
    """Queue all planned items. The sender queues the items of a large plan slice by slice instead.

    Raises StateConflict if some were taken, or disposed of, since the plan was made.
    """
    held = lineage_claims.taken(replay)
    if planned <= queueing.AT_ONCE:
        lost = planned - queueing.take(replay, now).held
    else:  # the plan knows all replays that were started before it
        since = Replay.objects.filter(started_at__gte=replay.planned_at).exclude(pk=replay.pk)
        held = held.filter(item__replay__in=list(since.values_list("pk", flat=True)))
        lost = held.count()
    if lost:
        raise StateConflict(_taken(held, lost, planned))
    # A disposal of one of these records waits for our lock, or is stored already.
    if disposed := disposal_rows.standing(replay):
        since_then = (
            f"{counted(disposed, 'record')} of the plan were discarded, parked or handled elsewhere after the "
            "plan was made."
        )
        raise StateConflict(f"{since_then} Check the plan again.")


def _taken(held: QuerySet[LedgerEntry], lost: int, planned: int) -> str:
    """Name the replays that took the records first, in one sentence."""
    others = lineage_claims.holders(held, 3)
    names = [f"{one} ({one.started_by.get_username() if one.started_by else 'somebody'})" for one in others]
    by = " and ".join(names) or "another record of this replay"
    return f"{lost} of {planned} records now belong to {by}, after the plan was made. Check the plan again."
