"""Settling a chunk: after its commit, or, when nobody was left to do that, from what Kafka has of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from dlqadmin.broker import topics
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.replays import events
from dlqadmin.replays.models import Chunk, ChunkState, ItemState, Replay, ReplayItem, ReplayStatus
from dlqadmin.replays.reasons import Reason
from dlqadmin.replays.sending import items, taking
from dlqadmin.replays.sending.loading import Loaded, load, token
from engine.record.record import RawRecord
from engine.record.replay import ITEM

READABLE_S = 5.0
LOOK_S = 0.1
FIND_TIMEOUT_S = 600.0  # for one partition; a busy one has much behind the chunk
SURELY_KEPT = timedelta(hours=1)  # Kafka forgets a progress after days: seven, unless it is told otherwise
SHADOW = "shadow"
NOT_FOUND = "its chunk was committed, but the record was not found in the topic again"
NOT_KNOWN = "Kafka has forgotten its sender's progress, and the topic what it held then: it may have been sent"
Places = dict[str, tuple[int, int]]  # item's token → partition, offset
Beat = Callable[[], None]


def committed(chunk: Chunk, batch: Sequence[Loaded], now: datetime) -> bool:
    """The chunk's transaction was committed; its items know their places. False: somebody else settled it.

    Nobody waits for the disk: what a database that crashes loses of it is settled again, as of a chunk left open.
    """
    with transaction.atomic():
        items.without_waiting_for_the_disk()
        if not close(chunk, ChunkState.COMMITTED, now):
            return False
        items.sent(chunk.replay_id, batch, now, becomes(chunk.replay))
        rows = Replay.objects.filter(pk=chunk.replay_id)
        rows.update(progress=chunk.after)
        rows.filter(status=ReplayStatus.RUNNING).update(trouble="")  # one that paused keeps its reason
    return True


def becomes(replay: Replay) -> items.Sent:
    """What a record of the replay is once it was sent; nothing is awaited where nobody is watched."""
    if replay.shadow:
        return items.Sent(ItemState.UNKNOWN, SHADOW, "sent to a shadow topic; what becomes of it is not watched")
    if replay.target_cluster:
        evidence = f"sent to cluster {replay.target_cluster}, where no consumer group is watched"
        return items.Sent(ItemState.UNKNOWN, Reason.NO_GROUP, evidence)
    return items.Sent()


def left_open(replay: Replay) -> list[Chunk]:
    """The chunks of earlier senders that nobody settled. Ask before fencing: a later one is a living successor's."""
    rows = Chunk.objects.filter(replay=replay, state=ChunkState.OPEN).select_related("replay")
    return list(rows.order_by("first"))


def settle(chunks: Sequence[Chunk], beat: Beat, wait: Callable[[float], None] = time.sleep) -> None:
    """Settle what `left_open` found, after fencing: these transactions have ended, one way or the other.

    The stand-in group says whether a chunk was committed. Where it says nothing (nothing was committed yet, or
    its offset is older than Kafka keeps those of a group without members) the records are looked for; where the
    topic may no longer keep them either, what became of them is unknown. `beat` is called at least every second.
    Raises BrokerUnavailable, also while records can't be read yet.
    """
    for chunk in chunks:
        batch = load(
            ReplayItem.objects.filter(
                replay=chunk.replay, ordinal__gte=chunk.first, ordinal__lt=chunk.after, state__in=items.ON_THEIR_WAY
            )
        )
        progress = progress_of(chunk.replay)
        if progress is not None and progress < chunk.after:
            _aborted(chunk, batch, timezone.now())
            continue
        _await_readable(chunk, beat, wait)
        places = find(chunk, batch, beat)
        if progress is not None or places:
            _recovered(chunk, batch, places, NOT_FOUND, timezone.now())
        elif _would_be_there(chunk, timezone.now()):
            _aborted(chunk, batch, timezone.now())
        else:
            _recovered(chunk, batch, {}, NOT_KNOWN, timezone.now())


def catch_up(replay: Replay) -> int:
    """Items that Kafka's progress has passed and the database calls queued: it lost writes, or was restored.

    They were sent; where, is not known. How many they are. Call it after `settle`.
    """
    passed = range(progress_of(replay) or 0)
    unsent = replay.items.filter(ordinal__lt=passed.stop)
    if not unsent.filter(state__in=(ItemState.PLANNED, ItemState.QUEUED)).exists():
        return 0
    now, why = timezone.now(), Reason.COORDINATES_LOST
    evidence = "Kafka's progress is past it, but the database had forgotten that it was sent"
    with transaction.atomic():
        items.hold(replay.pk)
        taking.take(replay, now, passed)  # whatever became of the replay since: it went out, and holds its claim
        lost = list(unsent.filter(state=ItemState.QUEUED).values_list("pk", flat=True))
        return items.move(lost, ItemState.QUEUED, ItemState.UNKNOWN, now, reason=why, evidence=evidence, sent_at=now)


def progress_of(replay: Replay) -> int | None:
    """The ordinal that the last committed transaction says comes next; None where the stand-in group says nothing."""
    where = (replay.progress_topic, 0)
    return topics.committed(replay.transactional_id, [where]).get(where)


def find(chunk: Chunk, batch: Sequence[Loaded], beat: Beat) -> Places:
    """Where the chunk's items are, read from the ends that were written down before it began, until all are found."""
    wanted = {token(chunk.replay, item.ordinal) for item in batch}
    known = topics.cluster().topics
    found: Places = {}
    for topic, ends in chunk.ends.items():
        for partition, end in ends.items():
            if topic not in known or len(found) == len(wanted):
                continue
            for record in topics.read_to_end(topic, int(partition), end, FIND_TIMEOUT_S, whole=True):
                beat()
                if (named := token_of(record)) in wanted:
                    found[named] = (record.partition, record.offset)
                    if len(found) == len(wanted):
                        break
    return found


def _would_be_there(chunk: Chunk, now: datetime) -> bool:
    """Would a trace of the chunk be found, had it been committed: its progress, or its records in every topic?"""
    if now - chunk.opened_at < SURELY_KEPT:
        return True
    ends = {(topic, int(number)): end for topic, own in chunk.ends.items() for number, end in own.items()}
    options = topics.configs(list(chunk.ends))
    if any("compact" in options.get(topic, {}).get("cleanup.policy", "compact") for topic in chunk.ends):
        return False
    begins = topics.begins([where for where in ends if where[0] in options])
    return all(where in begins and begins[where] <= end for where, end in ends.items())


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


def _recovered(chunk: Chunk, batch: Sequence[Loaded], places: Places, why_lost: str, now: datetime) -> None:
    known, lost = [], []
    for item in batch:
        where = places.get(token(chunk.replay, item.ordinal))
        if where is None:
            lost.append(item.pk)
            continue
        item.sent_partition, item.sent_offset = where
        item.sent_at, item.sent_digest = chunk.opened_at, item.message().digest
        known.append(item)
    with transaction.atomic():
        if not committed(chunk, known, now):
            return
        items.move(
            ReplayItem.objects.filter(pk__in=lost), items.ON_THEIR_WAY, ItemState.UNKNOWN, now,
            reason=Reason.COORDINATES_LOST, evidence=why_lost, sent_at=chunk.opened_at,
        )  # fmt: skip
        may_be = "may have been" if why_lost == NOT_KNOWN else "were"
        _note(chunk, f"went on after an interruption: {len(batch)} records {may_be} sent already", now)


def _aborted(chunk: Chunk, batch: Sequence[Loaded], now: datetime) -> None:
    with transaction.atomic():
        if close(chunk, ChunkState.ABORTED, now):
            sending = [item.pk for item in batch if item.state == ItemState.SENDING]  # as older versions called them
            items.move(ReplayItem.objects.filter(pk__in=sending), ItemState.SENDING, ItemState.QUEUED, now)
            _note(chunk, f"went on after an interruption: {len(batch)} records were not sent, and are sent again", now)


def close(chunk: Chunk, state: ChunkState, now: datetime) -> bool:
    """Say how the chunk ended, inside the caller's transaction; False if somebody has."""
    items.hold(chunk.replay_id)
    return Chunk.objects.filter(pk=chunk.pk, state=ChunkState.OPEN).update(state=state, closed_at=now) == 1


def _note(chunk: Chunk, text: str, now: datetime) -> None:
    events.note(chunk.replay_id, "recovered", text, now)
