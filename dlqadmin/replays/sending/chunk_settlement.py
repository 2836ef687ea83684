"""Settlement of chunks, after their commit or after the sender died.

If the sender died, the state of the chunk in Kafka decides.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from dlqadmin.broker import topics
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.replays import events
from dlqadmin.replays.items import item_states
from dlqadmin.replays.items.item_rows import Loaded, load, token
from dlqadmin.replays.items.watched_clusters import unwatched, watches
from dlqadmin.replays.models import Chunk, ChunkState, ItemState, Replay, ReplayItem, ReplayStatus
from dlqadmin.replays.reasons import Reason
from dlqadmin.replays.sending import queueing
from engine.record.record import RawRecord
from engine.record.replay import ITEM

READABLE_S = 5.0
LOOK_S = 0.1
FIND_TIMEOUT_S = 600.0  # for one partition; a busy partition holds many records after the chunk
SURELY_KEPT = timedelta(hours=1)  # Kafka expires committed offsets after days (seven by default)
SHADOW = "shadow"
NOT_FOUND = "its chunk was committed, but the record was not found in the topic"
NOT_KNOWN = "Kafka no longer has the sender's progress or the topic's records of that time: it may have been sent"
Places = dict[str, tuple[int, int]]  # item's token → partition, offset
Beat = Callable[[], None]


def committed(chunk: Chunk, batch: Sequence[Loaded], now: datetime) -> bool:
    """Store that the chunk's transaction was committed, with the coordinates of its items.

    Return False if another sender has settled the chunk.

    The database commit is asynchronous. If the database crashes and loses it, the chunk is still open and is settled
    again.
    """
    with transaction.atomic():
        item_states.without_waiting_for_the_disk()
        if not close(chunk, ChunkState.COMMITTED, now):
            return False
        item_states.sent(chunk.replay_id, batch, now, becomes(chunk.replay))
        rows = Replay.objects.filter(pk=chunk.replay_id)
        rows.update(progress=chunk.after)
        rows.filter(status=ReplayStatus.RUNNING).update(trouble="")  # a paused replay keeps its reason
    return True


def becomes(replay: Replay) -> item_states.SentState:
    """Return the state of this replay's records right after they were sent.

    Outcomes of shadow topics, and on clusters that are not indexed, are not watched: these records become unknown at
    once.
    """
    if replay.shadow:
        return item_states.SentState(
            ItemState.UNKNOWN, SHADOW, "sent to a shadow topic, where outcomes are not watched"
        )
    if not watches(replay.target_cluster):
        evidence = unwatched(replay.target_cluster)
        return item_states.SentState(ItemState.UNKNOWN, Reason.CLUSTER_UNWATCHED, evidence)
    return item_states.SentState()


def left_open(replay: Replay) -> list[Chunk]:
    """Return the open chunks of earlier senders.

    Call this before fencing: a chunk that appears later belongs to a living successor.
    """
    rows = Chunk.objects.filter(replay=replay, state=ChunkState.OPEN).select_related("replay")
    return list(rows.order_by("first"))


def settle(chunks: Sequence[Chunk], beat: Beat, wait: Callable[[float], None] = time.sleep) -> None:
    """Settle the chunks that `left_open` returned. Call it after fencing.

    Fencing has ended their transactions, by commit or by abort. The stand-in group's offset tells whether a chunk was
    committed. The group can have no offset: nothing was committed yet, or Kafka has expired the offset because the
    group has no members. Then the records are searched for in their topics. If the topics may have lost them too, the
    outcome is unknown.

    `beat` is called at least every second.

    Raises BrokerUnavailable, also while open transactions of other writers hide records.
    """
    for chunk in chunks:
        batch = load(
            chunk.replay,
            ReplayItem.objects.filter(
                replay=chunk.replay,
                ordinal__gte=chunk.first,
                ordinal__lt=chunk.after,
                state__in=item_states.ON_THEIR_WAY,
            ),
        )
        progress = progress_of(chunk.replay)
        # The progress is part of the transaction, so the transaction was aborted.
        if progress is not None and progress < chunk.after:
            _aborted(chunk, batch, timezone.now())
            continue
        # Committed, or not known. The records tell, once read_committed consumers can see them all.
        _await_readable(chunk, beat, wait)
        places = find(chunk, batch, beat)
        if progress is not None or places:
            _recovered(chunk, batch, places, NOT_FOUND, timezone.now())
        elif _would_be_there(chunk, timezone.now()):
            _aborted(chunk, batch, timezone.now())
        else:
            _recovered(chunk, batch, {}, NOT_KNOWN, timezone.now())


def catch_up(replay: Replay) -> int:
    """Correct queued items that Kafka's progress has already passed. Return their number.

    This happens when the database lost writes or was restored from a backup. The records were sent, but their
    coordinates are not known. Call it after `settle`.
    """
    passed = range(progress_of(replay) or 0)
    unsent = replay.items.filter(ordinal__lt=passed.stop)
    if not unsent.filter(state__in=(ItemState.PLANNED, ItemState.QUEUED)).exists():
        return 0
    now, why = timezone.now(), Reason.COORDINATES_LOST
    evidence = "Kafka's progress shows that it was sent, but the database had lost this fact"
    with transaction.atomic():
        item_states.hold(replay.pk)
        # Even if the replay was cancelled since: the items were sent, so they hold their claims.
        queueing.take(replay, now, passed)
        lost = list(unsent.filter(state=ItemState.QUEUED).values_list("pk", flat=True))
        return item_states.move(
            lost, ItemState.QUEUED, ItemState.UNKNOWN, now, reason=why, evidence=evidence, sent_at=now
        )


def progress_of(replay: Replay) -> int | None:
    """Return the ordinal after the last committed chunk, from the stand-in group's offset.

    None if the group has no offset.
    """
    where = (replay.progress_topic, 0)
    return topics.committed(replay.transactional_id, [where]).get(where)


def find(chunk: Chunk, batch: Sequence[Loaded], beat: Beat) -> Places:
    """Return the coordinates of the chunk's items, found by reading the target partitions.

    Reading starts at the end offsets that were stored before the chunk was written. It stops once all items are found.
    """
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
    """Return whether Kafka would still hold a trace of the chunk, if it had been committed.

    The trace is its progress, or its records in each of its topics.
    """
    if now - chunk.opened_at < SURELY_KEPT:
        return True
    ends = {(topic, int(number)): end for topic, own in chunk.ends.items() for number, end in own.items()}
    options = topics.configs(list(chunk.ends))
    # Compaction may have deleted the chunk's records.
    if any("compact" in options.get(topic, {}).get("cleanup.policy", "compact") for topic in chunk.ends):
        return False
    begins = topics.begins([where for where in ends if where[0] in options])
    # Retention has deleted records of the chunk if a partition now begins after the stored end.
    return all(where in begins and begins[where] <= end for where, end in ends.items())


def _await_readable(chunk: Chunk, beat: Beat, wait: Callable[[float], None]) -> None:
    """Wait until a read_committed consumer can read everything written up to now.

    Open transactions of other writers can hide our records too. Raises BrokerUnavailable after READABLE_S.
    """
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
            raise BrokerUnavailable(f"open transactions of other producers hide the end of {hidden} partitions")
        beat()
        wait(LOOK_S)


def token_of(record: RawRecord) -> str:
    """Return the item token in the record's headers, or "" if the record was not replayed."""
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
        item_states.move(
            ReplayItem.objects.filter(pk__in=lost), item_states.ON_THEIR_WAY, ItemState.UNKNOWN, now,
            reason=Reason.COORDINATES_LOST, evidence=why_lost, sent_at=chunk.opened_at,
        )  # fmt: skip
        may_be = "may have been" if why_lost == NOT_KNOWN else "were"
        _note(chunk, f"resumed after an interruption: {len(batch)} records {may_be} already sent", now)


def _aborted(chunk: Chunk, batch: Sequence[Loaded], now: datetime) -> None:
    with transaction.atomic():
        if close(chunk, ChunkState.ABORTED, now):
            sending = [item.pk for item in batch if item.state == ItemState.SENDING]  # older versions set this state
            item_states.move(ReplayItem.objects.filter(pk__in=sending), ItemState.SENDING, ItemState.QUEUED, now)
            _note(
                chunk, f"resumed after an interruption: {len(batch)} records were not sent, and will be sent again", now
            )


def close(chunk: Chunk, state: ChunkState, now: datetime) -> bool:
    """Store how the chunk ended, in the caller's transaction.

    Return False if it was already closed.
    """
    item_states.hold(chunk.replay_id)
    return Chunk.objects.filter(pk=chunk.pk, state=ChunkState.OPEN).update(state=state, closed_at=now) == 1


def _note(chunk: Chunk, text: str, now: datetime) -> None:
    events.note(chunk.replay_id, "recovered", text, now)
