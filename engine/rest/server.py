"""The REST API server, with one thread per listener."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Sequence

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from engine.config.rest import Listener, bracketed
from engine.errors import ConfigError
from engine.rest.request_checks import RequestChecks

MOST_CONNECTIONS = 256  # per listener; further connections get status 503
MOST_HEADER_BYTES = 32_768
IDLE_S = 10
HEAD_S = 10.0  # time for the head of a request; idle connections would keep other clients out


class RestServer:
    """The server. It listens once created, so that a port in use is reported early. It answers once started."""

    def __init__(
        self, listeners: Sequence[Listener], tls: ssl.SSLContext | None = None, head_s: float = HEAD_S
    ) -> None:
        self._tls, self._head_s = tls, head_s
        self._running: list[tuple[uvicorn.Server, threading.Thread]] = []
        self._listening: list[tuple[Listener, socket.socket]] = []
        for listener in listeners:
            try:
                self._listening.append((listener, _listen(listener)))
            except ConfigError:
                self.stop()
                raise

    @property
    def addresses(self) -> tuple[str, ...]:
        """Return the URL of each listener, with its actual port."""
        found = ((listener.scheme, *opened.getsockname()[:2]) for listener, opened in self._listening)
        return tuple(f"{scheme}://{bracketed(host)}:{port}" for scheme, host, port in found)

    def start(self, app: RequestChecks) -> None:
        """Start to answer requests."""
        for listener, opened in self._listening:
            server = uvicorn.Server(_config(app, self._tls if listener.scheme == "https" else None, self._head_s))
            thread = threading.Thread(target=server.run, args=([opened],), name="rest", daemon=True)
            self._running.append((server, thread))
            thread.start()

    def stop(self) -> None:
        """Finish the current requests, then stop."""
        for server, _ in self._running:
            server.should_exit = True
        for _, thread in self._running:
            thread.join(timeout=5)
        for _, opened in self._listening:
            opened.close()


def _protocol(head_s: float) -> type[asyncio.Protocol]:
    """Return HTTP/1.1 that closes a connection whose request head is not complete in time."""

    class HeadTimeoutProtocol(H11Protocol):
        _head_timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # as uvicorn's
            super().connection_made(transport)
            self._head_timer = self.loop.call_later(head_s, transport.close)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.conn.their_state is not h11.IDLE:
                self._stop_timer()
            elif self._head_timer is None:  # a head that arrives byte by byte gets no more time
                self._head_timer = self.loop.call_later(head_s, self.transport.close)

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_timer()
            super().connection_lost(exc)

        def _stop_timer(self) -> None:
            if self._head_timer is not None:
                self._head_timer.cancel()
                self._head_timer = None

    return HeadTimeoutProtocol


def _config(app: RequestChecks, tls: ssl.SSLContext | None, head_s: float) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=_protocol(head_s),
        ws="none",
        lifespan="off",
        log_config=None,  # uvicorn's lines have the format of the driver's
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,  # otherwise any local process could choose the address that is throttled
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=IDLE_S,
        h11_max_incomplete_event_size=MOST_HEADER_BYTES,
        ssl_context_factory=None if tls is None else lambda _config, _default: tls,
    )


def _listen(listener: Listener) -> socket.socket:
    family = socket.AF_INET6 if ":" in listener.host else socket.AF_INET
    try:
        return socket.create_server((listener.host, listener.port), family=family)
    except OSError as error:
        shown = f"{listener.scheme}://{listener.address}"
        raise ConfigError((("listeners", shown, f"can't listen on this address: {error.strerror}"),)) from error
