"""Celery's way to the collector."""

from datetime import timedelta

from celery import shared_task
from django.utils import timezone

from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.metrics import collecting

KEPT_DAYS = 30


@shared_task
def collect_metrics() -> None:
    """Read the status topic to its end; a broker that is away is tried again at the next beat."""
    try:
        collecting.collect()
    except BrokerUnavailable:
        return


@shared_task
def prune_metrics() -> None:
    """Forget minutes older than thirty days."""
    collecting.prune(timezone.now() - timedelta(days=KEPT_DAYS))
