"""Queue deliveries, and queue them again when a person asks.

A delivery is sent at least once. A worker claims it before it sends, so two workers never send the same try. A worker
that is killed after the send and before its commit has sent a message that the next try repeats: receivers drop the
repeat by its id.
"""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import orjson
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone

from dlqadmin.audit.entries import record
from dlqadmin.notifications import tasks
from dlqadmin.notifications.messages import MAX_BODY, MAX_FACTS, MAX_LINK, MAX_SUBJECT, ChannelMessage
from dlqadmin.notifications.models import Channel, ChannelDelivery, DeliveryState, UsedKey
from dlqadmin.rest.problems import StateConflict
from dlqadmin.rest.text import one_line, shortened, storable

TRIED_FOR = timedelta(hours=24)
ENDED_BADLY = (DeliveryState.FAILED, DeliveryState.GIVEN_UP)


class RepeatedKey(Exception):
    """The dedupe key belongs to a delivery that was deleted since."""


def queue(
    channel: Channel,
    message: ChannelMessage,
    dedupe: str,
    not_before: datetime | None = None,
    source: str = "",
    tried_for: timedelta = TRIED_FOR,
    team: int | None = None,
) -> ChannelDelivery | None:
    """Queue a message in the caller's transaction. Return None if this dedupe key was ever queued before.

    A worker sends it after the commit, and not before `not_before`. It is given up when a try fails and the next one
    would begin more than `tried_for` after that. The people of `team` may see it in the log.
    """
    now = timezone.now()
    due = max(not_before or now, now)
    delivery = _delivery(channel, message, dedupe, source)
    delivery.team_id = team
    delivery.created_at, delivery.not_before, delivery.give_up_at = now, due, due + tried_for
    try:
        with transaction.atomic():  # a savepoint: a repeated key must not end the caller's transaction
            delivery.save(force_insert=True)
            # After the insert: from then on no pruning can move the key from one table to the other.
            if UsedKey.objects.filter(dedupe=dedupe).exists():
                raise RepeatedKey
    except (IntegrityError, RepeatedKey):
        return None
    if due <= now:
        transaction.on_commit(partial(tasks.enqueue_delivery, delivery.pk))
    return delivery


def retry(delivery: ChannelDelivery, actor: User) -> None:
    """Try a delivery again that ended badly. Raises StateConflict for any other."""
    now = timezone.now()
    with transaction.atomic():
        ended = ChannelDelivery.objects.filter(pk=delivery.pk, state__in=ENDED_BADLY, channel__isnull=False)
        again = ended.update(
            state=DeliveryState.QUEUED,
            not_before=now,
            give_up_at=now + TRIED_FOR,
            failures=0,
            tries=0,
            claim_token="",
            heartbeat=None,
        )
        if not again:
            raise StateConflict("Only a delivery that failed, to a channel that still exists, can be tried again.")
        record(actor, "retry delivery", "delivery", str(delivery.pk), {"channel": delivery.channel_name})
        transaction.on_commit(partial(tasks.enqueue_delivery, delivery.pk))


def end_queued(channel: Channel) -> None:
    """Give up the queued deliveries of a channel that is deleted."""
    queued = ChannelDelivery.objects.filter(channel=channel, state=DeliveryState.QUEUED)
    queued.update(state=DeliveryState.GIVEN_UP, result="The channel was deleted.", not_before=timezone.now())


def subject_line(text: str) -> str:
    """Return a subject: one line, cut to its limit."""
    return shortened(one_line(str(storable(text))), MAX_SUBJECT)


def _delivery(channel: Channel, message: ChannelMessage, dedupe: str, source: str) -> ChannelDelivery:
    return ChannelDelivery(
        public_id=f"msg_{uuid.uuid4().hex}",
        channel=channel,
        channel_name=channel.name,
        dedupe=dedupe,
        event=message.event,
        subject=subject_line(message.subject),
        body=storable(message.body)[:MAX_BODY],
        facts=_bounded(storable(dict(message.facts))),
        link=message.link[:MAX_LINK],
        source=source,
    )


def _bounded(facts: dict[str, Any]) -> dict[str, Any]:
    size = len(orjson.dumps(facts))
    return facts if size <= MAX_FACTS else {"left_out": f"The facts have {size} bytes, more than {MAX_FACTS}."}
