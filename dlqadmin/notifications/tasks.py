"""Celery tasks that send deliveries, take up those that wait, and delete old ones."""

from __future__ import annotations

from datetime import datetime

from celery import shared_task
from django.utils import timezone

from dlqadmin.jobs import messages
from dlqadmin.notifications import delivery_tries, retention
from dlqadmin.notifications.models import ChannelDelivery

SWEPT = 100  # deliveries; the next sweep queues the rest


def enqueue_delivery(pk: int) -> None:
    """Queue the next try of a delivery."""
    messages.enqueue(deliver, ChannelDelivery, pk)


@shared_task
def deliver(pk: int, seen: datetime | None = None) -> None:
    """Try a delivery, and others of its channel."""
    delivery_tries.run_turn(pk, seen)


@shared_task
def sweep_notifications() -> None:
    """Queue the deliveries that are due and that no worker works on."""
    messages.sweep(deliver, delivery_tries.due(timezone.now())[:SWEPT])


@shared_task
def prune_notifications() -> None:
    """Delete old deliveries."""
    retention.prune(timezone.now())
