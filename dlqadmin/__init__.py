"""The dashboard: indexes dead letters, explains them, and watches the engine."""

from dlqadmin.celery import app as celery_app  # so that every process queues its tasks where the workers look

__all__ = ["celery_app"]
