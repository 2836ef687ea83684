"""Sending: a replay's queued items, chunk by chunk, each chunk one Kafka transaction that also holds the progress.

What is written before the act: the chunk with the ends of its target partitions, and its items as `sending`.
After it: their coordinates. Whatever ends a slice in between, the next one settles the open chunk first.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.db import DatabaseError, transaction
from django.db.models import Exists, Max, OuterRef, Q, QuerySet
from django.db.models.functions import Length
from django.utils import timezone

from dlqadmin.broker import topics
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.broker.producing import ChunkProducer, Fenced, Hopeless, Outbound, Progress, Refused
from dlqadmin.replays import events
from dlqadmin.replays.models import Chunk, ChunkState, ItemState, Replay, ReplayItem, ReplayStatus
from dlqadmin.replays.sending import items, ledger, recovering
from dlqadmin.replays.sending.forbidden import forbidden
from dlqadmin.replays.sending.messages import Outgoing, Unsendable, outgoing, stamped
from dlqadmin.rest.text import counted

SLICE_S = 5.0
MOST_RECORDS = 500  # an open transaction holds back every read_committed reader
MOST_BYTES = 4 * 1024 * 1024
CHUNK_S = 0.2
LOOK_S = 0.1  # how often a waiting sender looks whether it is to go on
BEAT_S = 1.0
STALE = timedelta(seconds=10)  # a heartbeat older than this belongs to a sender that is gone

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
        left = recovering.left_open(replay)
        with ChunkProducer(replay.transactional_id) as producer:
            producer.fence()
            recovering.settle(left, _beats(replay, sender))
            recovering.catch_up(replay)
            more = Slice(replay, producer, sender).run(time.monotonic() + budget_s)
            if Replay.objects.filter(pk=pk, status=ReplayStatus.CANCELLED).exists():
                recovering.leave_out(replay, timezone.now())
            return more
    except (BrokerUnavailable, DatabaseError) as error:
        log.warning("%s waits: %s", replay, error)
        _running(pk).update(trouble=f"waits: {error}"[:500])
        return False
    except Fenced as error:
        log.info("%s is left to another sender: %s", replay, error)
        return False
    except Hopeless as error:
        pause(replay, f"Kafka refused to go on: {error}", timezone.now())
        return False
    except Exception:
        pause(replay, "an error that nobody expected; the worker's log has its trace", timezone.now())
        raise
    finally:
        Replay.objects.filter(pk=pk, sender=sender).update(sender="")


def unsettled(replays: QuerySet[Replay]) -> QuerySet[Replay]:
    """Those with something to send, or that were paused or cancelled and have something that nobody settled."""
    left_open = Exists(Chunk.objects.filter(replay=OuterRef("pk"), state=ChunkState.OPEN))
    left_over = Exists(ReplayItem.objects.filter(replay=OuterRef("pk"), state=ItemState.QUEUED))
    cancelled = Q(status=ReplayStatus.CANCELLED) & Q(left_over)
    return replays.filter(Q(status=ReplayStatus.RUNNING) | Q(left_open) | cancelled)


def pause(replay: Replay, trouble: str, now: datetime) -> None:
    """Pause by itself, and say why."""
    with transaction.atomic():
        if _running(replay.pk).update(status=ReplayStatus.PAUSED, trouble=trouble):
            events.note(replay.pk, "paused", f"paused: {trouble}", now)


class Slice:
    """One sender's turn with a replay that it holds."""

    def __init__(self, replay: Replay, producer: ChunkProducer, sender: str) -> None:
        self.replay = replay
        self.producer = producer
        self.sender = sender
        self.allowed: set[str] = set()  # targets that were asked about
        # Before this ordinal a refused record is in the way: look at each alone.
        refused = replay.chunks.filter(state=ChunkState.REFUSED).aggregate(after=Max("after"))
        self.one_by_one_until = refused["after"] or 0

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
            messages = self._messages(batch)
            if messages is None:
                continue
            chunk = self._open(batch)
            if chunk is None or not self._send(chunk, batch, messages):
                return False
            if not self._rest(began + (len(batch) / rate if rate else 0), wait):
                return False
        return True

    def _messages(self, batch: Sequence[ReplayItem]) -> list[Outgoing] | None:
        """What the items send; None after one that can't be sent was taken out of the way."""
        messages = []
        for item in batch:
            try:
                messages.append(outgoing(item))
            except Unsendable as error:
                self._leave_out(item, "unsendable", str(error))
                return None
        return messages

    def _send(self, chunk: Chunk, batch: Sequence[ReplayItem], messages: Sequence[Outgoing]) -> bool:
        """Write the chunk; False if somebody else has settled it."""
        replay = self.replay
        records = [
            Outbound(
                item.target_topic,
                item.target_partition,
                message.key,
                message.value,
                stamped(message.headers, str(replay.uuid), item.token, item.attempt),
            )
            for item, message in zip(batch, messages, strict=True)
        ]
        try:
            written = self.producer.write(
                records, Progress(replay.transactional_id, replay.progress_topic, chunk.after)
            )
        except Refused as refused:
            return self._refused(chunk, batch, refused.records)
        for item, message, where in zip(batch, messages, written, strict=True):
            item.sent_partition, item.sent_offset, item.sent_digest = where.partition, where.offset, message.digest
        now = timezone.now()
        return recovering.committed(chunk, batch, now, now)

    def _refused(self, chunk: Chunk, batch: Sequence[ReplayItem], why: dict[int, str]) -> bool:
        """The chunk was aborted. A refused record takes its whole batch with it, so look at each alone."""
        now = timezone.now()
        with transaction.atomic():
            if not recovering.close(chunk, ChunkState.REFUSED, now):
                return False
            items.move(batch, ItemState.SENDING, ItemState.QUEUED, now)
            if len(batch) == 1:
                self._leave_out(batch[0], "rejected", why[0])
        self.one_by_one_until = max(chunk.after, self.one_by_one_until)
        return True

    def _leave_out(self, item: ReplayItem, reason: str, evidence: str) -> None:
        """Skip a queued item that can't be sent, so that the others are."""
        with transaction.atomic():
            items.move([item], ItemState.QUEUED, ItemState.SKIPPED, timezone.now(), reason=reason, evidence=evidence)
            ledger.release([item])

    def _rate(self) -> int | None:
        """Records a second, if this sender still may go on."""
        return self._held().values_list("rate", flat=True).first()

    def _next(self, rate: int) -> list[ReplayItem]:
        """The next items of a chunk, chosen by their sizes before any bytes are read."""
        limit = MOST_RECORDS if rate == 0 else min(MOST_RECORDS, max(1, int(rate * CHUNK_S)))
        queued = (
            ReplayItem.objects.filter(replay=self.replay, state=ItemState.QUEUED)
            .order_by("ordinal")
            .values_list("pk", "ordinal", "dead_letter__value_size", Length("payload__value"))[:limit]
        )
        chosen: list[int] = []
        size = 0
        for pk, ordinal, original_bytes, edited_bytes in queued:
            size += max(original_bytes or 0, edited_bytes or 0)
            if chosen and (size > MOST_BYTES or ordinal < self.one_by_one_until):
                break
            chosen.append(pk)
        rows = self.replay.items.filter(pk__in=chosen).select_related("dead_letter__body", "payload")
        return list(rows.order_by("ordinal"))

    def _open(self, batch: Sequence[ReplayItem]) -> Chunk | None:
        """Write down what is about to be done; None if somebody said otherwise meanwhile."""
        replay, now = self.replay, timezone.now()
        known = topics.cluster().topics
        names = sorted({item.target_topic for item in batch})
        wanted = [(name, number) for name in names for number in range(known.get(name, 0))]
        ends = topics.ends(wanted)
        missing = [name for name in names if name not in known]
        if missing:
            raise Hopeless(f"there is no topic {missing[0]}")
        for name in set(names) - self.allowed:
            if why := forbidden(name):
                raise Hopeless(f"{name} {why}")
            self.allowed.add(name)
        ids = {**replay.topic_ids, **topics.topic_ids(names)}
        if anew := [name for name in names if replay.topic_ids.get(name, ids.get(name)) != ids.get(name)]:
            raise Hopeless(f"topic {anew[0]} was deleted and made anew since the replay began")
        if len(ends) < len(wanted):
            raise BrokerUnavailable(f"{len(wanted) - len(ends)} of {len(wanted)} target partitions have no leader")
        replay.topic_ids = ids
        with transaction.atomic():
            if not self._held().update(heartbeat=now, topic_ids=ids):
                return None
            chunk = Chunk.objects.create(
                replay=replay, first=batch[0].ordinal, after=batch[-1].ordinal + 1, ends=_named(ends), opened_at=now
            )
            if items.move(batch, ItemState.QUEUED, ItemState.SENDING, now) != len(batch):
                transaction.set_rollback(True)  # somebody cancelled in this very moment
                return None
        return chunk

    def _rest(self, due: float, wait: Callable[[float], None]) -> bool:
        """Wait until the rate allows the next chunk; False if the replay is not to go on."""
        while (left := due - time.monotonic()) > 0:
            wait(min(left, LOOK_S))
            if self._rate() is None:
                return False
        return True

    def _finish(self, now: datetime) -> bool:
        """Nothing is queued: from here on outcomes are awaited."""
        with transaction.atomic():
            busy = self.replay.items.filter(state__in=(ItemState.QUEUED, ItemState.SENDING)).exists()
            if busy or not self._held().update(status=ReplayStatus.WATCHING, sent_at=now):
                return not busy
            sent = self.replay.items.filter(sent_at__isnull=False).count()
            text = f"{counted(sent, 'record')} {'was' if sent == 1 else 'were'} sent"
            events.note(self.replay.pk, "sent", text, now)
        return True

    def _held(self) -> QuerySet[Replay]:
        return _running(self.replay.pk).filter(sender=self.sender)


def _running(pk: int) -> QuerySet[Replay]:
    return Replay.objects.filter(pk=pk, status=ReplayStatus.RUNNING)


def _beats(replay: Replay, sender: str) -> Callable[[], None]:
    """Says once a second that the sender lives, while it is asked more often."""
    said = time.monotonic()

    def beat() -> None:
        nonlocal said
        if time.monotonic() - said > BEAT_S:
            Replay.objects.filter(pk=replay.pk, sender=sender).update(heartbeat=timezone.now())
            said = time.monotonic()

    return beat


def _claim(pk: int, sender: str) -> Replay | None:
    """Hold the replay, unless somebody who is alive does, or nothing may be written."""
    if settings.READ_ONLY:
        return None
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
