"""An HTTP client for sinks: checked addresses, no redirects, bounded answers, and the engine's exceptions."""

from __future__ import annotations

import logging
import socket
import ssl
import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple

import httpx2

from engine.config.options import Option
from engine.config.permissions import Permissions
from engine.errors import VALUE, ConfigError, DataError, Message, RetriableError, Throttling
from engine.http_rules import is_refused, retry_after_ms

SHOWN_BYTES = 500  # of a refusal, in error messages
ANSWER_BYTES = 64 * 1024  # read of an answer that nobody needs, so that its connection can be used again
ADDRESSES_S = 30.0  # how long the addresses of a host are kept
RETRIED = (408, 425, 429)
SERVER_ERRORS = 500

TRUSTED = Option(
    "ssl.truststore.certificates",
    "string",
    "",
    "Certificates to trust, as PEM texts. If empty, those of the system.",
)

for library in ("httpx2", "httpcore2"):
    # Their lines quote URLs and headers, and so secrets, and answers that may quote a record.
    logging.getLogger(library).setLevel(logging.CRITICAL)

Resolve = Callable[[str, int], list[str]]


class HttpAnswer(NamedTuple):
    """An answer: status, body up to the limit of the request, and the pause (ms) that it asks for, 0 if none."""

    status: int
    body: bytes
    pause_ms: int = 0

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


class TargetRejection(DataError):
    """The target of a sink refused a record."""


class HttpClient:
    """A client for one option that holds a URL. It uses no proxy, cookie or credential of the worker's environment.

    Several threads may send at once, each over a connection of its own.
    """

    def __init__(
        self,
        permissions: Permissions,
        option: str,
        timeout_s: float,
        ca_pem: str = "",
        resolve: Resolve | None = None,
        connect_s: float | None = None,
    ) -> None:
        """Trust the certificates in `ca_pem`, or the system's if it is empty. Raises ConfigError.

        `timeout_s` limits the wait for a connection, unless `connect_s` does, and for an answer.
        """
        transport = CheckedTransport(permissions, option, trust(ca_pem), resolve or addresses_of)
        timeout = httpx2.Timeout(timeout_s, connect=connect_s or timeout_s)
        self._client = httpx2.Client(
            transport=transport, timeout=timeout, follow_redirects=False, trust_env=False, headers=_HEADERS
        )
        self._timeout_s = timeout_s

    def send(
        self, method: str, url: str, content: bytes | None, headers: Mapping[str, str], most_bytes: int = ANSWER_BYTES
    ) -> HttpAnswer:
        """Send a request and return its answer. Raises RetriableError, and ConfigError for a forbidden address."""
        late_s = time.monotonic() + self._timeout_s
        try:
            with self._client.stream(method, url, content=content, headers=headers) as response:
                body = bytearray()
                # Raw, because a compressed answer may be a thousand times as large.
                for part in response.iter_raw():
                    body += part[: most_bytes - len(body)]
                    if len(body) >= most_bytes or time.monotonic() > late_s:
                        break
                return HttpAnswer(response.status_code, bytes(body), pause_of(response.headers))
        except httpx2.TimeoutException:
            raise RetriableError(f"the target did not answer within {self._timeout_s:g} s") from None
        except httpx2.RequestError as error:
            raise RetriableError(f"the target can't be reached: {error or type(error).__name__}") from None

    def close(self) -> None:
        self._client.close()


# As many connections as threads that send: a thread that waited for another's connection would time out.
_LIMITS = httpx2.Limits(max_connections=None, max_keepalive_connections=None)
_HEADERS = {"User-Agent": "dlqadmin-engine", "Accept-Encoding": "identity"}


class CheckedTransport(httpx2.BaseTransport):
    """Connects only to allowed addresses. The host is resolved here and the connection goes to the checked address.

    A name that is resolved again by the client could have another address then.
    """

    def __init__(self, permissions: Permissions, option: str, context: ssl.SSLContext, resolve: Resolve) -> None:
        self._permissions = permissions
        self._option = option
        self._resolve = resolve
        self._inner = httpx2.HTTPTransport(verify=context, trust_env=False, limits=_LIMITS)
        self._known: dict[tuple[str, int], tuple[float, list[str]]] = {}

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        url = request.url
        problem = self._permissions.url_problem(str(url))
        if problem is not None:
            raise ConfigError(((self._option, None, problem),))
        host, port = url.host, url.port or (443 if url.scheme == "https" else 80)
        *others, last = self._addresses(host, port)
        for address in others:
            try:
                return self._inner.handle_request(_addressed(request, host, address))
            except httpx2.ConnectError:
                continue  # nothing was sent
        try:
            return self._inner.handle_request(_addressed(request, host, last))
        except httpx2.ConnectError:
            self._known.clear()  # the host may have moved
            raise

    def close(self) -> None:
        self._inner.close()

    def _addresses(self, host: str, port: int) -> list[str]:
        now = time.monotonic()
        until, found = self._known.get((host, port), (0.0, []))
        if until > now:
            return found
        found = self._resolve(host, port)
        for address in found:
            if is_refused(address):
                text = f"leads to {address}, a link-local, multicast or metadata address, which is never allowed"
                raise ConfigError(((self._option, None, text),))
        self._known[host, port] = (now + ADDRESSES_S, found)
        return found


@cache
def trust(ca_pem: str) -> ssl.SSLContext:
    """Return the TLS context that trusts these certificates, or the system's. Raises ConfigError.

    It is kept, because the system's certificates take 0.1 s to load.
    """
    try:
        return ssl.create_default_context(cadata=ca_pem or None)
    except ssl.SSLError:
        text = "has no certificate that can be read; write PEM texts"
        raise ConfigError(((TRUSTED.name, None, text),)) from None


def addresses_of(host: str, port: int) -> list[str]:
    """Return the addresses of a host. Raises RetriableError."""
    try:
        rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise RetriableError(f"the name {host} can't be resolved: {error}") from None
    return list(dict.fromkeys(str(row[4][0]) for row in rows))


def retriable_error(answer: HttpAnswer) -> RetriableError | None:
    """Return the error of an answer that may change by itself, or None."""
    if answer.status not in RETRIED and answer.status < SERVER_ERRORS:
        return None
    text = f"the target answered HTTP {answer.status}"
    return Throttling(text, answer.pause_ms) if answer.pause_ms else RetriableError(text)


def rejection(status: int, reason: bytes) -> TargetRejection:
    """Return the error of a refused record. The reason is content, because it may quote the record."""
    shown = reason[:SHOWN_BYTES].decode(errors="replace").strip()
    return TargetRejection(Message(f"the target answered HTTP {status}: {VALUE}", shown or "(no text)"))


def _addressed(request: httpx2.Request, host: str, address: str) -> httpx2.Request:
    """Return the request for an address. Its Host header and the name in its TLS handshake stay."""
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": host},
    )


def pause_of(headers: httpx2.Headers) -> int:
    """Return the pause (ms) of the header Retry-After; 0 if there is none."""
    return retry_after_ms(headers.get("retry-after", ""))
