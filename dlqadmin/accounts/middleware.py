"""End sessions that exceed a limit, before other code reads their user."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from django.contrib.auth import SESSION_KEY
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.deprecation import MiddlewareMixin

from dlqadmin.accounts import last_seen, session_limits
from dlqadmin.accounts.session_limits import ENDED, SessionEnded
from dlqadmin.rest import pages


class SessionLimitMiddleware(MiddlewareMixin):
    """Middleware that makes the user of an ended session anonymous.

    Views find the reason in `request.session_ended`.
    """

    def __init__(
        self, get_response: Callable[[HttpRequest], HttpResponseBase], clock: Callable[[], float] = time.time
    ) -> None:
        super().__init__(get_response)
        self._clock = clock

    def process_view(self, request: HttpRequest, view: Callable[..., Any], args: Any, kwargs: Any) -> None:
        """Check the session of every request, except requests for the frontend's page.

        That page must load without a database.
        """
        if view is not pages.frontend:
            self._check(request)

    def _check(self, request: HttpRequest) -> None:
        session, now = request.session, self._clock()
        if SESSION_KEY in session:
            if reason := session_limits.exceeded_limit(session, now):
                # Keep the row without its user, so that all requests of an open screen get the same reason.
                session.clear()
                session[ENDED] = reason
            elif session_limits.is_activity(request) and session_limits.record_activity(session, now):
                last_seen.note(int(session[SESSION_KEY]), datetime.fromtimestamp(now, UTC))
        if reason := session.get(ENDED):
            request.session_ended = SessionEnded(reason)  # type: ignore[attr-defined]  # for problems.handle
