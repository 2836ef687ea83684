"""Sending: a replay's queued items, chunk by chunk, each chunk one Kafka transaction that also holds the progress.

What is written before the act: the chunk with the ends of its target partitions, and its items as `sending`.
After it: their coordinates. Whatever ends a slice in between, the next one settles the open chunk first.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from dlqadmin.broker import topics
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.broker.producing import ChunkProducer, Fenced, Hopeless, Outbound, Progress, Refused
from dlqadmin.replays import items, ledger, recovering
from dlqadmin.replays.messages import outgoing, stamped
from dlqadmin.replays.models import Chunk, ChunkState, ItemState, Replay, ReplayEvent, ReplayItem, ReplayStatus

SLICE_S = 5.0
MOST_RECORDS = 500  # an open transaction holds back every read_committed reader
MOST_BYTES = 4 * 1024 * 1024
FETCHED = 50  # rows with their bytes in memory beyond what a chunk may weigh
CHUNK_S = 0.2
LOOK_S = 0.1  # how often a waiting sender looks whether it is to go on
BEAT_S = 1.0
STALE = timedelta(seconds=10)  # a heartbeat older than this belongs to a sender that is gone
ACTOR = "dlqadmin"

log = logging.getLogger(__name__)


def send_slice(pk: int, sender: str, budget_s: float = SLICE_S) -> bool:
    """Send what `budget_s` allows of the replay; is there more to do now?

    `sender` names the caller: one of them holds the replay at a time, the others get False. Trouble that may
    pass ends the slice; what will not pass by itself pauses the replay and says why.
    """
    replay = _claim(pk, sender)
    if replay is None:
        return False
    try:
        with ChunkProducer(replay.transactional_id) as producer:
            producer.fence()
            recovering.settle(replay)
            more = Slice(replay, producer, sender).run(time.monotonic() + budget_s)
            if Replay.objects.filter(pk=pk, status=ReplayStatus.CANCELLED).exists():
                recovering.leave_out(replay, timezone.now())
            return more
    except BrokerUnavailable as error:
        log.warning("%s waits: %s", replay, error)
        return False
    except Fenced:
        log.info("%s is sent by another sender", replay)
        return False
    except Hopeless as error:
        pause(replay, f"Kafka refused to go on: {error}", timezone.now())
        return False
    finally:
        Replay.objects.filter(pk=pk, sender=sender).update(sender="")


def unsettled(replays: QuerySet[Replay]) -> QuerySet[Replay]:
    """Those with something to send, or with a chunk that nobody settled before they were paused or cancelled."""
    left_open = Exists(Chunk.objects.filter(replay=OuterRef("pk"), state=ChunkState.OPEN))
    return replays.filter(Q(status=ReplayStatus.RUNNING) | Q(left_open))


def pause(replay: Replay, trouble: str, now: datetime) -> None:
    """Pause by itself, and say why."""
    with transaction.atomic():
        if Replay.objects.filter(pk=replay.pk, status=ReplayStatus.RUNNING).update(
            status=ReplayStatus.PAUSED, trouble=trouble
        ):
            ReplayEvent.objects.create(replay=replay, at=now, actor=ACTOR, kind="paused", text=f"paused: {trouble}")


class Slice:
    """One sender's turn with a replay that it holds."""

    def __init__(self, replay: Replay, producer: ChunkProducer, sender: str) -> None:
        self.replay = replay
        self.producer = producer
        self.sender = sender
        self.one_by_one_until = 0  # ordinal: a refused record is somewhere before it

    def run(self, until: float, wait: Callable[[float], None] = time.sleep) -> bool:
        """Chunk after chunk until the time is over; True if there is more to do."""
        while time.monotonic() < until:
            began = time.monotonic()
            rate = self._rate()
            if rate is None:
                return False
            batch = self._next(rate)
            if not batch:
                return not self._finish(timezone.now())
            chunk = self._open(batch)
            if chunk is None:
                return False
            self._send(chunk, batch)
            if not self._rest(began, len(batch), wait):
                return False
        return True

    def _send(self, chunk: Chunk, batch: Sequence[ReplayItem]) -> None:
        replay = self.replay
        messages = [outgoing(item) for item in batch]
        records = [
            Outbound(
                item.target_topic,
                item.target_partition,
                message.key,
                message.value,
                stamped(message.headers, str(replay.uuid), f"{replay.uuid}/{item.ordinal}", item.attempt),
            )
            for item, message in zip(batch, messages, strict=True)
        ]
        try:
            written = self.producer.write(
                records, Progress(replay.transactional_id, replay.progress_topic, chunk.after)
            )
        except Refused as refused:
            self._refused(chunk, batch, refused.records)
            return
        for item, message, where in zip(batch, messages, written, strict=True):
            item.sent_partition, item.sent_offset, item.sent_digest = where.partition, where.offset, message.digest
        recovering.committed(chunk, batch, timezone.now())

    def _refused(self, chunk: Chunk, batch: Sequence[ReplayItem], why: dict[int, str]) -> None:
        """The chunk was aborted. A refused record takes its whole batch with it, so look at each alone."""
        now = timezone.now()
        with transaction.atomic():
            if not recovering.close(chunk, ChunkState.ABORTED, now):
                return  # a later sender was faster
            if len(batch) == 1:
                items.move(batch, ItemState.SENDING, ItemState.SKIPPED, now, reason="rejected", evidence=why[0])
                ledger.release(batch)
            else:
                items.move(batch, ItemState.SENDING, ItemState.QUEUED, now)
                self.one_by_one_until = chunk.after

    def _rate(self) -> int | None:
        """Records a second, if this sender still may go on."""
        return self._held().values_list("rate", flat=True).first()

    def _next(self, rate: int) -> list[ReplayItem]:
        limit = MOST_RECORDS if rate == 0 else min(MOST_RECORDS, max(1, int(rate * CHUNK_S)))
        queued = (
            ReplayItem.objects.filter(replay=self.replay, state=ItemState.QUEUED)
            .select_related("dead_letter__body", "payload")
            .order_by("ordinal")
        )
        batch: list[ReplayItem] = []
        size = 0
        for item in queued[:limit].iterator(chunk_size=FETCHED):
            size += (item.dead_letter.value_size or 0) + (item.dead_letter.key_size or 0)
            if batch and (size > MOST_BYTES or item.ordinal < self.one_by_one_until):
                break
            batch.append(item)
        return batch

    def _open(self, batch: Sequence[ReplayItem]) -> Chunk | None:
        """Write down what is about to be done; None if somebody said otherwise meanwhile."""
        replay, now = self.replay, timezone.now()
        known = topics.cluster().topics
        names = sorted({item.target_topic for item in batch})
        wanted = [(name, number) for name in names for number in range(known.get(name, 0))]
        ends = topics.ends(wanted)
        ids = {**topics.topic_ids([name for name in names if name not in replay.topic_ids]), **replay.topic_ids}
        missing = [name for name in names if name not in known]
        if missing:
            raise Hopeless(f"there is no topic {missing[0]}")
        if len(ends) < len(wanted):
            raise BrokerUnavailable(f"{len(wanted) - len(ends)} of {len(wanted)} target partitions have no leader")
        replay.progress_topic, replay.topic_ids = replay.progress_topic or names[0], ids
        with transaction.atomic():
            if not self._held().update(heartbeat=now, progress_topic=replay.progress_topic, topic_ids=ids):
                return None
            chunk = Chunk.objects.create(
                replay=replay, first=batch[0].ordinal, after=batch[-1].ordinal + 1, ends=_named(ends), opened_at=now
            )
            if items.move(batch, ItemState.QUEUED, ItemState.SENDING, now) != len(batch):
                transaction.set_rollback(True)  # somebody cancelled in this very moment
                return None
        return chunk

    def _rest(self, began: float, count: int, wait: Callable[[float], None]) -> bool:
        """Wait as long as the rate asks for; False if the replay is not to go on."""
        beat = began
        while True:
            rate = self._rate()
            if rate is None:
                return False
            now = time.monotonic()
            left = 0.0 if rate == 0 else began + count / rate - now
            if left <= 0:
                return True
            if now - beat > BEAT_S:
                self._held().update(heartbeat=timezone.now())
                beat = now
            wait(min(left, LOOK_S))

    def _finish(self, now: datetime) -> bool:
        """Nothing is queued: from here on outcomes are awaited."""
        with transaction.atomic():
            busy = self.replay.items.filter(state__in=(ItemState.QUEUED, ItemState.SENDING)).exists()
            if busy or not self._held().update(status=ReplayStatus.WATCHING, sent_at=now):
                return not busy
            sent = self.replay.items.filter(sent_at__isnull=False).count()
            text = "1 record was sent" if sent == 1 else f"{sent} records were sent"
            ReplayEvent.objects.create(replay=self.replay, at=now, actor=ACTOR, kind="sent", text=text)
        return True

    def _held(self) -> QuerySet[Replay]:
        return Replay.objects.filter(pk=self.replay.pk, sender=self.sender, status=ReplayStatus.RUNNING)


def _claim(pk: int, sender: str) -> Replay | None:
    """Hold the replay, unless somebody who is alive does."""
    now = timezone.now()
    free = Q(sender="") | Q(sender=sender) | Q(heartbeat__isnull=True) | Q(heartbeat__lt=now - STALE)
    claimed = unsettled(Replay.objects.filter(free, pk=pk)).update(sender=sender, heartbeat=now)
    return Replay.objects.get(pk=pk) if claimed else None


def _named(ends: Mapping[tuple[str, int], int]) -> dict[str, dict[str, int]]:
    """Ends as a chunk keeps them."""
    named: dict[str, dict[str, int]] = {}
    for (topic, partition), end in ends.items():
        named.setdefault(topic, {})[str(partition)] = end
    return named
