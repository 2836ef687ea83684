"""Celery tasks of deliveries."""

from __future__ import annotations

from datetime import datetime

from celery import shared_task

from dlqadmin.jobs import messages
from dlqadmin.notifications.models import Delivery


def enqueue_delivery(pk: int) -> None:
    """Queue the next try of a delivery."""
    messages.enqueue(deliver, ChannelDelivery, pk)


@shared_task
def deliver(pk: int, seen: datetime | None = None) -> None:
    """Try to deliver a message."""
