"""Planning of replays: every record of the selection becomes an item, planned or skipped.

Planning writes nothing to Kafka.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from dlqadmin.audit.entries import record
from dlqadmin.broker import clusters
from dlqadmin.jobs.claims import JobKind, held
from dlqadmin.replays import events
from dlqadmin.replays.items import item_states
from dlqadmin.replays.models import Replay, ReplayStatus, Selection
from dlqadmin.replays.plans import item_writer
from dlqadmin.replays.plans.documents import broken
from dlqadmin.replays.plans.kafka_queries import Own, SourceClusterQueries
from dlqadmin.replays.plans.newer_records import SearchLimits
from dlqadmin.replays.plans.options import Options, keep, options_of, settled
from dlqadmin.replays.plans.plan_builder import FAR, Work
from dlqadmin.replays.plans.selection_reader import SLICE
from dlqadmin.rest.idempotency import RequestKey
from dlqadmin.rest.problems import StateConflict
from dlqadmin.teams.reach import EVERYTHING, reaching

__all__ = ["INLINE", "PLANS", "Options", "check_again", "create", "go_on", "options_of"]

INLINE = SLICE  # records that are planned while the request waits
FAILED = "plan_failed"
KEPT = ("plan", "planned_at", "planned_count", "status", "claim_token", "heartbeat", "authors", "mapped_headers")


@reaching(EVERYTHING)  # other teams' replays and newer records count in the checks
def create(
    selection: Selection,
    options: Options,
    title: str,
    actor: User,
    once: RequestKey,
    now: datetime,
    cluster: SourceClusterQueries | None = None,
) -> Replay:
    """Create a replay of the selection with its plan.

    For a large selection the plan is made later by `go_on`.
    """
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


@reaching(EVERYTHING)  # other teams' replays and newer records count in the checks
def check_again(
    replay: Replay, options: Options, actor: User, now: datetime, cluster: SourceClusterQueries | None = None
) -> Replay:
    """Make the plan again with these options.

    Raises StateConflict if the plan is still being made, or if the replay was run or cancelled.
    """
    if replay.status == ReplayStatus.PLANNING:
        raise StateConflict(f"{replay} is being planned. Wait for its plan, or cancel it.")
    if replay.status != ReplayStatus.PLANNED:
        raise StateConflict(f"{replay} is {replay.status}, so its plan can't change.")
    return _plan(replay, options, actor, now, cluster or Own())


def go_on(
    replay: Replay, actor: User | None, clock: Callable[[], datetime], cluster: SourceClusterQueries | None = None
) -> bool:
    """Make the whole plan of a replay that this worker claimed. Return False if it was taken away."""
    mine = held(replay).filter(status=ReplayStatus.PLANNING)
    with transaction.atomic():
        if not mine.select_for_update().exists():
            return False
        item_writer.clear(replay)
    with clusters.on(replay.source_cluster):
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


def _give_up(replay: Replay, why: str, now: datetime) -> None:
    """Store a plan that tells why it could not be made, so that a person can check it again.

    The caller has locked the replay's row.
    """
    item_writer.clear(replay)
    item_states.created(replay)
    plan = broken(f"{why} Check the plan again, or cancel the replay.", now)
    replay.plan, replay.planned_count = msgspec.to_builtins(plan), 0
    replay.planned_at, replay.status, replay.claim_token, replay.heartbeat = now, ReplayStatus.PLANNED, "", None
    replay.save(update_fields=KEPT)


def _plan(replay: Replay, asked: Options, actor: User, now: datetime, cluster: SourceClusterQueries) -> Replay:
    options = settled(asked, replay.selection.count)
    if replay._state.adding or options != options_of(replay):  # noqa: SLF001, as in `_hold`
        replay.authors = [*replay.authors, actor.pk]
    keep(replay, options)
    if replay.selection.count > INLINE:
        return _put_off(replay, now)
    with clusters.on(replay.source_cluster):
        work = Work(replay, options, now, cluster, SearchLimits())
        found = list(work.slices())  # before the transaction, because on SQLite it would block all other writers
        with transaction.atomic():
            _hold(replay, now)
            item_writer.clear(replay)
            for part in found:
                work.write(part)
            _settle(replay, work, actor, now)
    return replay


def _put_off(replay: Replay, now: datetime) -> Replay:
    """Save a replay whose plan a task will make."""
    with transaction.atomic():
        _hold(replay, now)
        replay.status, replay.heartbeat, replay.planned_count, replay.plan = ReplayStatus.PLANNING, None, 0, {}
        replay.tries = 0
        # Not all fields: a second person's approval may be newer.
        replay.save(update_fields=[*Options.__struct_fields__, *KEPT, "tries"])
    return replay


def _hold(replay: Replay, now: datetime) -> None:
    """Lock the replay's row, or insert it.

    Raises StateConflict if the replay was run meanwhile: it keeps the plan that it was run with.
    """
    replay.planned_at = now
    if replay._state.adding:  # noqa: SLF001, Django's documented way to ask whether it has a row
        replay.save()
        return
    there = Replay.objects.select_for_update().filter(pk=replay.pk, status=ReplayStatus.PLANNED).first()
    if there is None:
        raise StateConflict(f"{replay} was run while its plan was checked, so its plan can't change.")
    replay.authors = sorted({*there.authors, *replay.authors})  # somebody else may have changed it meanwhile


def _settle(replay: Replay, work: Work, actor: User | None, now: datetime) -> None:
    """Store the plan, so that it can be seen and run."""
    plan = work.finish()
    item_states.created(replay)
    replay.authors = sorted({*replay.authors, *work.tally.authors})
    replay.plan, replay.planned_at, replay.planned_count = msgspec.to_builtins(plan), now, plan.total
    replay.status, replay.claim_token, replay.heartbeat = ReplayStatus.PLANNED, "", None
    replay.mapped_headers = work.mapped_headers
    replay.save(update_fields=[*Options.__struct_fields__, *KEPT])
    left_out = plan.total - plan.to_send
    text = f"checked the plan: {plan.to_send} to send, {left_out} left out; nothing was written"
    events.note(replay.pk, "planned", text, now, actor.get_username() if actor else events.ITSELF)
    detail = {
        "selection": str(replay.selection), "selection_digest": replay.selection.digest,
        "plan_digest": plan.digest, "total": plan.total, "to_send": plan.to_send,
        **msgspec.structs.asdict(options_of(replay)),
    }  # fmt: skip
    record(actor or events.ITSELF, "planned", "replay", str(replay), detail)


def _gave_up(replay: Replay) -> bool:
    """Delete the items of a plan whose replay was cancelled meanwhile. Return False."""
    if Replay.objects.filter(pk=replay.pk, status=ReplayStatus.CANCELLED).exists():
        with transaction.atomic():
            item_writer.clear(replay)
            item_states.created(replay)
    return False


def _note(replay: Replay, text: str, now: datetime) -> None:
    events.note(replay.pk, FAILED, f"making the plan {text}", now)


PLANS = JobKind(
    Replay,
    unfinished=Q(status=ReplayStatus.PLANNING),
    lease=timedelta(seconds=60),
    give_up=_give_up,
    note=_note,
    begun=lambda _: {"planned_count": 0},
    related=("selection", "created_by"),
)
