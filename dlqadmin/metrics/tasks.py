"""Celery tasks that collect metrics and delete old ones."""

from celery import shared_task
from django.utils import timezone

from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.metrics import collector, task_hours


@shared_task
def collect_metrics() -> None:
    """Read the status topic to its end. If Kafka is unavailable, the next run tries again."""
    try:
        collector.collect()
    except BrokerUnavailable:
        return


@shared_task
def prune_metrics() -> None:
    """Delete old minutes and hours. Minutes are rolled up first; an error there keeps them."""
    now = timezone.now()
    task_hours.roll_up(now)
    collector.prune(now - collector.MINUTES_KEPT)
    task_hours.prune(now)


@shared_task
def roll_up_minutes() -> None:
    """Add the minutes of past hours to the hours of the tasks."""
    task_hours.roll_up(timezone.now())
