"""Settling a chunk: after its commit, or, when nobody was left to do that, from what Kafka has of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from dlqadmin.broker import topics
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.replays import items, ledger
from dlqadmin.replays.messages import outgoing
from dlqadmin.replays.models import Chunk, ChunkState, ItemState, Replay, ReplayEvent, ReplayItem
from engine.record.record import RawRecord
from engine.record.replay import ITEM

READABLE_AFTER = timedelta(minutes=2)  # other writers' open transactions hide ours until they end
COORDINATES_LOST = "coordinates_lost"
WAITING = "waiting"
FIELDS = ["sent_partition", "sent_offset", "sent_digest"]
Places = dict[str, tuple[int, int]]  # item's token → partition, offset


def committed(chunk: Chunk, batch: Sequence[ReplayItem], now: datetime) -> bool:
    """The chunk's transaction was committed; its items know their coordinates. False: somebody else settled it."""
    with transaction.atomic():
        if not close(chunk, ChunkState.COMMITTED, now):
            return False
        ReplayItem.objects.bulk_update(batch, FIELDS, batch_size=100)
        items.move(batch, ItemState.SENDING, ItemState.SENT, now, reason=WAITING, sent_at=now)
        Replay.objects.filter(pk=chunk.replay_id).update(progress=chunk.after)
    return True


def settle(replay: Replay) -> None:
    """Settle what an earlier sender left open; its transaction has ended, because ours has fenced it.

    The stand-in group says whether it was committed. Where it says nothing, because its offset is older than
    Kafka keeps those of a group without members, the records themselves are looked for. Raises BrokerUnavailable,
    also while records of a committed chunk can't be read yet.
    """
    for chunk in Chunk.objects.filter(replay=replay, state=ChunkState.OPEN).order_by("first"):
        batch = list(
            ReplayItem.objects.filter(
                replay=replay, ordinal__gte=chunk.first, ordinal__lt=chunk.after, state=ItemState.SENDING
            ).select_related("replay", "dead_letter__body", "payload")
        )
        where = (replay.progress_topic, 0)
        progress = topics.committed(replay.transactional_id, [where]).get(where)
        expired = progress is None and replay.progress > 0
        if not expired and (progress or 0) < chunk.after:
            _aborted(chunk, batch, timezone.now())
            continue
        places = find(chunk, batch)
        if expired and not places:
            _aborted(chunk, batch, timezone.now())
        elif len(places) < len(batch) and timezone.now() - chunk.opened_at < READABLE_AFTER:
            raise BrokerUnavailable(f"{len(batch) - len(places)} records of a committed chunk can't be read yet")
        else:
            _recovered(chunk, batch, places, timezone.now())


def leave_out(replay: Replay, now: datetime) -> int:
    """The items of a cancelled replay that were not sent are skipped, and their claims given up; how many."""
    with transaction.atomic():
        rest = list(replay.items.filter(state__in=(ItemState.PLANNED, ItemState.QUEUED)))
        ledger.release(rest)
        queued = [item for item in rest if item.state == ItemState.QUEUED]
        planned = [item for item in rest if item.state == ItemState.PLANNED]
        return sum(
            items.move(part, state, ItemState.SKIPPED, now, reason="cancelled")
            for part, state in ((queued, ItemState.QUEUED), (planned, ItemState.PLANNED))
        )


def find(chunk: Chunk, batch: Sequence[ReplayItem]) -> Places:
    """Where the chunk's items are, read from the ends that were written down before it began."""
    wanted = {item.token for item in batch}
    found: Places = {}
    there = topics.cluster().topics
    for topic, ends in chunk.ends.items():
        if topic not in there:
            continue
        for partition, end in ends.items():
            for record in topics.read_to_end(topic, int(partition), end, whole=True):
                if (token := token_of(record)) in wanted:
                    found[token] = (record.partition, record.offset)
            if len(found) == len(wanted):
                return found
    return found


def token_of(record: RawRecord) -> str:
    """The item that a record says it is; empty for a record that was not replayed."""
    values = [value for name, value in record.headers if name == ITEM and value]
    return values[-1].decode("utf-8", "replace") if values else ""


def _recovered(chunk: Chunk, batch: Sequence[ReplayItem], places: Places, now: datetime) -> None:
    known = [item for item in batch if item.token in places]
    for item in known:
        item.sent_partition, item.sent_offset = places[item.token]
        item.sent_digest = outgoing(item).digest
    lost = [item for item in batch if item.token not in places]
    with transaction.atomic():
        if not committed(chunk, known, now):
            return
        evidence = "its chunk was committed, but the record was not found in the topic again"
        items.move(
            lost, ItemState.SENDING, ItemState.UNKNOWN, now, reason=COORDINATES_LOST, evidence=evidence, sent_at=now
        )
        _note(chunk, f"went on after an interruption: {len(batch)} records were sent already", now)


def _aborted(chunk: Chunk, batch: Sequence[ReplayItem], now: datetime) -> None:
    with transaction.atomic():
        if close(chunk, ChunkState.ABORTED, now):
            items.move(batch, ItemState.SENDING, ItemState.QUEUED, now)
            _note(chunk, f"went on after an interruption: {len(batch)} records were not sent, and are sent again", now)


def close(chunk: Chunk, state: ChunkState, now: datetime) -> bool:
    """Say how the chunk ended; False if somebody has."""
    return Chunk.objects.filter(pk=chunk.pk, state=ChunkState.OPEN).update(state=state, closed_at=now) == 1


def _note(chunk: Chunk, text: str, now: datetime) -> None:
    ReplayEvent.objects.create(replay_id=chunk.replay_id, at=now, actor="dlqadmin", kind="recovered", text=text)
