"""Deliveries: queue them, try them, and decide when to try again.

A delivery is sent at least once. A worker claims it before it sends, so two workers never send the same try. A worker
that is killed after the send and before its commit has sent a message that the next try repeats: receivers drop the
repeat by its id.
"""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from functools import partial

from django.db import IntegrityError, transaction
from django.utils import timezone

from dlqadmin.notifications import tasks
from dlqadmin.notifications.messages import MAX_BODY, MAX_LINK, MAX_SUBJECT, ChannelMessage
from dlqadmin.notifications.models import Channel, ChannelDelivery, UsedKey
from dlqadmin.rest.text import storable

TRIED_FOR = timedelta(hours=24)


def queue(
    channel: Channel, message: ChannelMessage, dedupe: str, not_before: datetime | None = None, source: str = ""
) -> ChannelDelivery | None:
    """Queue a message in the caller's transaction. Return None if this dedupe key was ever queued before.

    A worker sends it after the commit, and not before `not_before`.
    """
    now = timezone.now()
    due = max(not_before or now, now)
    if UsedKey.objects.filter(dedupe=dedupe).exists():
        return None
    delivery = ChannelDelivery(
        public_id=f"msg_{uuid.uuid4().hex}",
        channel=channel,
        channel_name=channel.name,
        dedupe=dedupe,
        event=message.event,
        subject=one_line(message.subject),
        body=storable(message.body)[:MAX_BODY],
        facts=storable(dict(message.facts)),
        link=message.link[:MAX_LINK],
        source=source,
        not_before=due,
        give_up_at=due + TRIED_FOR,
        created_at=now,
    )
    try:
        with transaction.atomic():  # a savepoint: a repeated key must not end the caller's transaction
            delivery.save(force_insert=True)
    except IntegrityError:
        return None
    if due <= now:
        transaction.on_commit(partial(tasks.enqueue_delivery, delivery.pk))
    return delivery


def one_line(text: str) -> str:
    """Return a subject: one line, cut to its limit."""
    line = " ".join(str(storable(text)).split())
    return line if len(line) <= MAX_SUBJECT else f"{line[: MAX_SUBJECT - 1]}…"
