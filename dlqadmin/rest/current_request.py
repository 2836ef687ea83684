"""The request that this thread or task is answering, and the client's address."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextvars import ContextVar
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.http import FileResponse, HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

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


@sync_and_async_middleware
def current_request_middleware(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    """Make the request available to all code that runs while it is answered."""
    if iscoroutinefunction(get_response):

        async def answer_async(request: HttpRequest) -> HttpResponseBase:
            token = _current.set(request)
            try:
                return _kept_while_streaming(await get_response(request), request)
            finally:
                _current.reset(token)

        return answer_async

    def answer(request: HttpRequest) -> HttpResponseBase:
        token = _current.set(request)
        try:
            return _kept_while_streaming(get_response(request), request)
        finally:
            _current.reset(token)

    return answer


def _kept_while_streaming(response: Any, request: HttpRequest) -> HttpResponseBase:
    """Make the request available to the code that a streamed response still runs, after the view has returned."""
    if response.streaming and not isinstance(response, FileResponse):
        content = response.streaming_content
        response.streaming_content = _steps_async(content, request) if response.is_async else _steps(content, request)
    return response  # type: ignore[no-any-return]  # Django types middleware loosely


async def _steps_async(content: AsyncIterator[bytes], request: HttpRequest) -> AsyncIterator[bytes]:
    try:
        while True:
            token = _current.set(request)
            try:
                part = await anext(content)
            except StopAsyncIteration:
                return
            finally:
                _current.reset(token)
            yield part
    finally:
        if closing := getattr(content, "aclose", None):
            await closing()


def _steps(content: Iterator[bytes], request: HttpRequest) -> Iterator[bytes]:
    while True:
        token = _current.set(request)
        try:
            part = next(content)
        except StopIteration:
            return
        finally:
            _current.reset(token)
        yield part


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
