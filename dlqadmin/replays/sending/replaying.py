"""Sending in slices: whatever ends one in between, the next one settles first what was left open."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.db import DatabaseError
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from dlqadmin.broker import clusters, topics
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.broker.producing import ChunkProducer, Fenced, Hopeless
from dlqadmin.replays.models import Chunk, ChunkState, ItemState, Replay, ReplayItem, ReplayStatus
from dlqadmin.replays.sending import leaving, recovering
from dlqadmin.replays.sending.showing import FEW, SHOWN_AFTER, show
from dlqadmin.replays.sending.slicing import Slice, pause, running

SLICE_S = 5.0
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
        if replay.status == ReplayStatus.CANCELLED and not replay.progress_topic:  # was never run
            leaving.leave_out(replay, timezone.now(), _beats(replay, sender))
            return False
        if replay.target_cluster not in ("", *clusters.names()):
            if replay.status == ReplayStatus.CANCELLED:  # what an open chunk holds waits for the cluster
                leaving.leave_out(replay, timezone.now(), _beats(replay, sender))
            show(replay, timezone.now())
            raise Hopeless(f"cluster {replay.target_cluster} is not configured any more")
        left = recovering.left_open(replay)
        with topics.on(replay.target_cluster), ChunkProducer(replay.transactional_id) as producer:
            producer.fence()
            beat = _beats(replay, sender)
            recovering.settle(left, beat)
            recovering.catch_up(replay)
            replay.refresh_from_db(fields=["progress"])
            more = Slice(replay, producer, sender).run(time.monotonic() + budget_s)
            if Replay.objects.filter(pk=pk, status=ReplayStatus.CANCELLED).exists():
                leaving.leave_out(replay, timezone.now(), beat)
            return more
    except (BrokerUnavailable, DatabaseError) as error:
        log.warning("%s waits: %s", replay, error)
        running(pk).update(trouble=f"waits: {error}"[:500])
        return False
    except Fenced as error:
        log.info("%s is left to another sender: %s", replay, error)
        return False
    except Hopeless as error:
        pause(replay, f"Kafka refused to go on: {error}", timezone.now())
        Replay.objects.filter(pk=pk, trouble="").update(trouble=str(error)[:500])  # of one that did not run
        return False
    except Exception:
        pause(replay, "an error that nobody expected; the worker's log has its trace", timezone.now())
        raise
    finally:
        Replay.objects.filter(pk=pk, sender=sender).update(sender="")


def unsettled(replays: QuerySet[Replay]) -> QuerySet[Replay]:
    """Those with something to send, and those with something, if they are paused, that nobody has settled or shown."""
    left_open = Exists(Chunk.objects.filter(replay=OuterRef("pk"), state=ChunkState.OPEN))
    unsent = (ItemState.PLANNED, ItemState.QUEUED)
    left_over = Exists(ReplayItem.objects.filter(replay=OuterRef("pk"), state__in=unsent))
    cancelled = Q(status=ReplayStatus.CANCELLED) & Q(left_over)
    late = Q(heartbeat__lt=timezone.now() - SHOWN_AFTER) | Q(progress__lte=F("shown") + FEW)
    unshown = Q(shown__lt=F("progress")) & late
    return replays.filter(Q(status=ReplayStatus.RUNNING) | Q(left_open) | cancelled | unshown)


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
