from __future__ import annotations

import pytest
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.core.exceptions import ImproperlyConfigured
from django.http import HttpRequest, HttpResponse
from django.test import Client
from pytest_django import Settings

from dlqadmin.accounts import session_limits
from dlqadmin.accounts.middleware import SessionLimitMiddleware
from dlqadmin.accounts.session_limits import SessionEnded
from dlqadmin.settings import environment

HOUR_S, MINUTE_S = 3600.0, 60.0


def view(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


class Clock:
    """Tells the time it is set to."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class Visit:
    """A session that asks through the middleware."""

    def __init__(self) -> None:
        self.clock, self.session = Clock(), SessionStore()
        self.session[SESSION_KEY] = "1"
        session_limits.start_limits(self.session, self.clock())
        self._middleware = SessionLimitMiddleware(view, self.clock)

    def after(self, seconds: float, *, active: bool = False) -> str | None:
        """Ask after so long; return why the session has ended, None while it goes on."""
        self.clock.now += seconds
        request = HttpRequest()
        request.session = self.session
        self.session.modified = False
        if active:
            request.META["HTTP_X_USER_ACTIVE"] = "1"
        self._middleware.process_view(request, view, (), {})
        ended: SessionEnded | None = getattr(request, "session_ended", None)
        assert (SESSION_KEY in self.session) is (ended is None)
        return ended.problem_code if ended else None


@pytest.fixture
def visit(db: None) -> Visit:  # activity is also noted for the person
    return Visit()


def test_polling_does_not_move_the_idle_limit(visit: Visit) -> None:
    assert [visit.after(10 * MINUTE_S) for _ in range(3)] == [None, None, "session_idle"]


def test_activity_moves_the_idle_limit(visit: Visit) -> None:
    assert [visit.after(29 * MINUTE_S, active=True) for _ in range(5)] == [None] * 5


def test_activity_does_not_move_the_age_limit(visit: Visit) -> None:
    assert {visit.after(6 * MINUTE_S, active=True) for _ in range(119)} == {None}
    assert visit.after(6 * MINUTE_S, active=True) == "session_expired"


def test_activity_after_the_end_is_too_late(visit: Visit) -> None:
    assert [visit.after(gap, active=True) for gap in (30 * MINUTE_S, 0.0, 12 * HOUR_S)] == ["session_idle"] * 3


def test_activity_is_written_once_a_minute(visit: Visit) -> None:
    writes = []
    for _ in range(240):
        assert visit.after(1.0, active=True) is None
        writes.append(visit.session.modified)
    assert writes.count(True) == 4


def test_a_short_idle_limit_is_written_often_enough(visit: Visit, settings: Settings) -> None:
    settings.SESSION_IDLE_MINUTES = 1.0
    assert {visit.after(5.0, active=True) for _ in range(60)} == {None}


@pytest.mark.parametrize(
    ("minutes", "hours", "idle", "aged"),
    [
        (1.0, 1.0, "after 1 minute without activity", "1 hour after you signed in"),
        (7.5, 24.0, "after 7.5 minutes without activity", "24 hours after you signed in"),
    ],
)
def test_the_reason_names_the_limit(settings: Settings, minutes: float, hours: float, idle: str, aged: str) -> None:
    settings.SESSION_IDLE_MINUTES, settings.SESSION_ABSOLUTE_HOURS = minutes, hours
    assert str(SessionEnded("session_idle").detail) == f"Your session ended {idle}. Sign in again."
    assert str(SessionEnded("session_expired").detail) == f"Your session ended {aged}. Sign in again."


@pytest.mark.parametrize("given", ["0", "-1", "0.0"])
def test_a_limit_that_is_none_stops_the_start(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("SESSION_IDLE_MINUTES", given)
    with pytest.raises(ImproperlyConfigured, match=r"SESSION_IDLE_MINUTES is .* Set it to a number above 0"):
        environment.limit("SESSION_IDLE_MINUTES", 30.0, "minutes", "")


def test_the_frontends_page_comes_without_a_database(client: Client) -> None:
    client.cookies["sessionid"] = "a-session-that-would-be-looked-up"
    assert client.get("/groups/7").status_code in (200, 503)  # 503 where the frontend is not built
