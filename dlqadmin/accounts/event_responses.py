"""Responses that stream a document as server-sent events, as long as the reader may view it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from asgiref.sync import sync_to_async
from django.db import connection
from django.http import StreamingHttpResponse
from rest_framework.request import Request

from dlqadmin.accounts.authentication import current_user
from dlqadmin.audit.permissions import VIEW, has_permission, reach_of
from dlqadmin.rest.documents import Document
from dlqadmin.rest.event_stream import StreamTimes, events
from dlqadmin.teams.reach import reaching

Streamed = TypeVar("Streamed", bound=Document)


def stream(
    request: Request,
    name: str,
    read: Callable[[], Streamed | None],
    times: StreamTimes,
    is_over: Callable[[Streamed], bool] = lambda _: False,
) -> StreamingHttpResponse:
    """Return a response that sends the document after each change, as events with this name.

    It ends when `read` returns None, or when the reader's session or token ends.
    """
    release_connection()
    read_async = sync_to_async(lambda: read_for(request, read), thread_sensitive=False)
    return StreamingHttpResponse(
        events(name, read_async, is_over, times),
        content_type="text/event-stream",
        headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
    )


def read_for(request: Request, read: Callable[[], Streamed | None]) -> Streamed | None:
    """Return the document; None if it does not exist, or if the reader may not view it any more.

    The database is asked for the reader's permission, not the user that the request has cached.
    """
    try:
        user = current_user(request)
        if not has_permission(user, VIEW):
            return None
        with reaching(reach_of(user, VIEW)):
            return read()
    finally:
        release_connection()


def release_connection() -> None:
    """Close the database connection. A stream lives for minutes, and a database has few connections."""
    if not connection.in_atomic_block:
        connection.close()
