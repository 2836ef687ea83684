"""Queries of replays: documents with counts, pages of items, the log and the chart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import cast
from uuid import UUID

from django.db.models import Count, Q, Sum

from dlqadmin.deadletters.payloads import PayloadReader
from dlqadmin.replays import lookup
from dlqadmin.replays.items import item_counters
from dlqadmin.replays.jobs import paging
from dlqadmin.replays.jobs.documents import (
    Canary,
    Chunks,
    LogEntry,
    ReplayDocument,
    ReplaySummary,
    SentAndSettled,
    canary_document,
    replay_document,
)
from dlqadmin.replays.jobs.item_documents import ItemDocument, item_document
from dlqadmin.replays.models import Chunk, ChunkState, ItemState, Replay, ReplayStatus
from dlqadmin.replays.plans import approvals
from dlqadmin.replays.plans.documents import PlanDocument
from dlqadmin.replays.selections.documents import chosen_by
from dlqadmin.replays.sending import canary
from dlqadmin.replays.sending.pause_rules import Stop, decide
from dlqadmin.rest.documents import extend
from dlqadmin.rest.pagination import newest_page
from dlqadmin.rest.times import from_ms, iso

POINTS = 120
PENDING = ("queued", "sending", "waiting")
ORDERS = paging.ORDERS
WAITS = "waits_for_approval"
STATUSES = (*ReplayStatus.values, WAITS)
SECOND = timedelta(seconds=1)


def documents(replays: Sequence[Replay]) -> list[ReplaySummary]:
    """Return the documents of the replays without their plans. The counts come from the item counters."""
    ids = [replay.pk for replay in replays]
    cells, chunks = item_counters.cells(ids), {pk: Chunks() for pk in ids}
    known = Chunk.objects.filter(replay_id__in=ids, state__in=(ChunkState.OPEN, ChunkState.COMMITTED)).order_by()
    open_ = Sum("records", filter=Q(state=ChunkState.OPEN), default=0)
    done = Count("pk", filter=Q(state=ChunkState.COMMITTED))
    for pk, sending, committed in known.values_list("replay_id").annotate(sending=open_, committed=done):
        chunks[pk] = Chunks(sending, committed)
    chosen = chosen_by(replay.selection_id for replay in replays)
    return [
        replay_document(replay, cells[replay.pk], chunks[replay.pk], _canary(replay), chosen[replay.selection_id])
        for replay in replays
    ]


def document(replay: Replay) -> ReplayDocument:
    """Return the document of one replay with its plan."""
    # As it was stored: the plan of an older version may lack fields.
    plan = cast("PlanDocument | None", replay.plan or None)
    return extend(ReplayDocument, documents([replay])[0], plan=plan)


def _canary(replay: Replay) -> Canary:
    """Return the canary of a replay in a canary step; an empty one for other replays."""
    if replay.status not in (ReplayStatus.RUNNING, ReplayStatus.PAUSED) or replay.step >= len(replay.steps):
        return Canary()
    stands = canary.situation(replay)
    is_paused = replay.status == ReplayStatus.PAUSED
    decision = decide(stands) if is_paused else None
    is_stopped = isinstance(decision, Stop) and decision.is_canary
    return canary_document(replay, stands.step, stands.left, is_stopped=is_stopped)


def page(
    status: str | None, cursor: str | None, limit: int, uuid: UUID | None = None
) -> tuple[list[ReplaySummary], str | None]:
    """Return a page of replays without their plans, newest first. Raises ParameterError."""
    rows = lookup.replays().defer("plan")
    if uuid is not None:
        rows = rows.filter(uuid=uuid)
    if status == WAITS:
        rows = rows.filter(pk__in=[one.replay.pk for one in approvals.waiting()])
    elif status:
        rows = rows.filter(status=status)
    shown, following = newest_page(rows, cursor, limit)
    return documents(shown), following


def items(
    replay: Replay, states: Sequence[str], order: str, cursor: str | None, limit: int, reader: PayloadReader
) -> tuple[list[ItemDocument], str | None, int]:
    """Return a page of items, the next cursor, and the total number. Raises ParameterError."""
    # The sender queues planned items later. They are shown as queued.
    if ItemState.QUEUED in states and replay.started_at is not None:
        states = (*states, ItemState.PLANNED)
    counted = item_counters.states(replay.pk)
    total = sum(counted[state] for state in set(states)) if states else counted.total()
    found = paging.page(replay, states, order, cursor, limit + 1)
    shown = found[:limit]
    following = paging.cursor_of(shown[-1], order) if len(found) > limit else None
    return [item_document(item, reader) for item in shown], following, total


def log(replay: Replay) -> list[LogEntry]:
    """Return the log of the replay, newest first."""
    rows = replay.events.order_by("-pk")[:500]
    return [LogEntry(at=iso(row.at), actor=row.actor, kind=row.kind, text=row.text) for row in rows]


def series(replay: Replay, now: datetime) -> SentAndSettled:
    """Return the cumulative numbers of sent and settled items at the end of each time bucket."""
    start = replay.started_at or replay.planned_at
    end = max(replay.done_at or now, start)
    first, last = int(start.timestamp() * 1000), int(end.timestamp() * 1000) + 1
    # Rounded up, so that there are at most POINTS buckets.
    bucket = max(100, -(-(last - first) // POINTS))
    sent, settled = Counter[int](), Counter[int]()
    for at, went, came in item_counters.seconds(replay.pk):
        # Times are known by the second. In a shorter bucket an event is shown at the end of its second, never too
        # early.
        place = _bucket(min(at + SECOND, end), first, bucket)
        sent[place] += went
        settled[place] += came
    length = max(1, -(-(last - first) // bucket))
    return SentAndSettled(
        start=iso(start),
        to=iso(from_ms(first + length * bucket)),
        bucket_ms=bucket,
        sent=_cumulative(sent, length),
        settled=_cumulative(settled, length),
    )


def _bucket(at: datetime, first: int, bucket: int) -> int:
    return max(0, (int(at.timestamp() * 1000) - first) // bucket)


def _cumulative(counts: Counter[int], length: int) -> list[int]:
    """Return running sums by bucket. Counts after the last bucket are added to it."""
    answer, total = [], 0
    for index in range(length):
        total += counts[index]
        answer.append(total)
    answer[-1] += sum(count for index, count in counts.items() if index >= length)
    return answer


def is_over(document: ReplaySummary) -> bool:
    """Return whether the replay is done or cancelled and no outcome is awaited."""
    is_ended = document.status in (ReplayStatus.DONE, ReplayStatus.CANCELLED)
    return is_ended and not any(getattr(document.counts, name) for name in PENDING)
