"""Replays as API documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
from django.conf import settings

from dlqadmin.accounts.names import username
from dlqadmin.replays.models import ItemState, OrderGuard, Replay, ReplayStatus
from dlqadmin.replays.plans.approval_rules import approval_document
from dlqadmin.replays.plans.documents import ApprovalDocument, PlanDocument
from dlqadmin.replays.plans.options import options_of
from dlqadmin.replays.reasons import remedy
from dlqadmin.replays.selections.documents import SelectionDocument, selection_document
from dlqadmin.replays.sending.pause_rules import OutcomeTally
from dlqadmin.rest.documents import Document, Time
from dlqadmin.rest.text import counted
from dlqadmin.rest.times import iso, iso_or_none

OUT = (ItemState.SENT, ItemState.PASSED, ItemState.FAILED_AGAIN, ItemState.UNKNOWN)

CHOSEN = (  # options that are shown as they are stored
    "shadow", "keep_timestamps", "steps", "breaker_percent", "max_lag", "chunk_records", "watch", "resolve_groups",
)  # fmt: skip

Cell = tuple[str, str, str, bool, int]  # state, reason, watched reader, edited, count


class Chunks(NamedTuple):
    """A replay's number of records in an open chunk, and its number of committed chunks."""

    sending: int = 0
    committed: int = 0


class ItemCounts(Document):
    """The number of items in each state. `waiting`: they are sent, and have no outcome yet."""

    total: int
    waiting: int
    queued: int
    sending: int
    passed: int
    failed_again: int
    unknown: int
    skipped: int
    planned: int


class ReasonCount(Document):
    """The number of items in a state for one reason. `remedy` says what would make an unknown outcome known."""

    state: ItemState
    reason: str
    count: int
    remedy: str


class CanaryDocument(Document):
    """The step of the canary in progress: its size, and its items by outcome."""

    step: int
    size: int
    sent: int
    waiting: int
    passed: int
    failed_again: int
    unknown: int
    stopped: bool


class ReplaySummary(Document):
    """A replay with its options and its counts.

    - `canary`: null if no step of a canary is in progress. `resuming` then is "", else what resuming would do.
    - `uuid`: the value of the header `dlq.replay.id` of the records that it sends.
    - `watching`: the readers whose outcomes count.
    - `chunks`: the number of committed transactions.
    """

    id: int
    uuid: str
    title: str
    status: ReplayStatus
    target_topic: str
    use_fixes: bool
    resend: bool
    rate: int
    source_cluster: str
    target_cluster: str
    shadow: bool
    keep_timestamps: bool
    order: OrderGuard
    steps: list[int]
    breaker_percent: int | None
    max_lag: int | None
    chunk_records: int
    watch: list[str]
    resolve_groups: bool
    planned_count: int
    approval: ApprovalDocument
    reason: str
    trouble: str
    step: int
    canary: CanaryDocument | None
    resuming: str
    selection: SelectionDocument
    planned_at: Time
    created_by: str | None
    created_at: Time
    started_by: str | None
    started_at: Time | None
    sent_at: Time | None
    done_at: Time | None
    watching: list[str]
    counts: ItemCounts
    reasons: list[ReasonCount]
    sent: int
    edited: int
    chunks: int


class ReplayDocument(ReplaySummary):
    """A replay with its plan. It is null while the plan is made."""

    plan: PlanDocument | None


class ReplaySaid(ReplayDocument):
    """A replay after an action, with the action's message."""

    said: str


class ReplayPage(Document):
    """Replays without their plans, newest first."""

    results: list[ReplaySummary]
    next: str | None


class LogEntry(Document):
    """An entry of a replay's log."""

    at: Time
    actor: str
    kind: str
    text: str


class LogDocument(Document):
    """The log of a replay, newest first."""

    results: list[LogEntry]


class UnfinishedRecords(Document):
    """The numbers of a replay's records that still need work.

    - `failed_again`: they failed again, and nobody has replayed them or set them aside since.
    - `unsent`: they were not sent yet, or were cancelled.
    - `bulk_fix`: the bulk fix that made most of their drafts.
    - `replays`: the replays that continue this one.
    """

    failed_again: int
    unsent: int
    bulk_fix: int | None
    replays: list[int]


class SentAndSettled(Document):
    """The cumulative numbers of sent and settled items at the end of each time bucket."""

    start: Time = msgspec.field(name="from")
    to: Time
    bucket_ms: int
    sent: list[int]
    settled: list[int]


class Canary(NamedTuple):
    """The canary step in progress, if there is one, and what resuming the replay would do, as a sentence."""

    step: CanaryDocument | None = None
    resuming: str = ""


def canary_document(replay: Replay, step: OutcomeTally, left: int, *, is_stopped: bool) -> Canary:
    """Return the canary step in progress, and what resuming the replay would do."""
    document = CanaryDocument(
        step=replay.step,
        size=replay.steps[replay.step],
        sent=step.sent,
        waiting=step.waiting,
        passed=step.passed,
        failed_again=step.failed_again,
        unknown=step.unknown,
        stopped=is_stopped,
    )
    return Canary(document, _resuming(replay, step, left, is_stopped=is_stopped))


def _resuming(replay: Replay, step: OutcomeTally, left: int, *, is_stopped: bool) -> str:
    if not is_stopped:
        rest = max(0, min(left, replay.steps[replay.step] - step.sent))
        return f"sends the {counted(rest, 'record')} still missing in this step" if rest else "waits for its outcomes"
    following = replay.steps[replay.step + 1 :]
    if following:
        return f"goes past this step of the canary, and sends the next {counted(min(left, following[0]), 'record')}"
    return f"goes past the canary, and sends the remaining {counted(left, 'record')}"


def replay_document(
    replay: Replay, cells: Sequence[Cell], chunks: Chunks, canary: Canary, chosen: dict[str, Any]
) -> ReplaySummary:
    """Return a replay with its counts and its selection."""
    states, reasons = Counter[str](), Counter[tuple[str, str]]()
    for state, reason, _, _, count in cells:
        states[state] += count
        if reason:
            reasons[state, reason] += count
    if replay.started_at is not None:  # the sender queues planned items later
        states["queued"] += states.pop("planned", 0)
    # The chunk may have been committed between the two queries.
    on_the_way = min(chunks.sending, states["queued"])
    states["queued"] -= on_the_way
    states["sending"] += on_the_way
    names = ("queued", "sending", "passed", "failed_again", "unknown", "skipped", "planned")
    return ReplaySummary(
        id=replay.pk,
        uuid=str(replay.uuid),
        title=replay.title,
        status=ReplayStatus(replay.status),
        target_topic=replay.target_topic,
        use_fixes=replay.use_fixes,
        resend=replay.resend,
        rate=replay.rate,
        order=OrderGuard(replay.order),
        source_cluster=replay.source_cluster or settings.CLUSTER,
        target_cluster=replay.target_cluster or settings.CLUSTER if options_of(replay).is_abroad else "",
        **{name: getattr(replay, name) for name in CHOSEN},
        planned_count=replay.planned_count,
        approval=approval_document(replay),
        reason=replay.reason,
        trouble=replay.trouble,
        step=replay.step,
        canary=canary.step,
        resuming=canary.resuming,
        selection=selection_document(replay.selection, chosen),
        planned_at=iso(replay.planned_at),
        created_by=username(replay.created_by),
        created_at=iso(replay.created_at),
        started_by=username(replay.started_by),
        started_at=iso_or_none(replay.started_at),
        sent_at=iso_or_none(replay.sent_at),
        done_at=iso_or_none(replay.done_at),
        watching=sorted({watched for state, _, watched, _, _ in cells if watched and state != ItemState.SKIPPED}),
        counts=ItemCounts(total=states.total(), waiting=states["sent"], **{name: states[name] for name in names}),
        reasons=[
            ReasonCount(state=ItemState(state), reason=reason, count=count, remedy=remedy(state, reason))
            for (state, reason), count in sorted(reasons.items())
        ],
        sent=sum(states[state] for state in OUT),
        edited=sum(count for state, _, _, edited, count in cells if edited and state != ItemState.SKIPPED),
        chunks=chunks.committed,
    )
