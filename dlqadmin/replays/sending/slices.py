"""One turn of a sender: it writes the queued items of a replay to Kafka, chunk by chunk.

Each chunk is one Kafka transaction, which also commits the progress to the stand-in group. The chunk and the end
offsets of its target partitions are stored before it is written. The coordinates of its items are stored afterwards.

Without a rate limit and after the canary, the coordinates are stored while the next chunk is written.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from django.db import transaction
from django.db.models import Max, QuerySet
from django.utils import timezone

from dlqadmin.broker.transactions import ChunkProducer, OutboundRecord, ProgressCommit, RecordsRejected
from dlqadmin.replays import events
from dlqadmin.replays.items import item_counters, item_states, lineage_claims
from dlqadmin.replays.items.item_rows import Loaded, token
from dlqadmin.replays.items.messages import Outgoing, Unsendable, stamped
from dlqadmin.replays.items.watched_clusters import are_outcomes_watched
from dlqadmin.replays.models import Chunk, ChunkState, ItemState, Replay, ReplayItem, ReplayStatus
from dlqadmin.replays.sending import canary, chunk_settlement, lost_replays, queueing, reader_lag
from dlqadmin.replays.sending.delayed_marks import show
from dlqadmin.replays.sending.destinations import Destinations
from dlqadmin.replays.sending.pause_rules import Go, Passed, Stop, decide
from dlqadmin.replays.sending.read_ahead import Window
from dlqadmin.replays.sending.transaction_thread import Flight
from dlqadmin.rest.text import counted

# Seconds of the allowed rate in one chunk. A chunk that takes longer, as on a database that is far away, is followed
# by a larger one, so that the replay keeps its rate.
CHUNK_S, LARGEST_CHUNK_S = 0.2, 5.0
LOOK_S = 0.1  # how often a waiting sender checks whether it may continue
DECIDE_S = 0.5  # how often the pause rules are applied after the canary
CHANGEABLE = ("rate", "steps", "step", "accepted")  # fields that a person can change while the replay runs


class Ready(NamedTuple):
    """Items that are about to be sent, with their messages."""

    batch: Sequence[Loaded]
    messages: Sequence[Outgoing]

    def first(self, most: int) -> Ready:
        """Return the first `most` items."""
        return Ready(self.batch[:most], self.messages[:most])


class SendingSlice:
    """A sender's work on a replay for a few seconds."""

    def __init__(self, replay: Replay, producer: ChunkProducer, sender: str, began: float) -> None:
        """`began` is the monotonic time at which the sender took the replay."""
        self.replay = replay
        self.sender = sender
        self.destinations = Destinations(replay)
        self.cluster = lost_replays.own_cluster(replay.target_cluster)
        self.window = Window(replay, self._take)
        self.lag = reader_lag.Watch(replay)
        # The broker refused a record before this ordinal. Send records alone until then, to find it.
        refused = replay.chunks.filter(state=ChunkState.REFUSED).aggregate(after=Max("after"))
        self.one_by_one_until = refused["after"] or 0
        self._flight = Flight(producer)
        self._ready: Ready | None = None
        self._written: tuple[Chunk, Sequence[Loaded]] | None = None  # committed in Kafka, not yet in the database
        self._taken: int | None = 0  # planned items are at or after this ordinal; None: there are no more
        self._free_until = 0.0  # monotonic time of the next decision
        self._took_s = time.monotonic() - began  # for the last chunk, or until the first one can be sent

    def run(self, until: float, wait: Callable[[float], None] = time.sleep) -> bool:
        """Write chunks until the time is over, then update the marks of the dead letters.

        Return True if there is more to do.
        """
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
            self._took_s = time.monotonic() - began
            if not self._rest(began + (len(ready.batch) / rate if rate else 0), wait):
                return False
        return True

    def _is_free(self, until: float) -> bool:
        """Return whether the next chunk can be prepared while this one is written.

        That needs time for one more chunk, and no canary step that needs a decision in between.
        """
        return self.replay.step >= len(self.replay.steps) and time.monotonic() < until

    def _most(self, rate: int) -> int | None:
        """Return the maximum number of records of the next chunk.

        Return 0 while outcomes are awaited, and None if the replay has paused itself.
        """
        replay = self.replay
        most = min(self._flight.size.most, replay.chunk_records)
        if rate:
            seconds = min(max(CHUNK_S, self._took_s), LARGEST_CHUNK_S)
            most = min(most, max(1, int(rate * seconds)))
        if not are_outcomes_watched(replay):
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
        """Move to the canary's next step, or past the last one.

        Return False if the replay must not continue.
        """
        replay, now = self.replay, timezone.now()
        size = replay.steps[replay.step]
        with transaction.atomic():
            if not self._held().filter(step=replay.step).update(step=replay.step + 1, heartbeat=now):
                return False
            events.note(replay.pk, "canary", f"the canary's {counted(size, 'record')} passed", now)
        replay.step += 1
        return True

    def _next(self, most: int) -> Ready | None:
        """Return the next items to send.

        Return None if one of them could not be sent: it was skipped, and the caller has to ask again.
        """
        ready, self._ready = self._ready, None
        if ready is None or not ready.batch or ready.batch[0].ordinal < self.one_by_one_until:
            ready = self._prepare(most)
        return ready and ready.first(most)

    def _take(self) -> bool:
        if self._taken is not None:
            self._taken = queueing.take_next(self.replay, timezone.now(), self._taken)
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
        """Write the chunk. The previous chunk is stored in the database meanwhile.

        Return False if another sender has settled it.
        """
        replay, name = self.replay, str(self.replay.uuid)
        records = [
            OutboundRecord(
                item.target_topic,
                item.target_partition,
                message.key,
                message.value,
                stamped(message.headers, name, token(replay, item.ordinal), item.attempt, item.letter),
                item.timestamp_ms if replay.keep_timestamps else None,
            )
            for item, message in zip(*ready, strict=True)
        ]
        progress = ProgressCommit(
            replay.transactional_id, replay.progress_topic, chunk.after, lost_replays.metadata(replay, self.cluster)
        )
        writing = self._flight.start(records, progress)
        if not self._store():
            return False
        if is_hurried:
            # Read the next chunk's bytes while Kafka commits this one.
            self._ready = self._prepare(most, chunk.after)
        try:
            written = writing.result()
        except RecordsRejected as refused:
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
        """Store the coordinates of the last chunk's items, if they are not stored yet.

        Return False if another sender has settled the chunk.
        """
        written, self._written = self._written, None
        if written is None:
            return True
        chunk, batch = written
        if not chunk_settlement.committed(chunk, batch, batch[0].sent_at or timezone.now()):
            return False
        self.replay.progress = chunk.after
        return True

    def _refused(self, chunk: Chunk, batch: Sequence[Loaded], why: dict[int, str]) -> bool:
        """Close a chunk that was aborted because the broker refused records.

        One refused record makes the broker reject its whole batch, so the items are sent one by one next.
        """
        with transaction.atomic():
            if not chunk_settlement.close(chunk, ChunkState.REFUSED, timezone.now()):
                return False
            if len(batch) == 1:
                self._leave_out(batch[0], "rejected", why[0])
        self.one_by_one_until = max(chunk.after, self.one_by_one_until)
        return True

    def _leave_out(self, item: Loaded, reason: str, evidence: str) -> None:
        """Skip a queued item that can't be sent, so that the others can."""
        one = ReplayItem.objects.filter(pk=item.pk)
        with transaction.atomic():
            item_states.hold(self.replay.pk)
            lineage_claims.release(one)
            item_states.move(one, ItemState.QUEUED, ItemState.SKIPPED, timezone.now(), reason=reason, evidence=evidence)
        self.window.drop(item.ordinal)

    def _rate(self) -> int | None:
        """Reload the fields that people can change, and return the rate in records per second.

        Return None if this sender must stop.
        """
        row = self._held().values(*CHANGEABLE).first()
        for name, value in (row or {}).items():
            setattr(self.replay, name, value)
        return self.replay.rate if row else None

    def _open(self, batch: Sequence[Loaded]) -> Chunk | None:
        """Store the chunk before it is written. Return None if the replay was stopped meanwhile."""
        replay, now = self.replay, timezone.now()
        seen = self.destinations.look({item.target_topic for item in batch})
        replay.topic_ids = dict(seen.ids)
        if replay.first_offsets is not None or not replay.progress:  # else an earlier version has begun to send
            replay.first_offsets = {**lost_replays.first_offsets(seen.ends), **(replay.first_offsets or {})}
        with transaction.atomic():
            # Cancelling updates this row too, before it looks for open chunks.
            if not self._held().update(heartbeat=now, topic_ids=replay.topic_ids, first_offsets=replay.first_offsets):
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
        """Wait until the rate allows the next chunk, and queue more planned items meanwhile.

        Return False if the replay must not continue.
        """
        while time.monotonic() < due:
            self._take()
            wait(max(0.0, min(due - time.monotonic(), LOOK_S)))
            if self._rate() is None:
                return False
        return True

    def _finish(self, now: datetime) -> bool:
        """Start to watch outcomes, now that no item is queued.

        Return False if unsent items remain.
        """
        with transaction.atomic():
            busy = self.replay.items.filter(state__in=item_states.UNSENT).exists()
            # If the update matches nothing, the replay was paused or another sender has it. Then this sender is done
            # too.
            if busy or not self._held().update(status=ReplayStatus.WATCHING, sent_at=now):
                return not busy
            sent = canary.tally(item_counters.states(self.replay.pk)).sent
            text = f"{counted(sent, 'record')} {'was' if sent == 1 else 'were'} sent"
            events.note(self.replay.pk, "sent", text, now)
        return True

    def _held(self) -> QuerySet[Replay]:
        return running(self.replay.pk).filter(claim_token=self.sender)


def running(pk: int) -> QuerySet[Replay]:
    """Return a query for the replay that matches only while it runs."""
    return Replay.objects.filter(pk=pk, status=ReplayStatus.RUNNING)


def pause(replay: Replay, trouble: str, now: datetime) -> None:
    """Pause the replay and store the reason, unless another sender has taken it over."""
    with transaction.atomic():
        if (
            running(replay.pk)
            .filter(claim_token=replay.claim_token)
            .update(status=ReplayStatus.PAUSED, trouble=trouble)
        ):
            events.note(replay.pk, "paused", f"paused: {trouble}", now)
