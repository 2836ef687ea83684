"""One sender's turn: a replay's queued items, chunk by chunk, each chunk one Kafka transaction that holds the progress.

What is written before the act: the chunk, with the ends of its target partitions. After it: where its items are. Past
the canary, and without a limit of the rate, that is stored while the next chunk is being written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from django.db import transaction
from django.db.models import Max, QuerySet
from django.utils import timezone

from dlqadmin.broker.producing import ChunkProducer, Outbound, Progress, Refused
from dlqadmin.replays import events
from dlqadmin.replays.models import Chunk, ChunkState, ItemState, Replay, ReplayItem, ReplayStatus
from dlqadmin.replays.sending import canary, counters, items, lagging, ledger, recovering, taking
from dlqadmin.replays.sending.deciding import Go, Passed, Stop, decide
from dlqadmin.replays.sending.destinations import Destinations
from dlqadmin.replays.sending.flight import Flight
from dlqadmin.replays.sending.loading import Loaded, token
from dlqadmin.replays.sending.messages import Outgoing, Unsendable, stamped
from dlqadmin.replays.sending.showing import show
from dlqadmin.replays.sending.windows import Window
from dlqadmin.rest.text import counted

CHUNK_S = 0.2  # of what the rate allows
LOOK_S = 0.1  # how often a waiting sender looks whether it is to go on
DECIDE_S = 0.5  # how often it is decided anew, past the canary
CHANGEABLE = ("rate", "steps", "step", "accepted")  # by who resumes, or moves the slider


class Ready(NamedTuple):
    """Items that are about to be sent, and what each of them sends."""

    batch: Sequence[Loaded]
    messages: Sequence[Outgoing]

    def first(self, most: int) -> Ready:
        """So many of them."""
        return Ready(self.batch[:most], self.messages[:most])


class Slice:
    """A replay that one sender holds."""

    def __init__(self, replay: Replay, producer: ChunkProducer, sender: str) -> None:
        self.replay = replay
        self.sender = sender
        self.destinations = Destinations(replay)
        self.window = Window(replay, self._take)
        self.lag = lagging.Watch(replay)
        # Before this ordinal a refused record is in the way: look at each alone.
        refused = replay.chunks.filter(state=ChunkState.REFUSED).aggregate(after=Max("after"))
        self.one_by_one_until = refused["after"] or 0
        self._flight = Flight(producer)
        self._ready: Ready | None = None
        self._written: tuple[Chunk, Sequence[Loaded]] | None = None  # in Kafka, and not yet stored
        self._taken: int | None = 0  # what is planned is behind this ordinal; None: nothing is
        self._free_until = 0.0  # until then nothing is decided

    def run(self, until: float, wait: Callable[[float], None] = time.sleep) -> bool:
        """Chunk after chunk until the time is over, then dead letters say so; True if there is more to do."""
        try:
            with self._flight:
                more = self._run(until, wait)
        finally:
            self._store()
        show(self.replay, timezone.now(), more=more)
        return more

    def _run(self, until: float, wait: Callable[[float], None]) -> bool:
        while time.monotonic() < until:
            began = time.monotonic()
            rate = self._rate()
            if rate is None:
                return False
            most = self._most(rate)
            if most is None:
                return False
            if not most:
                if not self._store() or not self._rest(began + LOOK_S, wait):
                    return False
                continue
            ready = self._next(most)
            if ready is None:
                continue
            if not ready.batch:
                return self._store() and not self._finish(timezone.now())
            chunk = self._open(ready.batch)
            if chunk is None or not self._send(chunk, ready, most, is_hurried=not rate and self._is_free(until)):
                return False
            if not self._rest(began + (len(ready.batch) / rate if rate else 0), wait):
                return False
        return True

    def _is_free(self, until: float) -> bool:
        """Is nothing to be decided between this chunk and the next, and time for that one?"""
        return self.replay.step >= len(self.replay.steps) and time.monotonic() < until

    def _most(self, rate: int) -> int | None:
        """How many the next chunk may hold; 0 while outcomes are awaited, None when it paused by itself."""
        replay = self.replay
        most = min(self._flight.size.most, replay.chunk_records)
        if rate:
            most = min(most, max(1, int(rate * CHUNK_S)))
        if replay.shadow or replay.target_cluster:  # nobody's outcome is known
            return most
        now = time.monotonic()
        if now < self._free_until:
            return most
        decision = decide(canary.situation(replay, self.lag.now()))
        if isinstance(decision, Stop):
            pause(replay, decision.why, timezone.now())
            return None
        if isinstance(decision, Passed):
            if self._past_step():
                return self._most(rate)
            return None
        if isinstance(decision, Go):
            if decision.most is None:
                self._free_until = now + DECIDE_S
            return most if decision.most is None else min(most, decision.most)
        return 0

    def _past_step(self) -> bool:
        """On to the canary's next step, or past it; False if the replay is not to go on."""
        replay, now = self.replay, timezone.now()
        size = replay.steps[replay.step]
        with transaction.atomic():
            if not self._held().filter(step=replay.step).update(step=replay.step + 1, heartbeat=now):
                return False
            events.note(replay.pk, "canary", f"the canary's {counted(size, 'record')} passed", now)
        replay.step += 1
        return True

    def _next(self, most: int) -> Ready | None:
        """What is sent next, unless one of it can't be sent: that is out of the way then, and None the answer."""
        ready, self._ready = self._ready, None
        if ready is None or not ready.batch or ready.batch[0].ordinal < self.one_by_one_until:
            ready = self._prepare(most)
        return ready and ready.first(most)

    def _take(self) -> bool:
        if self._taken is not None:
            self._taken = taking.take_next(self.replay, timezone.now(), self._taken)
        return self._taken is not None

    def _prepare(self, most: int, begin: int = 0) -> Ready | None:
        batch = self.window.next(most, self.one_by_one_until, begin)
        messages = []
        for item in batch:
            try:
                messages.append(item.message())
            except Unsendable as error:
                self._leave_out(item, "unsendable", str(error))
                return None
        return Ready(batch, messages)

    def _send(self, chunk: Chunk, ready: Ready, most: int, *, is_hurried: bool) -> bool:
        """Write the chunk, and store the one before meanwhile; False if somebody else has settled it."""
        replay, name = self.replay, str(self.replay.uuid)
        records = [
            Outbound(
                item.target_topic,
                item.target_partition,
                message.key,
                message.value,
                stamped(message.headers, name, token(replay, item.ordinal), item.attempt),
                item.timestamp_ms if replay.keep_timestamps else None,
            )
            for item, message in zip(*ready, strict=True)
        ]
        writing = self._flight.start(records, Progress(replay.transactional_id, replay.progress_topic, chunk.after))
        if not self._store():
            return False
        if is_hurried:
            self._ready = self._prepare(most, chunk.after)
        try:
            written = writing.result()
        except Refused as refused:
            self._ready = None
            return self._refused(chunk, ready.batch, refused.records)
        now = timezone.now()
        for item, message, where in zip(*ready, written, strict=True):
            item.sent_partition, item.sent_offset, item.sent_at = where.partition, where.offset, now
            item.sent_digest = message.digest
        self.window.past(chunk.after)
        self._written = chunk, ready.batch
        return is_hurried or self._store()

    def _store(self) -> bool:
        """Where the items of the last chunk are, if that is not stored yet; False if somebody else has settled it."""
        written, self._written = self._written, None
        if written is None:
            return True
        chunk, batch = written
        if not recovering.committed(chunk, batch, batch[0].sent_at or timezone.now()):
            return False
        self.replay.progress = chunk.after
        return True

    def _refused(self, chunk: Chunk, batch: Sequence[Loaded], why: dict[int, str]) -> bool:
        """The chunk was aborted. A refused record takes its whole batch with it, so look at each alone."""
        with transaction.atomic():
            if not recovering.close(chunk, ChunkState.REFUSED, timezone.now()):
                return False
            if len(batch) == 1:
                self._leave_out(batch[0], "rejected", why[0])
        self.one_by_one_until = max(chunk.after, self.one_by_one_until)
        return True

    def _leave_out(self, item: Loaded, reason: str, evidence: str) -> None:
        """Skip a queued item that can't be sent, so that the others are."""
        one = ReplayItem.objects.filter(pk=item.pk)
        with transaction.atomic():
            items.hold(self.replay.pk)
            ledger.release(one)
            items.move(one, ItemState.QUEUED, ItemState.SKIPPED, timezone.now(), reason=reason, evidence=evidence)
        self.window.drop(item.ordinal)

    def _rate(self) -> int | None:
        """Records a second, if this sender still may go on; what persons may change is as it is now."""
        row = self._held().values(*CHANGEABLE).first()
        for name, value in (row or {}).items():
            setattr(self.replay, name, value)
        return self.replay.rate if row else None

    def _open(self, batch: Sequence[Loaded]) -> Chunk | None:
        """Write down what is about to be done; None if somebody said otherwise meanwhile."""
        replay, now = self.replay, timezone.now()
        seen = self.destinations.look({item.target_topic for item in batch})
        replay.topic_ids = dict(seen.ids)
        with transaction.atomic():
            # Who cancels changes this row, too, before looking which chunks are open.
            if not self._held().update(heartbeat=now, topic_ids=replay.topic_ids):
                return None
            return Chunk.objects.create(
                replay=replay,
                first=batch[0].ordinal,
                after=batch[-1].ordinal + 1,
                records=len(batch),
                ends=seen.ends,
                opened_at=now,
            )

    def _rest(self, due: float, wait: Callable[[float], None]) -> bool:
        """Wait until the rate allows the next chunk, and take up more meanwhile; False if it is not to go on."""
        while time.monotonic() < due:
            self._take()
            wait(max(0.0, min(due - time.monotonic(), LOOK_S)))
            if self._rate() is None:
                return False
        return True

    def _finish(self, now: datetime) -> bool:
        """Nothing is queued: from here on outcomes are awaited."""
        with transaction.atomic():
            busy = self.replay.items.filter(state__in=items.UNSENT).exists()
            if busy or not self._held().update(status=ReplayStatus.WATCHING, sent_at=now):
                return not busy
            sent = canary.tally(counters.states(self.replay.pk)).sent
            text = f"{counted(sent, 'record')} {'was' if sent == 1 else 'were'} sent"
            events.note(self.replay.pk, "sent", text, now)
        return True

    def _held(self) -> QuerySet[Replay]:
        return running(self.replay.pk).filter(sender=self.sender)


def running(pk: int) -> QuerySet[Replay]:
    """The replay, while it runs."""
    return Replay.objects.filter(pk=pk, status=ReplayStatus.RUNNING)


def pause(replay: Replay, trouble: str, now: datetime) -> None:
    """Pause by itself, and say why; not one that another sender has taken over."""
    with transaction.atomic():
        if running(replay.pk).filter(sender=replay.sender).update(status=ReplayStatus.PAUSED, trouble=trouble):
            events.note(replay.pk, "paused", f"paused: {trouble}", now)
