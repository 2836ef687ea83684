"""Tries of a delivery: claim it, send it once, and store the result or the time of the next try."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from dlqadmin.audit.entries import record
from dlqadmin.jobs import runs
from dlqadmin.jobs.claims import JobKind, held
from dlqadmin.notifications import senders
from dlqadmin.notifications.models import Channel, ChannelDelivery, DeliveryState
from dlqadmin.notifications.results import SendAccepted, SendFailed, SendResult
from dlqadmin.rest.times import iso

# The pauses after the first failures; the last one repeats until the delivery is given up.
PAUSES_S = (10, 30, 120, 600, 3600)
LEASE = timedelta(minutes=2)  # longer than any try: a webhook takes 10 s, a service with several requests a minute
MAX_LOG = 20  # tries
MAX_RESULT = 300  # characters
# Tries at the same time. They wait for receivers, and the other tasks of the workers must not wait with them.
MOST, MOST_OF_CHANNEL = 4, 2
TURN_S = 5.0  # one message goes on with other deliveries of the channel for so long

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DecidedState:
    """The state of a delivery after a try, and the time of the next try."""

    state: DeliveryState
    not_before: datetime


def _give_up(lost: ChannelDelivery, why: str, now: datetime) -> None:
    _store(lost, DecidedState(DeliveryState.GIVEN_UP, now), why, {})


DELIVERIES = JobKind(
    model=ChannelDelivery,
    unfinished=Q(state=DeliveryState.QUEUED),
    lease=LEASE,
    give_up=_give_up,
    related=("channel",),
)


def due(now: datetime) -> QuerySet[ChannelDelivery]:
    """Return the deliveries whose time has come and that nobody works on, the oldest first."""
    return DELIVERIES.waiting(now).filter(not_before__lte=now).order_by("not_before", "pk")


def run_turn(pk: int, seen: datetime | None) -> None:
    """Try a delivery, then other deliveries of its channel that are due, for a few seconds.

    If enough tries are in progress, it does nothing, and the sweep comes back to the delivery.
    """
    until = time.monotonic() + TURN_S
    channel = ChannelDelivery.objects.filter(pk=pk).values_list("channel_id", flat=True).first()
    following: tuple[int, datetime | None] | None = (pk, seen)
    while following is not None and _has_room(channel, timezone.now()):
        runs.run(DELIVERIES, *following, try_once)
        if time.monotonic() > until:
            return
        following = due(timezone.now()).filter(channel=channel).values_list("pk", "heartbeat").first()


def _has_room(channel: int | None, now: datetime) -> bool:
    busy = ChannelDelivery.objects.filter(DELIVERIES.unfinished, heartbeat__gt=now - LEASE).exclude(claim_token="")
    return busy.count() < MOST and busy.filter(channel=channel).count() < MOST_OF_CHANNEL


def try_once(delivery: ChannelDelivery) -> bool:
    """Send a claimed delivery once and store the result. Return False: there is nothing more to do."""
    began, started = timezone.now(), time.monotonic()
    if delivery.not_before > began:  # a message of before the last try, or of before a person retried it
        return False
    result = _send(delivery, began)
    ended = timezone.now()
    decided = decide(result, delivery.failures, delivery.give_up_at, ended)
    one = {
        "at": iso(began),
        "accepted": isinstance(result, SendAccepted),
        "result": result.text[:MAX_RESULT],
        "took_ms": round((time.monotonic() - started) * 1000),
    }
    with transaction.atomic():
        if _store(delivery, decided, result.text, one) and delivery.channel is not None:
            # Not the whole row: an administrator may replace the channel meanwhile.
            used = Channel.objects.filter(pk=delivery.channel.pk)
            used.update(last_used_at=ended, last_result=result.text[:MAX_RESULT])
    return False


def _send(delivery: ChannelDelivery, now: datetime) -> SendResult:
    if delivery.channel is None:
        return SendFailed("The channel was deleted.")
    return senders.send(delivery.channel, delivery, now)


def decide(result: SendResult, failures: int, give_up_at: datetime, now: datetime) -> DecidedState:
    """Return the state after a try. `failures` is the number of failed tries before it."""
    if isinstance(result, SendAccepted):
        return DecidedState(DeliveryState.DELIVERED, now)
    if not isinstance(result, SendFailed):
        return DecidedState(DeliveryState.FAILED, now)
    pause_s = PAUSES_S[min(failures, len(PAUSES_S) - 1)]
    following = now + timedelta(seconds=max(pause_s, min(result.pause_s, PAUSES_S[-1])))
    if following > give_up_at:
        return DecidedState(DeliveryState.GIVEN_UP, now)
    return DecidedState(DeliveryState.QUEUED, following)


def _store(delivery: ChannelDelivery, decided: DecidedState, text: str, one: dict[str, Any]) -> bool:
    """Store a result, unless another worker claimed the delivery meanwhile. Return whether it was stored."""
    now, accepted = timezone.now(), decided.state == DeliveryState.DELIVERED
    tries: Sequence[dict[str, Any]] = [*delivery.log, *([one] if one else ())]
    columns: dict[str, Any] = {
        "state": decided.state,
        "not_before": decided.not_before,
        "failures": 0 if accepted else delivery.failures + 1,
        "sends": delivery.sends + len(tries) - len(delivery.log),
        "log": tries[-MAX_LOG:],
        "result": text[:MAX_RESULT],
        "delivered_at": now if accepted else None,
        # The sweep takes it up when it is due, although the lease has not passed. Not null: a message of before
        # this try must not match.
        "heartbeat": now - LEASE,
    }
    with transaction.atomic():
        if not held(delivery).filter(DELIVERIES.unfinished).update(**columns):
            return False
        if decided.state in (DeliveryState.FAILED, DeliveryState.GIVEN_UP):
            action = "failed" if decided.state == DeliveryState.FAILED else "gave up"
            named = {"channel": delivery.channel_name, "source": delivery.source, "said": text[:MAX_RESULT]}
            record("dlqadmin", action, "delivery", str(delivery.pk), named)
            log.warning("%s to channel %s: %s: %s", delivery, delivery.channel_name, decided.state, text[:MAX_RESULT])
    return True
