"""End the sessions of a user."""

from __future__ import annotations

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.utils import timezone


def end_sessions(user: User, except_key: str | None = None) -> None:
    """Delete the user's sessions, except the one with this key.

    If they were only refused, they would become valid again when the reason is gone.
    """
    for session in Session.objects.filter(expire_date__gt=timezone.now()).iterator():
        if session.session_key != except_key and session.get_decoded().get(SESSION_KEY) == str(user.pk):
            session.delete()
