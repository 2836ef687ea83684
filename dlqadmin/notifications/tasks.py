"""Celery tasks that send deliveries, take up those that wait, and delete old ones."""

from __future__ import annotations

import logging
from datetime import datetime

from celery import shared_task
from django.utils import timezone

from dlqadmin.jobs import messages
from dlqadmin.notifications import delivery_tries, emails, retention
from dlqadmin.notifications.models import ChannelDelivery
from dlqadmin.notifications.results import SendAccepted

log = logging.getLogger(__name__)
MAIL_EXPIRES_S = 3600
SWEPT = 100  # deliveries; the next sweep queues the rest


def mail_person(address: str, subject: str, body: str) -> None:
    """Queue an e-mail to one person. It is sent at most once. Raises OperationalError without a message queue."""
    send_mail.apply_async((address, subject, body), retry=False, expires=MAIL_EXPIRES_S)


@shared_task
def send_mail(address: str, subject: str, body: str) -> None:
    """Send an e-mail to one person, once."""
    result = emails.send_to(address, subject, body)
    if not isinstance(result, SendAccepted):
        log.warning("an e-mail to a person was not sent: %s", result.text)


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
