"""Request checks for the REST API: host, origin, credentials, throttling, and JSON bodies."""

from __future__ import annotations

import asyncio
import logging
import math
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from time import monotonic
from weakref import WeakKeyDictionary

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.cors import CORSMiddleware
from starlette.types import Message, Receive, Scope, Send

from engine.config.rest import CONNECT_METHODS, MAX_REQUEST_BYTES
from engine.rest.credentials import Credentials, basic_credentials
from engine.rest.json_response import JsonResponse
from engine.rest.throttle import Throttle

log = logging.getLogger("engine")

OPEN_PATH = "/health"  # for health checks of containers; it tells nothing that needs credentials
BODY_TIMEOUT_S = 30.0
LINGER_S, LINGER_BYTES = 2.0, 4 * 1024 * 1024  # of a refused body that are still read, and dropped
MOST_HASHES = 2  # at a time per listener: each takes a core
CORS_HEADERS = ("Accept", "Authorization", "Content-Type", "Origin", "X-Requested-With")
ALWAYS = {
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
}
_AUTHORITY = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^\[\]:@/?#\s]+)(?::\d{1,5})?")
_ADDRESS = re.compile(r"[0-9.]+|[0-9a-f:.]*:[0-9a-f:.]*")  # IPv4 or IPv6


@dataclass(frozen=True, slots=True)
class AccessRules:
    """The rules for clients. If `credentials` is None, every client of a permitted host and origin is admitted."""

    hosts: frozenset[str]
    credentials: Credentials | None
    origins: tuple[str, ...] = ()
    methods: tuple[str, ...] = CONNECT_METHODS
    max_request_bytes: int = MAX_REQUEST_BYTES
    throttle: Throttle = field(default_factory=lambda: Throttle(monotonic))


class RejectedRequest(Exception):
    """A rejected request. It becomes a response with Kafka Connect's error body."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(status, message, headers)
        self.status, self.message, self.headers = status, message, dict(headers or {})


class RequestChecks:
    """The ASGI application that is served: the routes of `app` behind the rules of `access`."""

    def __init__(self, app: Starlette, access: AccessRules) -> None:
        self.app, self._access = app, access
        self._hashing: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()
        self._cors = CORSMiddleware(
            self._admit, allow_origins=access.origins, allow_methods=access.methods, allow_headers=CORS_HEADERS
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":  # websockets and lifespan events are not supported
            return
        send = _with_headers(send)
        try:
            headers = Headers(scope=scope)
            self._check_host(scope, headers)
            self._check_origin(scope, headers)
        except RejectedRequest as refused:
            await _answer(refused, scope, receive, send)
            return
        # CORS comes first: preflight requests carry no credentials, and permitted pages must be able to read refusals.
        await (self._cors if self._access.origins else self._admit)(scope, receive, send)

    async def _admit(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check credentials, then the kind and size of the body, before reading the body."""
        try:
            headers = Headers(scope=scope)
            await self._check_credentials(scope, headers)
            body = await self._body(headers, receive)
        except RejectedRequest as refused:
            await _answer(refused, scope, receive, send)
            return
        await self.app(scope, _once(body, receive), send)

    def _check_host(self, scope: Scope, headers: Headers) -> None:
        """Check the Host header against DNS rebinding. A rebound page still sends its own name in `Host`."""
        given = headers.getlist("host")
        host = host_of(given[0]) if len(given) == 1 else None
        server = scope.get("server")
        # The address of this connection is not a name, so nobody can have rebound it.
        reached = host is not None and server is not None and _ADDRESS.fullmatch(host) and host == server[0]
        if host is None or not (host in self._access.hosts or reached):
            raise RejectedRequest(
                421, "The REST API does not accept this host name. Add it to the worker's rest.allowed.hosts."
            )

    def _check_origin(self, scope: Scope, headers: Headers) -> None:
        """Check the origin that browsers send. Other clients send none, and need no such permission."""
        origins = headers.getlist("origin")
        allowed = self._access.origins
        if "*" in allowed or (len(origins) == 1 and origins[0].lower() in allowed):
            return
        host = headers["host"].lower()
        if any(origin.lower() not in {f"http://{host}", f"https://{host}"} for origin in origins):
            raise RejectedRequest(
                403, "Web pages of this origin can't use the REST API. Add the origin to access.control.allow.origin."
            )
        is_link = (
            scope["method"] in {"GET", "HEAD"}
            and headers.get("sec-fetch-mode") == "navigate"
            and headers.get("sec-fetch-dest") == "document"
        )
        if headers.get("sec-fetch-site") in {"cross-site", "same-site"} and not is_link:
            raise RejectedRequest(
                403, "Web pages of other sites can't use the REST API. Add their origin to access.control.allow.origin."
            )

    async def _check_credentials(self, scope: Scope, headers: Headers) -> None:
        """Raise RejectedRequest for unknown clients. The open path needs no credentials."""
        credentials = self._access.credentials
        if credentials is None:
            return
        given = headers.getlist("authorization")
        if not given and scope["path"] == OPEN_PATH and scope["method"] in {"GET", "HEAD"}:
            if _has_body(headers):
                raise RejectedRequest(
                    401, "A request with a body needs the worker's credentials.", _challenge(credentials)
                )
            return
        if not given:
            raise RejectedRequest(401, "The request needs the worker's credentials.", _challenge(credentials))
        scheme, _, value = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        # A token is too long to be guessed, so failures from an address do not lock out token holders there.
        if scheme.lower() == "bearer" and credentials.accepts_token(value.strip()):
            return
        address = scope["client"][0] if scope.get("client") else ""
        throttle = self._access.throttle
        async with self._hashing.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(MOST_HASHES)):
            wait_s = throttle.reserve(address)
            if wait_s > 0:
                message = "This address sent wrong credentials too often. Try again later."
                raise RejectedRequest(429, message, {"retry-after": str(math.ceil(wait_s))})
            if scheme.lower() == "basic" and await _has_password(credentials, value.strip()):
                throttle.take_back(address)
                return
        log.warning("REST API: Rejected wrong credentials from %s", address)
        raise RejectedRequest(401, "The credentials are wrong.", _challenge(credentials))

    async def _body(self, headers: Headers, receive: Receive) -> bytes:
        """Return the whole body of a request; empty if it has none. Raises RejectedRequest."""
        declared = headers.get("content-length", "0")
        if not _has_body(headers):
            return b""
        # Any page can send text/plain or a form without permission, but JSON only after a preflight request.
        media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
        if media_type != "application/json":
            raise RejectedRequest(415, "A request body must be JSON. Set the header Content-Type: application/json.")
        limit = self._access.max_request_bytes
        too_large = RejectedRequest(413, f"The request body is larger than {limit} bytes (rest.max.request.bytes).")
        if not declared.isdecimal() or int(declared) > limit:
            raise too_large
        body = bytearray()
        try:
            async with asyncio.timeout(BODY_TIMEOUT_S):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise RejectedRequest(400, "The connection was closed before the request body was complete.")
                    body += message.get("body", b"")
                    if len(body) > limit:
                        raise too_large
                    if not message.get("more_body", False):
                        return bytes(body)
        except TimeoutError:
            raise RejectedRequest(408, f"The request body was not complete after {BODY_TIMEOUT_S:.0f} s.") from None


def host_of(authority: str) -> str | None:
    """Return the host of `host:port` in lower case, without brackets; None if it is malformed."""
    match = _AUTHORITY.fullmatch(authority)
    return match[1].strip("[]").lower().removesuffix(".") if match else None


def _has_body(headers: Headers) -> bool:
    return "transfer-encoding" in headers or headers.get("content-length", "0") != "0"


async def _has_password(credentials: Credentials, value: str) -> bool:
    pair = basic_credentials(value)
    return pair is not None and await run_in_threadpool(credentials.accepts_password, *pair)


def _challenge(credentials: Credentials) -> dict[str, str]:
    """Return the authentication schemes to offer (RFC 9110, section 11.6.1)."""
    schemes = {
        'Basic realm="engine", charset="UTF-8"': credentials.takes_passwords,
        'Bearer realm="engine"': credentials.takes_tokens,
    }
    return {"www-authenticate": ", ".join(scheme for scheme, is_offered in schemes.items() if is_offered)}


async def _answer(refused: RejectedRequest, scope: Scope, receive: Receive, send: Send) -> None:
    body = {"error_code": refused.status, "message": refused.message}
    # Close the connection, because nobody uses the rest of a refused body.
    headers = {**refused.headers, "connection": "close"}
    await JsonResponse(body, refused.status, headers=headers)(scope, receive, _lingering(scope, receive, send))


def _lingering(scope: Scope, receive: Receive, send: Send) -> Send:
    """Return a send function that drops the rest of the request's body between the response and the close.

    A connection that is closed with unread bytes is reset, and the client may lose the response.
    """
    headers = Headers(scope=scope)
    if not _has_body(headers) or "expect" in headers:  # a client that expects a permission sends nothing without it
        return send

    async def sending(message: Message) -> None:
        if message["type"] != "http.response.body" or message.get("more_body", False):
            await send(message)
            return
        await send({**message, "more_body": True})
        await _drop_body(receive)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    return sending


async def _drop_body(receive: Receive) -> None:
    dropped = 0
    with suppress(TimeoutError):
        async with asyncio.timeout(LINGER_S):
            while dropped < LINGER_BYTES:
                message = await receive()
                dropped += len(message.get("body", b""))
                if message["type"] == "http.disconnect" or not message.get("more_body", False):
                    return


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(ALWAYS)
        await send(message)

    return sending


def _once(body: bytes, receive: Receive) -> Receive:
    """Return a receive function: first the body that was read, then the server's messages (disconnects)."""
    is_sent = False

    async def receiving() -> Message:
        nonlocal is_sent
        if is_sent:
            return await receive()
        is_sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receiving
