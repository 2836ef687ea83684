"""Channels and deliveries of tests, and the worker that sends them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from dlqadmin.notifications import channels, deliveries, tasks
from dlqadmin.notifications.messages import ChannelMessage
from dlqadmin.notifications.models import Channel, ChannelDelivery
from dlqadmin.rest.idempotency import RequestKey

MESSAGE = ChannelMessage(
    "alert.opened", "Orders fail", "12 dead letters\nin 5 minutes", "https://dlq.example.com/groups/7", {"letters": 12}
)


def made(target: str, kind: str = "webhook", name: str = "pager") -> Channel:
    """A channel that an administrator made."""
    return made_with_secret(target, kind, name)[0]


def made_with_secret(target: str, kind: str = "webhook", name: str = "pager") -> tuple[Channel, str]:
    """A channel, and the secret of its signatures."""
    actor, _ = User.objects.get_or_create(username="ada")
    return channels.create(name, kind, target, actor, RequestKey())


def queued(channel: Channel, dedupe: str = "key", message: ChannelMessage = MESSAGE, **more: Any) -> ChannelDelivery:
    """A delivery that no worker has seen."""
    found = deliveries.queue(channel, message, dedupe, source="rule 12", **more)
    assert found is not None
    return found


def work(delivery: ChannelDelivery, seen: datetime | None = None) -> ChannelDelivery:
    """The delivery after a worker got its message, which is of the row as it is now, or of a heartbeat `seen`."""
    delivery.refresh_from_db()
    tasks.deliver(delivery.pk, seen or delivery.heartbeat)
    delivery.refresh_from_db()
    return delivery


def pass_pause(delivery: ChannelDelivery) -> None:
    """Let the time of the next try come."""
    ChannelDelivery.objects.filter(pk=delivery.pk).update(not_before=timezone.now() - timedelta(seconds=1))
