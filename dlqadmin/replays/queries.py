"""Reads of replays: documents with their counts, pages of items, the log, the chart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Q, QuerySet, Sum

from dlqadmin.replays import paging
from dlqadmin.replays.documents import Chunks, canary_document, chosen_by, item_document, replay_document
from dlqadmin.replays.models import Chunk, ChunkState, ItemState, Replay, ReplayStatus
from dlqadmin.replays.sending import canary, counters
from dlqadmin.replays.sending.deciding import Stop, decide
from dlqadmin.rest.pagination import decode_cursor, encode_cursor
from dlqadmin.rest.times import from_ms, iso

POINTS = 120
ORDERS = paging.ORDERS
SECOND = timedelta(seconds=1)


def find(pk: int) -> Replay | None:
    """The replay with all that its document needs."""
    return _replays().filter(pk=pk).first()


def documents(replays: Sequence[Replay], *, plan: bool = False) -> list[dict[str, Any]]:
    """The replays as the API shows them, from what is counted as items are moved."""
    ids = [replay.pk for replay in replays]
    cells, chunks = counters.cells(ids), {pk: Chunks() for pk in ids}
    known = Chunk.objects.filter(replay_id__in=ids, state__in=(ChunkState.OPEN, ChunkState.COMMITTED)).order_by()
    open_ = Sum("records", filter=Q(state=ChunkState.OPEN), default=0)
    done = Count("pk", filter=Q(state=ChunkState.COMMITTED))
    for pk, sending, committed in known.values_list("replay_id").annotate(sending=open_, committed=done):
        chunks[pk] = Chunks(sending, committed)
    chosen = chosen_by(replay.selection_id for replay in replays)
    return [
        replay_document(replay, cells[replay.pk], chunks[replay.pk], chosen[replay.selection_id], plan=plan)
        | _canary(replay)
        for replay in replays
    ]


def _canary(replay: Replay) -> dict[str, Any]:
    """What a replay that has begun says of its canary, until it is past it."""
    if replay.status not in (ReplayStatus.RUNNING, ReplayStatus.PAUSED) or replay.step >= len(replay.steps):
        return {}
    stands = canary.situation(replay)
    is_paused = replay.status == ReplayStatus.PAUSED
    decision = decide(stands) if is_paused else None
    is_stopped = isinstance(decision, Stop) and decision.is_canary
    return canary_document(replay, stands.step, stands.left, is_stopped=is_stopped)


def page(status: str | None, cursor: str | None, limit: int) -> tuple[list[dict[str, Any]], str | None]:
    """Replays without their plans, newest first. Raises ParameterError."""
    rows = _replays().defer("plan").order_by("-pk")
    if status:
        rows = rows.filter(status=status)
    if after := decode_cursor(cursor, int):
        rows = rows.filter(pk__lt=after[0])
    found = list(rows[: limit + 1])
    shown = found[:limit]
    return documents(shown), encode_cursor([shown[-1].pk]) if len(found) > limit else None


def items(
    replay: Replay, states: Sequence[str], order: str, cursor: str | None, limit: int
) -> tuple[list[dict[str, Any]], str | None, int]:
    """A page of items, where the next one begins, and how many there are. Raises ParameterError."""
    if ItemState.QUEUED in states and replay.started_at is not None:  # what its sender has not taken up yet
        states = (*states, ItemState.PLANNED)
    counted = counters.states(replay.pk)
    total = sum(counted[state] for state in set(states)) if states else counted.total()
    found = paging.page(replay, states, order, cursor, limit + 1)
    shown = found[:limit]
    following = paging.cursor_of(shown[-1], order) if len(found) > limit else None
    return [item_document(item) for item in shown], following, total


def log(replay: Replay) -> list[dict[str, str]]:
    """What happened to the replay as a whole, newest first."""
    rows = replay.events.order_by("-pk")[:500]
    return [{"at": iso(row.at), "actor": row.actor, "kind": row.kind, "text": row.text} for row in rows]


def series(replay: Replay, now: datetime) -> dict[str, Any]:
    """How many were sent and how many had settled, cumulative, at the end of each bucket."""
    start = replay.started_at or replay.planned_at
    end = max(replay.done_at or now, start)
    first, last = int(start.timestamp() * 1000), int(end.timestamp() * 1000) + 1
    bucket = max(100, -(-(last - first) // POINTS))
    sent, settled = Counter[int](), Counter[int]()
    for at, went, came in counters.seconds(replay.pk):
        # Known by the second: in a shorter bucket it is at the end of it, never before it happened.
        place = _bucket(min(at + SECOND, end), first, bucket)
        sent[place] += went
        settled[place] += came
    length = max(1, -(-(last - first) // bucket))
    return {
        "from": iso(start),
        "to": iso(from_ms(first + length * bucket)),
        "bucket_ms": bucket,
        "sent": _cumulative(sent, length),
        "settled": _cumulative(settled, length),
    }


def _replays() -> QuerySet[Replay]:
    people = ("selection__created_by", "created_by", "started_by", "asked_by", "approved_by")
    return Replay.objects.select_related(*people).defer("selection__filters")


def _bucket(at: datetime, first: int, bucket: int) -> int:
    return max(0, (int(at.timestamp() * 1000) - first) // bucket)


def _cumulative(counts: Counter[int], length: int) -> list[int]:
    """Sums up to each bucket; what lies beyond the last one is counted in it."""
    answer, total = [], 0
    for index in range(length):
        total += counts[index]
        answer.append(total)
    answer[-1] += sum(count for index, count in counts.items() if index >= length)
    return answer
