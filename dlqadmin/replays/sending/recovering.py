"""Settling a chunk: after its commit, or, when nobody was left to do that, from what Kafka has of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from dlqadmin.broker import topics
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.replays import events
from dlqadmin.replays.models import Chunk, ChunkState, ItemState, Replay, ReplayItem
from dlqadmin.replays.reasons import Reason
from dlqadmin.replays.sending import items, ledger
from dlqadmin.replays.sending.messages import outgoing
from engine.record.record import RawRecord
from engine.record.replay import ITEM

READABLE_S = 5.0
LOOK_S = 0.1
FIND_TIMEOUT_S = 600.0  # for one partition; a busy one has much behind the chunk
FIELDS = ["sent_partition", "sent_offset", "sent_digest"]
Places = dict[str, tuple[int, int]]  # item's token → partition, offset
Beat = Callable[[], None]


def committed(chunk: Chunk, batch: Sequence[ReplayItem], sent_at: datetime, now: datetime) -> bool:
    """The chunk's transaction was committed; its items know their coordinates. False: somebody else settled it."""
    with transaction.atomic():
        if not close(chunk, ChunkState.COMMITTED, now):
            return False
        ReplayItem.objects.bulk_update(batch, FIELDS, batch_size=100)
        items.move(batch, ItemState.SENDING, ItemState.SENT, now, reason=Reason.WAITING, sent_at=sent_at)
        Replay.objects.filter(pk=chunk.replay_id).update(progress=chunk.after, trouble="")
    return True


def left_open(replay: Replay) -> list[Chunk]:
    """The chunks of earlier senders that nobody settled. Ask before fencing: a later one is a living successor's."""
    rows = Chunk.objects.filter(replay=replay, state=ChunkState.OPEN).select_related("replay")
    return list(rows.order_by("first"))


def settle(chunks: Sequence[Chunk], beat: Beat, wait: Callable[[float], None] = time.sleep) -> None:
    """Settle what `left_open` found, after fencing: these transactions have ended, one way or the other.

    The stand-in group says whether a chunk was committed. Where it says nothing (nothing was committed yet, or
    its offset is older than Kafka keeps those of a group without members) the records are looked for. `beat` is
    called at least every second. Raises BrokerUnavailable, also while records can't be read yet.
    """
    for chunk in chunks:
        batch = list(
            ReplayItem.objects.filter(
                replay=chunk.replay, ordinal__gte=chunk.first, ordinal__lt=chunk.after, state=ItemState.SENDING
            ).select_related("replay", "dead_letter__body", "payload")
        )
        progress = progress_of(chunk.replay)
        if progress is not None and progress < chunk.after:
            _aborted(chunk, batch, timezone.now())
            continue
        _await_readable(chunk, beat, wait)
        places = find(chunk, batch, beat)
        if progress is None and not places:
            _aborted(chunk, batch, timezone.now())
        else:
            _recovered(chunk, batch, places, timezone.now())


def catch_up(replay: Replay) -> int:
    """Items that Kafka's progress has passed and the database calls queued: it lost writes, or was restored.

    They were sent; where, is not known. How many they are. Call it after `settle`.
    """
    progress = progress_of(replay)
    behind = replay.items.filter(state=ItemState.QUEUED, ordinal__lt=progress or 0)
    lost = list(behind)
    evidence = "Kafka's progress is past it, but the database had forgotten that it was sent"
    now = timezone.now()
    return items.move(
        lost, ItemState.QUEUED, ItemState.UNKNOWN, now, reason=Reason.COORDINATES_LOST, evidence=evidence, sent_at=now
    )


def progress_of(replay: Replay) -> int | None:
    """The ordinal that the last committed transaction says comes next; None where the stand-in group says nothing."""
    where = (replay.progress_topic, 0)
    return topics.committed(replay.transactional_id, [where]).get(where)


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


def find(chunk: Chunk, batch: Sequence[ReplayItem], beat: Beat) -> Places:
    """Where the chunk's items are, read from the ends that were written down before it began, until all are found."""
    wanted = {item.token for item in batch}
    known = topics.cluster().topics
    found: Places = {}
    for topic, ends in chunk.ends.items():
        for partition, end in ends.items():
            if topic not in known or len(found) == len(wanted):
                continue
            for record in topics.read_to_end(topic, int(partition), end, FIND_TIMEOUT_S, whole=True):
                beat()
                if (token := token_of(record)) in wanted:
                    found[token] = (record.partition, record.offset)
                    if len(found) == len(wanted):
                        break
    return found


def _await_readable(chunk: Chunk, beat: Beat, wait: Callable[[float], None]) -> None:
    """Return when a read_committed reader sees all that is there now: others' open transactions hide ours too."""
    known = topics.cluster().topics
    wanted = [(topic, int(partition)) for topic, ends in chunk.ends.items() if topic in known for partition in ends]
    there = topics.ends(wanted, committed=False)
    until = time.monotonic() + READABLE_S
    while True:
        readable = topics.ends(wanted)
        hidden = sum(readable.get(where, 0) < end for where, end in there.items())
        if not hidden:
            return
        if time.monotonic() > until:
            raise BrokerUnavailable(f"open transactions of other writers hide the end of {hidden} partitions")
        beat()
        wait(LOOK_S)


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
    evidence = "its chunk was committed, but the record was not found in the topic again"
    with transaction.atomic():
        if not committed(chunk, known, chunk.opened_at, now):
            return
        items.move(
            lost, ItemState.SENDING, ItemState.UNKNOWN, now,
            reason=Reason.COORDINATES_LOST, evidence=evidence, sent_at=chunk.opened_at,
        )  # fmt: skip
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
    events.note(chunk.replay_id, "recovered", text, now)
