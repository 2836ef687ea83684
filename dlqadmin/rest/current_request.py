"""The request that this thread or task is answering, the client's address, and the ids of its log lines."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.http import FileResponse, HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware
from django.utils.functional import SimpleLazyObject

from dlqadmin import tracing
from dlqadmin.logs import context
from dlqadmin.logs.context import Id
from dlqadmin.tracing import TracedSpan

REQUEST_ID_HEADER = "X-Request-ID"
# Routes whose log lines carry a further id: its name, the route's parameter, and the id as text.
_ROUTE_IDS = {
    "api/v1/connectors/<str:name>": ("connector", "name", "{}"),
    "api/v1/replays/<int:pk>": ("replay", "pk", "R-{}"),
}

_current: ContextVar[HttpRequest | None] = ContextVar("current_request", default=None)


def current_request() -> HttpRequest | None:
    """Return the request being answered; None in a worker, a command or a migration."""
    return _current.get()


def client_address(request: Any) -> str | None:
    """Return the client's IP address as text; None if the server reports none.

    There is none on a Unix socket. Clients can forge X-Forwarded-For, and a proxy appends the address
    that it saw. So only the last entry is used, and only if BEHIND_PROXY is set.
    """
    seen = None
    if settings.BEHIND_PROXY:
        seen = _parsed(request.META.get("HTTP_X_FORWARDED_FOR", "").rpartition(",")[2])
    address = seen or _parsed(request.META.get("REMOTE_ADDR") or "")
    return str(address) if address else None


class IdentifiedAsgi:
    """An ASGI application whose requests have an id before Django sees them, and until the server logs the response."""

    def __init__(self, app: Callable[..., Awaitable[None]]) -> None:
        self._app = app

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        """Serve one request."""
        given = dict(scope.get("headers", ())).get(REQUEST_ID_HEADER.lower().encode(), b"")
        with context.bound(request_id=context.given_or_new_id(given.decode("latin-1"))):
            await self._app(scope, receive, send)


@sync_and_async_middleware
def current_request_middleware(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Make the request available to all code that runs while it is answered, and its ids to the log lines.

    The response has the request's id.
    """
    if iscoroutinefunction(get_response):

        async def answer_async(request: HttpRequest) -> HttpResponseBase:
            ids = _ids(request)
            with context.bound(**ids), _answering(request), _traced(request) as span:
                return _identified(_kept_while_streaming(await get_response(request), request, ids), span)

        return answer_async

    def answer(request: HttpRequest) -> HttpResponseBase:
        ids = _ids(request)
        with context.bound(**ids), _answering(request), _traced(request) as span:
            return _identified(_kept_while_streaming(get_response(request), request, ids), span)

    return answer


def _kept_while_streaming(response: Any, request: HttpRequest, ids: Mapping[str, Id]) -> HttpResponseBase:
    """Make the request available to the code that a streamed response still runs, after the view has returned."""
    if response.streaming and not isinstance(response, FileResponse):
        content = response.streaming_content
        if response.is_async:
            response.streaming_content = _steps_async(content, request, ids)
        else:
            response.streaming_content = _steps(content, request, ids)
    return response  # type: ignore[no-any-return]  # Django types middleware loosely


async def _steps_async(
    content: AsyncIterator[bytes], request: HttpRequest, ids: Mapping[str, Id]
) -> AsyncIterator[bytes]:
    try:
        while True:
            with context.bound(**ids), _answering(request):
                try:
                    part = await anext(content)
                except StopAsyncIteration:
                    return
            yield part
    finally:
        if closing := getattr(content, "aclose", None):
            await closing()


def _steps(content: Iterator[bytes], request: HttpRequest, ids: Mapping[str, Id]) -> Iterator[bytes]:
    while True:
        with context.bound(**ids), _answering(request):
            try:
                part = next(content)
            except StopIteration:
                return
        yield part


@contextmanager
def _answering(request: HttpRequest) -> Iterator[None]:
    token = _current.set(request)
    try:
        yield
    finally:
        _current.reset(token)


def _ids(request: HttpRequest) -> dict[str, Id]:
    """Return the ids of the request's log lines. User and route are known only while it is answered."""
    return {
        "request_id": context.request_id() or context.given_or_new_id(request.headers.get(REQUEST_ID_HEADER)),
        "user_id": lambda: _user_id(request),
        **{name: _route_id(request, name) for name, _, _ in _ROUTE_IDS.values()},
    }


def _user_id(request: Any) -> int | None:
    """Return the user's number, once somebody else has asked for the user: a log line must not query the database."""
    user = getattr(request, "user", None)
    known = getattr(request, "_cached_user", None) if isinstance(user, SimpleLazyObject) else user
    return getattr(known, "pk", None)


def _route_id(request: HttpRequest, wanted: str) -> Callable[[], str | None]:
    def find() -> str | None:
        match = request.resolver_match
        for route, (name, parameter, text) in _ROUTE_IDS.items():
            if match is not None and name == wanted and match.route.startswith(route):
                return text.format(match.kwargs[parameter])
        return None

    return find


@contextmanager
def _traced(request: HttpRequest) -> Iterator[TracedSpan]:
    """Trace the request. The span's parent is that of the browser or proxy, if it sends one."""
    parent = {name: request.headers[name] for name in tracing.HEADERS if name in request.headers}
    method = request.method or ""
    with tracing.span(method, tracing.SERVER, parent) as span:
        try:
            yield span
        finally:
            if (match := request.resolver_match) is not None:  # a path may name a topic's record, its route does not
                span.rename(f"{method} {match.route}")
                span.note(http__request__method=method, http__route=match.route)


def _identified(response: HttpResponseBase, span: TracedSpan) -> HttpResponseBase:
    span.note(http__response__status_code=response.status_code)
    response.headers[REQUEST_ID_HEADER] = context.request_id() or ""
    return response


def _parsed(text: str) -> IPv4Address | IPv6Address | None:
    """Parse an address that may carry a port.

    An IPv4 address in IPv6 form is returned as IPv4. Returns None for anything else.
    """
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        found = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found
