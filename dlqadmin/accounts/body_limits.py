"""Limits on request bodies, enforced before Django reads a byte.

Django itself stores the whole body first, on disk too.
"""

from __future__ import annotations

import io
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any, NamedTuple

from asgiref.sync import sync_to_async
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.handlers.asgi import ASGIRequest
from django.core.handlers.wsgi import WSGIRequest
from django.db import close_old_connections
from django.http import HttpRequest, HttpResponse
from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.settings import api_settings

from dlqadmin.accounts.middleware import SessionLimitMiddleware
from dlqadmin.audit.permissions import VIEW, has_permission
from dlqadmin.rest.problems import problem

KB, MB = 1024, 1024**2
ANONYMOUS_BYTES = 64 * KB  # a sign-in is about a hundred bytes
DEFAULT_BYTES = 1 * MB


class UploadRoute(NamedTuple):
    """A kind of request whose body may be larger than the default."""

    method: str
    path: re.Pattern[str]
    most_bytes: int


UPLOADS = (
    UploadRoute("POST", re.compile(r"/api/v1/bulk-fixes/import"), 50 * MB),
    UploadRoute("PUT", re.compile(r"/api/v1/dead-letters/\d+/fix"), 12 * MB),  # a record of 8 MB in base64
    UploadRoute("POST", re.compile(r"/api/v1/rehearsals"), 12 * MB),  # a value of 1 Mi characters, all escaped
)

MOST_BYTES = max(row.most_bytes for row in UPLOADS)

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[Mapping[str, Any]]]
Send = Callable[[Mapping[str, Any]], Awaitable[None]]


def limit_bytes(method: str, path: str) -> int:
    """Return the largest allowed body of this request, for a sender with a role."""
    found = (row.most_bytes for row in UPLOADS if row.method == method and row.path.fullmatch(path))
    return next(found, DEFAULT_BYTES)


def sender_bytes(request: HttpRequest) -> int:
    """Return the largest body that the sender of a request may send, by session or token.

    The body is not read.
    """
    request.method = "GET"  # a CSRF check, which methods like POST need, would read the body
    SessionMiddleware(_assert_unused).process_request(request)
    SessionLimitMiddleware(_assert_unused).process_view(request, _assert_unused, (), {})  # an ended session has no user
    AuthenticationMiddleware(_assert_unused).process_request(request)
    classes: Any = api_settings.DEFAULT_AUTHENTICATION_CLASSES
    own = [authenticator() for authenticator in classes]
    try:
        user = Request(request, authenticators=own).user
        if not user.is_authenticated:
            return ANONYMOUS_BYTES
        return MOST_BYTES if has_permission(user, VIEW) else DEFAULT_BYTES
    except APIException:
        return ANONYMOUS_BYTES
    finally:
        close_old_connections()  # Django does so at the end of a request, but this is not a request


class LimitedAsgi:
    """An ASGI application with limited request bodies. It answers larger ones with 413."""

    def __init__(self, app: Callable[[Scope, Receive, Send], Any]) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = _RequestBody(scope, receive)
        if not await body.is_allowed(body.declared_bytes):
            await _refuse(send, body.refusal)
            return
        sent = _ResponseSender(send)
        await self._app(scope, body.receive, sent.send)
        if body.refusal and not sent.is_begun:
            await _refuse(send, body.refusal)


class LimitedWsgi:
    """A WSGI application with limited request bodies. Django reads at most Content-Length bytes."""

    def __init__(self, app: Callable[..., Iterable[bytes]]) -> None:
        self._app = app

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """Serve one request."""
        method, path = environ["REQUEST_METHOD"], environ.get("PATH_INFO", "/")
        declared = _content_length(environ.get("CONTENT_LENGTH", ""))
        most = limit_bytes(method, path)
        # Authenticate the sender only if the limit depends on it.
        if ANONYMOUS_BYTES < declared <= most:
            most = min(most, sender_bytes(WSGIRequest({**environ, "wsgi.input": io.BytesIO()})))
        if declared <= max(most, ANONYMOUS_BYTES):
            return self._app(environ, start_response)
        response = _too_large(path, most)
        start_response(f"413 {HTTPStatus(413).phrase}", list(response.items()))
        return [response.content]


class _RequestBody:
    """The body of one ASGI request, counted while it arrives."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        self._scope, self._receive = scope, receive
        self._most = limit_bytes(scope["method"], scope["path"])
        self._read_bytes = 0
        self._is_sender_asked = False
        self.refusal: HttpResponse | None = None
        headers = dict(scope["headers"])
        self.declared_bytes = _content_length(headers.get(b"content-length", b"").decode("latin-1"))

    async def is_allowed(self, size_bytes: int) -> bool:
        """Return whether a body may have this size; if not, `refusal` is the response.

        The sender is authenticated at most once.
        """
        if size_bytes <= ANONYMOUS_BYTES:
            return True
        if size_bytes <= self._most and not self._is_sender_asked:
            request = ASGIRequest({**self._scope, "method": "GET"}, io.BytesIO())
            self._most = min(self._most, await sync_to_async(sender_bytes)(request))
            self._is_sender_asked = True
        if size_bytes > self._most:
            self.refusal = _too_large(self._scope["path"], self._most)
        return size_bytes <= self._most

    async def receive(self) -> Mapping[str, Any]:
        """Return the next message. Once the body is too large, tell Django that the client disconnected."""
        if self.refusal:
            return {"type": "http.disconnect"}
        message = await self._receive()
        self._read_bytes += len(message.get("body", b""))
        return message if await self.is_allowed(self._read_bytes) else {"type": "http.disconnect"}


class _ResponseSender:
    """A wrapper of `send` that records whether the application has started its response."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.is_begun = False

    async def send(self, message: Mapping[str, Any]) -> None:
        self.is_begun = True
        await self._send(message)


def _too_large(path: str, most_bytes: int) -> HttpResponse:
    size = f"{most_bytes // MB} MB" if most_bytes >= MB else f"{most_bytes // KB} KB"
    detail = f"The body is larger than {size}, the limit for this request."
    if most_bytes == ANONYMOUS_BYTES:
        detail = f"Sign in to send more than {size}."
    response = problem(path, 413, detail)
    response["Content-Length"] = str(len(response.content))
    response["Cache-Control"] = "no-store"
    response["X-Content-Type-Options"] = "nosniff"
    return response


async def _refuse(send: Send, response: HttpResponse | None) -> None:
    assert response is not None
    headers = [(name.lower().encode(), value.encode()) for name, value in response.items()]
    headers.append((b"connection", b"close"))  # the rest of the body is not read
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": response.content})


def _content_length(text: str) -> int:
    """Return a Content-Length as a number; an invalid one is 0, as in Django."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 19 else 0


def _assert_unused(request: HttpRequest) -> HttpResponse:
    raise AssertionError("these middlewares handle only requests")
