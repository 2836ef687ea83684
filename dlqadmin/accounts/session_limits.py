"""Decide when a session ends: by its age, or by its user's inactivity.

Only requests that a person caused count as activity, because the dashboard's screens refresh by themselves.
"""

from __future__ import annotations

from typing import Literal

from django.conf import settings
from django.contrib.sessions.backends.base import SessionBase
from django.http import HttpRequest
from rest_framework.exceptions import NotAuthenticated

SIGNED_IN_AT, ACTIVE_AT, ENDED = "signed_in_at", "active_at", "ended"  # keys of a session; times are Unix seconds
WRITE_EVERY_S = 60.0

Reason = Literal["session_expired", "session_idle"]


class SessionEnded(NotAuthenticated):
    """The request's session exceeded a limit. `problem_code` names the limit."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(_message(reason))
        self.problem_code = reason


def start_limits(session: SessionBase, now: float) -> None:
    """Start both limits at a sign-in."""
    session[SIGNED_IN_AT] = session[ACTIVE_AT] = now
    if session.get(ENDED):
        session[ENDED] = None


def exceeded_limit(session: SessionBase, now: float) -> Reason | None:
    """Return the limit that a signed-in session exceeds, or None.

    A session without times counts as too old.
    """
    signed_in_at, active_at = session.get(SIGNED_IN_AT), session.get(ACTIVE_AT)
    if signed_in_at is None or active_at is None or now - signed_in_at >= settings.SESSION_ABSOLUTE_HOURS * 3600:
        return "session_expired"
    return "session_idle" if now - active_at >= _idle_s() else None


def record_activity(session: SessionBase, now: float) -> bool:
    """Record activity, at most once a minute, because each record writes a database row. Return whether it did."""
    is_due: bool = now - session.get(ACTIVE_AT, 0) >= min(WRITE_EVERY_S, _idle_s() / 10)
    if is_due:
        session[ACTIVE_AT] = now
    return is_due


def is_activity(request: HttpRequest) -> bool:
    """Return whether a person caused the request.

    The frontend sends X-User-Active within a minute of an input. Browsers send Sec-Fetch-User with a
    navigation that a person started (Fetch Metadata, section 2.4), which covers the admin's pages. Other
    sites can send neither: the first needs a CORS preflight, and scripts cannot set the second.
    """
    return request.headers.get("X-User-Active") == "1" or request.headers.get("Sec-Fetch-User") == "?1"


def _idle_s() -> float:
    return float(settings.SESSION_IDLE_MINUTES * 60)


def _message(reason: Reason) -> str:
    if reason == "session_idle":
        when = f"after {_duration_text(settings.SESSION_IDLE_MINUTES, 'minute')} without activity"
    else:
        when = f"{_duration_text(settings.SESSION_ABSOLUTE_HOURS, 'hour')} after you signed in"
    return f"Your session ended {when}. Sign in again."


def _duration_text(number: float, unit: str) -> str:
    return f"{number:g} {unit}{'' if number == 1 else 's'}"
