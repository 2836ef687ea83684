"""Planning a replay: every record of the selection becomes an item, planned or skipped; nothing is written to Kafka."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Max

from dlqadmin.audit.recording import record
from dlqadmin.broker import topics
from dlqadmin.deadletters.preparing import pack_headers
from dlqadmin.replays import events
from dlqadmin.replays.models import ItemPayload, ItemState, Replay, ReplayItem, ReplayStatus, Selection
from dlqadmin.replays.parts import PARAMETERS, parts
from dlqadmin.replays.planning import selecting, targets
from dlqadmin.replays.planning.checks import Facts, document
from dlqadmin.replays.planning.choosing import Candidate, Sorted, candidates, sort
from dlqadmin.replays.planning.targets import Cluster, Targets
from dlqadmin.replays.sending import ledger
from dlqadmin.replays.sending.items import MAX_EVIDENCE
from dlqadmin.rest.idempotency import Once
from dlqadmin.rest.problems import Conflict


class Options(msgspec.Struct, frozen=True):
    """How a selection is replayed. No target: each record to its own origin. `rate` 0: no limit."""

    target_topic: str = ""
    use_fixes: bool = True
    resend: bool = False
    rate: int = 100


def create(
    selection: Selection,
    options: Options,
    title: str,
    actor: User,
    once: Once,
    now: datetime,
    cluster: Cluster = topics,
) -> Replay:
    """A new replay of the selection with its plan."""
    made = Replay(
        selection=selection,
        title=(title or selection.title)[:300],
        planned_at=now,
        created_by=actor,
        created_at=now,
        idempotency_key=once.key,
        request_digest=once.digest,
        **msgspec.structs.asdict(options),
    )
    return _plan(made, options, actor, now, cluster)


def check_again(replay: Replay, options: Options, actor: User, now: datetime, cluster: Cluster = topics) -> Replay:
    """The plan made anew, with these options. Raises Conflict once the replay was run or cancelled."""
    if replay.status != ReplayStatus.PLANNED:
        raise Conflict(f"{replay} is {replay.status}; its plan stands as it was run.")
    return _plan(replay, options, actor, now, cluster)


def options_of(replay: Replay) -> Options:
    """How it was planned."""
    return Options(replay.target_topic, replay.use_fixes, replay.resend, replay.rate)


def _plan(replay: Replay, options: Options, actor: User, now: datetime, cluster: Cluster) -> Replay:
    started = time.perf_counter()
    found = candidates(replay.selection, options.target_topic, replay.created_by if options.use_fixes else None)
    seen = targets.look((one.target for one in found), cluster)
    owners = ledger.owners((one.lineage, one.target) for one in found if one.target)
    rows = sort(found, seen, owners, resend=options.resend)
    facts = Facts(
        selection=replay.selection,
        drifted=selecting.drifted(replay.selection, (one.dead_letter for one in found)),
        rows=rows,
        targets=seen,
        owners=owners,
        digest=_digest(rows, options),
        took_ms=round((time.perf_counter() - started) * 1000),
        now=now,
    )
    plan = document(facts)
    with transaction.atomic():
        _keep(replay, options, plan, now)
        _items(replay, rows, seen, now)
        left_out = plan["total"] - plan["to_send"]
        text = f"checked the plan: {plan['to_send']} to send, {left_out} left out; nothing written"
        events.note(replay.pk, "planned", text, now, actor.get_username())
        detail = {
            "selection": str(replay.selection), "selection_digest": replay.selection.digest,
            "plan_digest": plan["digest"], "total": plan["total"], "to_send": plan["to_send"],
            **msgspec.structs.asdict(options),
        }  # fmt: skip
        record(actor, "planned", "replay", str(replay), detail)
    return replay


def _keep(replay: Replay, options: Options, plan: Mapping[str, object], now: datetime) -> None:
    """Store the plan; a replay that was run meanwhile keeps the one that it was run with."""
    for name, value in msgspec.structs.asdict(options).items():
        setattr(replay, name, value)
    replay.plan, replay.planned_at = dict(plan), now
    if replay._state.adding:  # noqa: SLF001, Django's documented way to ask whether it has a row
        replay.save()
        return
    there = Replay.objects.select_for_update().filter(pk=replay.pk, status=ReplayStatus.PLANNED)
    if not there.exists():
        raise Conflict(f"{replay} was run while its plan was checked; its plan stands as it was run.")
    replay.save(update_fields=["target_topic", "use_fixes", "resend", "rate", "plan", "planned_at"])


def _items(replay: Replay, rows: Sequence[Sorted], seen: Targets, now: datetime) -> None:
    """The items of the plan in place of those of an earlier one, and the bytes of those that were edited."""
    replay.items.all().delete()
    before = _tries(rows)
    items = [
        ReplayItem(
            replay=replay,
            ordinal=ordinal,
            dead_letter_id=row.candidate.dead_letter,
            lineage=row.candidate.lineage,
            watched=seen.watched(row.candidate.target, row.candidate.connector),
            target_topic=row.candidate.target,
            target_partition=row.partition,
            edited=row.candidate.edited is not None,
            attempt=1 + before.get((row.candidate.lineage, row.candidate.target), 0),
            state=ItemState.SKIPPED if row.reason else ItemState.PLANNED,
            reason=row.reason,
            evidence=row.evidence[:MAX_EVIDENCE],
            state_at=now,
        )
        for ordinal, row in enumerate(rows)
    ]
    ReplayItem.objects.bulk_create(items, batch_size=PARAMETERS)
    payloads = [
        ItemPayload(
            item=item, key=edited.key, value=edited.value, headers=pack_headers(edited.headers), digest=edited.digest
        )
        for item, row in zip(items, rows, strict=True)
        if (edited := row.candidate.edited) is not None
    ]
    ItemPayload.objects.bulk_create(payloads, batch_size=PARAMETERS)


def _tries(rows: Sequence[Sorted]) -> dict[ledger.Pair, int]:
    """How often each record was written back to its target before."""
    sent = ReplayItem.objects.filter(sent_at__isnull=False).order_by()
    found: dict[ledger.Pair, int] = {}
    for part in parts(sorted({row.candidate.lineage for row in rows})):
        tried = sent.filter(lineage__in=part).values_list("lineage", "target_topic").annotate(last=Max("attempt"))
        found |= {(lineage, topic): last for lineage, topic, last in tried}
    return found


def _digest(rows: Sequence[Sorted], options: Options) -> str:
    """SHA-256 over what would be sent where, and what not, and whether what was sent before is sent again."""
    digest = hashlib.sha256(b"resend" if options.resend else b"")
    for row in rows:
        digest.update(msgspec.msgpack.encode((*_named(row.candidate), row.partition, row.reason)))
    return digest.hexdigest()


def _named(one: Candidate) -> tuple[int | str | None, ...]:
    return (one.dead_letter, one.lineage, one.target, one.edited.digest if one.edited else "")
