"""Celery tasks that collect metrics and delete old ones."""

from datetime import timedelta

from celery import shared_task
from django.utils import timezone

from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.metrics import collector

KEPT_DAYS = 30


@shared_task
def collect_metrics() -> None:
    """Read the status topic to its end. If Kafka is unavailable, the next run tries again."""
    try:
        collector.collect()
    except BrokerUnavailable:
        return


@shared_task
def prune_metrics() -> None:
    """Delete minutes older than thirty days."""
    collector.prune(timezone.now() - timedelta(days=KEPT_DAYS))
