"""Reads of replays: documents with their counts, pages of items, the log, the chart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db.models import Case, Count, F, IntegerField, Q, QuerySet, Value, When
from django.utils import timezone

from dlqadmin.replays.documents import item_document, replay_document
from dlqadmin.replays.models import Chunk, ChunkState, ItemState, Replay, ReplayItem
from dlqadmin.replays.sending.items import SETTLED
from dlqadmin.rest.pagination import decode_cursor, encode_cursor
from dlqadmin.rest.times import from_ms, iso, parse_time

POINTS = 120
ORDERS = ("attention", "newest", "ordinal")
ATTENTION = Case(
    When(state=ItemState.FAILED_AGAIN, then=0),
    When(state=ItemState.UNKNOWN, then=1),
    When(state=ItemState.SKIPPED, reason="rejected", then=2),
    When(state=ItemState.SENT, then=3),
    default=4,
    output_field=IntegerField(),
)


def find(pk: int) -> Replay | None:
    """The replay with all that its document needs."""
    return _replays().filter(pk=pk).first()


def documents(replays: Sequence[Replay], *, plan: bool = False) -> list[dict[str, Any]]:
    """The replays as the API shows them, counted in two queries."""
    ids = [replay.pk for replay in replays]
    cells: dict[int, list[tuple[str, str, str, bool, int]]] = {pk: [] for pk in ids}
    rows = ReplayItem.objects.filter(replay_id__in=ids).order_by()
    for pk, *cell in rows.values_list("replay_id", "state", "reason", "watched", "edited").annotate(n=Count("pk")):
        cells[pk].append(tuple(cell))
    done = Chunk.objects.filter(replay_id__in=ids, state=ChunkState.COMMITTED).order_by()
    chunks = dict(done.values_list("replay_id").annotate(n=Count("pk")))
    return [replay_document(replay, cells[replay.pk], chunks.get(replay.pk, 0), plan=plan) for replay in replays]


def page(status: str | None, cursor: str | None, limit: int) -> tuple[list[dict[str, Any]], str | None]:
    """Replays without their plans, newest first. Raises ParameterError."""
    rows = _replays().order_by("-pk")
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
    rows = ReplayItem.objects.filter(replay=replay)
    if states:
        rows = rows.filter(state__in=states)
    total = rows.count()
    rows = rows.select_related("dead_letter", "refailure").annotate(
        rank=ATTENTION if order == "attention" else Value(0, output_field=IntegerField())
    )
    rows = _ordered(rows, order, cursor)
    found = list(rows[: limit + 1])
    shown = found[:limit]
    following = _cursor(shown[-1], order) if len(found) > limit else None
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
    rows = ReplayItem.objects.filter(replay=replay).exclude(sent_at=None)
    for sent_at, state, state_at in rows.values_list("sent_at", "state", "state_at").iterator(chunk_size=5000):
        if sent_at is not None:
            sent[_bucket(sent_at, first, bucket)] += 1
        if state in SETTLED:
            settled[_bucket(state_at, first, bucket)] += 1
    length = max(1, -(-(last - first) // bucket))
    return {
        "from": iso(start),
        "to": iso(from_ms(first + length * bucket)),
        "bucket_ms": bucket,
        "sent": _cumulative(sent, length),
        "settled": _cumulative(settled, length),
    }


def _replays() -> QuerySet[Replay]:
    return Replay.objects.select_related("selection__created_by", "created_by", "started_by")


def _ordered(rows: QuerySet[Any], order: str, cursor: str | None) -> QuerySet[Any]:
    """The rows, which carry a `rank`, from the cursor on."""
    if order == "ordinal":
        after = decode_cursor(cursor, int)
        return (rows.filter(ordinal__gt=after[0]) if after else rows).order_by("ordinal")
    place = decode_cursor(cursor, int, str, int)
    if place:
        rank, at, ordinal = place[0], parse_time("cursor", str(place[1]), timezone.now()), place[2]
        later = Q(state_at__lt=at) | Q(state_at=at, ordinal__gt=ordinal)
        rows = rows.filter(Q(("rank__gt", rank)) | Q(("rank", rank)) & later)
    return rows.order_by("rank", F("state_at").desc(), "ordinal")


def _cursor(item: ReplayItem, order: str) -> str:
    if order == "ordinal":
        return encode_cursor([item.ordinal])
    rank: int = getattr(item, "rank", 0)
    return encode_cursor([rank, item.state_at.isoformat(), item.ordinal])


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
