"""Sending of replays in slices. Each slice first settles the chunks that an interrupted one left open."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.db import DatabaseError
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from dlqadmin.broker import clusters
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.broker.transactions import ChunkProducer, ProducerFenced, TopicNotWritable
from dlqadmin.jobs import claims
from dlqadmin.replays.models import Chunk, ChunkState, ItemState, Replay, ReplayItem, ReplayStatus
from dlqadmin.replays.sending import cancellation, chunk_settlement
from dlqadmin.replays.sending.delayed_marks import FEW, SHOWN_AFTER, show
from dlqadmin.replays.sending.slices import SendingSlice, pause, running

SLICE_S = 5.0
BEAT_S = 1.0
STALE = timedelta(seconds=10)  # a sender with an older heartbeat is considered dead

log = logging.getLogger(__name__)


def send_slice(pk: int, sender: str, budget_s: float = SLICE_S) -> bool:
    """Send records of the replay for at most `budget_s`. Return whether more can be sent now.

    `sender` names the caller. One sender holds a replay at a time; all others get False. Temporary errors end the
    slice. Errors that persist pause the replay and are shown as its reason.
    """
    began = time.monotonic()
    replay = _claim(pk, sender)
    if replay is None:
        return False
    try:
        if replay.status == ReplayStatus.CANCELLED and not replay.progress_topic:  # never started
            cancellation.leave_out(replay, timezone.now(), _beats(replay))
            return False
        if not clusters.is_known(replay.target_cluster):
            # An open chunk can be settled only when the cluster is configured again.
            if replay.status == ReplayStatus.CANCELLED:
                cancellation.leave_out(replay, timezone.now(), _beats(replay))
            show(replay, timezone.now())
            raise TopicNotWritable(f"cluster {replay.target_cluster} is no longer configured")
        # Asked before fencing: a chunk that appears later belongs to a living successor.
        left = chunk_settlement.left_open(replay)
        with clusters.on(replay.target_cluster), ChunkProducer(replay.transactional_id) as producer:
            producer.fence()
            beat = _beats(replay)
            chunk_settlement.settle(left, beat)
            chunk_settlement.catch_up(replay)
            replay.refresh_from_db(fields=["progress"])
            more = SendingSlice(replay, producer, sender, began).run(time.monotonic() + budget_s)
            if Replay.objects.filter(pk=pk, status=ReplayStatus.CANCELLED).exists():
                cancellation.leave_out(replay, timezone.now(), beat)
            return more
    except (BrokerUnavailable, DatabaseError) as error:
        log.warning("%s is waiting: %s", replay, error)
        running(pk).update(trouble=f"waiting: {error}"[:500])
        return False
    except ProducerFenced as error:
        log.info("another sender continues %s: %s", replay, error)
        return False
    except TopicNotWritable as error:
        pause(replay, f"the replay can't continue: {error}", timezone.now())
        Replay.objects.filter(pk=pk, trouble="").update(trouble=str(error)[:500])  # for a replay that is not running
        return False
    except Exception:
        pause(replay, "an unexpected error; the worker's log has its stack trace", timezone.now())
        raise
    finally:
        claims.held(replay).update(claim_token="")


def unsettled(replays: QuerySet[Replay]) -> QuerySet[Replay]:
    """Return the replays that need a sender.

    These are running replays, cancelled ones with unsent items, and any with open chunks or overdue marks.
    """
    left_open = Exists(Chunk.objects.filter(replay=OuterRef("pk"), state=ChunkState.OPEN))
    unsent = (ItemState.PLANNED, ItemState.QUEUED)
    left_over = Exists(ReplayItem.objects.filter(replay=OuterRef("pk"), state__in=unsent))
    cancelled = Q(status=ReplayStatus.CANCELLED) & Q(left_over)
    late = Q(heartbeat__lt=timezone.now() - SHOWN_AFTER) | Q(progress__lte=F("shown") + FEW)
    unshown = Q(shown__lt=F("progress")) & late
    return replays.filter(Q(status=ReplayStatus.RUNNING) | Q(left_open) | cancelled | unshown)


def _beats(replay: Replay) -> Callable[[], None]:
    """Return a function that renews the sender's heartbeat, at most once a second."""
    said = time.monotonic()

    def beat() -> None:
        nonlocal said
        if time.monotonic() - said > BEAT_S:
            claims.held(replay).update(heartbeat=timezone.now())
            said = time.monotonic()

    return beat


def _claim(pk: int, sender: str) -> Replay | None:
    """Lock the replay for this sender.

    Return None if a living sender holds it, if it has no work, or in read-only mode.
    """
    if settings.READ_ONLY:
        return None
    now = timezone.now()
    free = claims.free(now, STALE) | Q(claim_token=sender)
    claimed = unsettled(Replay.objects.filter(free, pk=pk)).update(claim_token=sender, heartbeat=now)
    return Replay.objects.filter(pk=pk, claim_token=sender).first() if claimed else None
