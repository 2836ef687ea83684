"""Planning a replay: every record of the selection becomes an item, planned or skipped; nothing is written to Kafka."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import msgspec
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F, Q, QuerySet

from dlqadmin.audit.recording import record
from dlqadmin.replays import events
from dlqadmin.replays.models import Replay, ReplayStatus, Selection
from dlqadmin.replays.planning import writing
from dlqadmin.replays.planning.document import broken
from dlqadmin.replays.planning.kafka import Cluster, Own
from dlqadmin.replays.planning.options import Options, keep, options_of, settled
from dlqadmin.replays.planning.ordering import Limits
from dlqadmin.replays.planning.reading import SLICE
from dlqadmin.replays.planning.working import FAR, Work
from dlqadmin.replays.sending import items
from dlqadmin.rest.idempotency import Once
from dlqadmin.rest.problems import Conflict

__all__ = ["INLINE", "Options", "begin", "check_again", "create", "failed", "go_on", "options_of", "unsettled"]

INLINE = SLICE  # records that are planned while the request waits
TRIES = 3  # in all, of a plan that meets an error of ours, or whose worker is killed
FAILED = "plan_failed"
KEPT = ("plan", "planned_at", "planned_count", "status", "sender", "heartbeat")


def create(
    selection: Selection,
    options: Options,
    title: str,
    actor: User,
    once: Once,
    now: datetime,
    cluster: Cluster | None = None,
) -> Replay:
    """A new replay of the selection with its plan; of a large one the plan is still to be made, see `go_on`."""
    made = Replay(
        selection=selection,
        title=(title or selection.title)[:300],
        planned_at=now,
        created_by=actor,
        created_at=now,
        idempotency_key=once.key,
        request_digest=once.digest,
    )
    return _plan(made, options, actor, now, cluster or Own())


def check_again(replay: Replay, options: Options, actor: User, now: datetime, cluster: Cluster | None = None) -> Replay:
    """The plan made anew, with these options. Raises Conflict once the replay was run or cancelled."""
    if replay.status == ReplayStatus.PLANNING:
        raise Conflict(f"{replay} is being planned; wait for its plan, or cancel it.")
    if replay.status != ReplayStatus.PLANNED:
        raise Conflict(f"{replay} is {replay.status}; its plan stands as it was run.")
    return _plan(replay, options, actor, now, cluster or Own())


def begin(replay: Replay, seen: datetime | None, token: str, now: datetime, spared: int = 0) -> bool:
    """Take a plan that is still to be made, unless somebody touched it since its heartbeat was `seen`.

    One that was begun TRIES times and never ended is given up instead: what kills its workers will kill the next one.
    `spared` is how many of these beginnings the database ended that was away.
    """
    there = Replay.objects.filter(pk=replay.pk, status=ReplayStatus.PLANNING, heartbeat=seen)
    begun = {"heartbeat": now, "sender": token, "planned_count": 0, "tries": F("tries") + 1 - spared}
    if there.filter(tries__lt=TRIES + spared).update(**begun):
        return True
    with transaction.atomic():
        if (lost := there.select_for_update().first()) is not None:
            events.note(replay.pk, FAILED, "whoever made the plan ended without a word, killed perhaps", now)
            why = "its worker was killed, for want of memory perhaps; the log of its system tells"
            _give_up(lost, f"{_LAST} ended without a word: {why}.", now)
    return False


def go_on(
    replay: Replay, token: str, actor: User | None, clock: Callable[[], datetime], cluster: Cluster | None = None
) -> bool:
    """Make the plan of a replay that `begin` has taken, from its first record on; False when it was taken away."""
    mine = Replay.objects.filter(pk=replay.pk, status=ReplayStatus.PLANNING, sender=token)
    with transaction.atomic():
        if not mine.select_for_update().exists():
            return False
        writing.clear(replay)
    work = Work(replay, options_of(replay), clock(), cluster or Own(), FAR)
    for part in work.slices():
        with transaction.atomic():
            if not mine.update(heartbeat=clock(), planned_count=work.tally.total + len(part.rows)):
                break
            work.write(part)
    with transaction.atomic():
        if mine.select_for_update().exists():
            _settle(replay, work, actor, clock())
            return True
    return _gave_up(replay)


def failed(replay: Replay, token: str, now: datetime, what: str = "an error") -> None:
    """The plan that `go_on` was making met an error that nobody expected: it is begun again soon, but not for ever.

    `what` it met, as the plan says it when it is given up.
    """
    mine = Replay.objects.filter(pk=replay.pk, status=ReplayStatus.PLANNING, sender=token)
    with transaction.atomic():
        there = mine.select_for_update().first()
        if there is None:
            return
        events.note(replay.pk, FAILED, f"making the plan met {what}; the worker's log has its trace", now)
        if there.tries < TRIES:
            mine.update(sender="", heartbeat=None)
        else:
            _give_up(there, f"{_LAST} met {what}; the worker's log has its trace.", now)


def unsettled(before: datetime) -> QuerySet[Replay]:
    """Replays whose plan nobody has worked on since then."""
    quiet = Q(heartbeat__isnull=True) | Q(heartbeat__lt=before)
    return Replay.objects.filter(quiet, status=ReplayStatus.PLANNING)


_LAST = f"The last of {TRIES} tries"


def _give_up(replay: Replay, why: str, now: datetime) -> None:
    """Let the plan say why it could not be made, and be checked again; the replay's row is locked by the caller."""
    writing.clear(replay)
    items.created(replay)
    replay.plan, replay.planned_count = broken(f"{why} Check the plan again, or cancel the replay.", now), 0
    replay.planned_at, replay.status, replay.sender, replay.heartbeat = now, ReplayStatus.PLANNED, "", None
    replay.save(update_fields=KEPT)


def _plan(replay: Replay, asked: Options, actor: User, now: datetime, cluster: Cluster) -> Replay:
    options = settled(asked, replay.selection.count)
    keep(replay, options)
    if replay.selection.count > INLINE:
        return _put_off(replay, now)
    work = Work(replay, options, now, cluster, Limits())
    found = list(work.slices())  # before the transaction: on SQLite it would keep others from writing meanwhile
    with transaction.atomic():
        _hold(replay, now)
        writing.clear(replay)
        for part in found:
            work.write(part)
        _settle(replay, work, actor, now)
    return replay


def _put_off(replay: Replay, now: datetime) -> Replay:
    """The row of a replay whose plan is made by a task."""
    with transaction.atomic():
        _hold(replay, now)
        replay.status, replay.heartbeat, replay.planned_count, replay.plan = ReplayStatus.PLANNING, None, 0, {}
        replay.tries = 0
        replay.save(update_fields=[*Options.__struct_fields__, *KEPT, "tries"])  # a second person's word may be newer
    return replay


def _hold(replay: Replay, now: datetime) -> None:
    """Its row, locked; a replay that was run meanwhile keeps the plan that it was run with."""
    replay.planned_at = now
    if replay._state.adding:  # noqa: SLF001, Django's documented way to ask whether it has a row
        replay.save()
        return
    there = Replay.objects.select_for_update().filter(pk=replay.pk, status=ReplayStatus.PLANNED)
    if not there.exists():
        raise Conflict(f"{replay} was run while its plan was checked; its plan stands as it was run.")


def _settle(replay: Replay, work: Work, actor: User | None, now: datetime) -> None:
    """Store the plan: it can be looked at, and run."""
    plan = work.finish()
    items.created(replay)
    replay.plan, replay.planned_at, replay.planned_count = plan, now, plan["total"]
    replay.status, replay.sender, replay.heartbeat = ReplayStatus.PLANNED, "", None
    replay.save(update_fields=[*Options.__struct_fields__, *KEPT])
    left_out = plan["total"] - plan["to_send"]
    text = f"checked the plan: {plan['to_send']} to send, {left_out} left out; nothing written"
    events.note(replay.pk, "planned", text, now, actor.get_username() if actor else events.ITSELF)
    detail = {
        "selection": str(replay.selection), "selection_digest": replay.selection.digest,
        "plan_digest": plan["digest"], "total": plan["total"], "to_send": plan["to_send"],
        **msgspec.structs.asdict(options_of(replay)),
    }  # fmt: skip
    record(actor or events.ITSELF, "planned", "replay", str(replay), detail)


def _gave_up(replay: Replay) -> bool:
    """What was written of the plan of a replay that was cancelled is of no use."""
    if Replay.objects.filter(pk=replay.pk, status=ReplayStatus.CANCELLED).exists():
        with transaction.atomic():
            writing.clear(replay)
            items.created(replay)
    return False
