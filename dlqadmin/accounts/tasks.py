"""Celery tasks that delete expired sessions."""

from celery import shared_task
from django.contrib.sessions.backends.db import SessionStore


@shared_task
def prune_sessions() -> None:
    """Delete sessions past their expiry date."""
    SessionStore.clear_expired()
