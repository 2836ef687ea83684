"""Limits of time and bytes for all that one request to a registry reads, in every thread apart.

The HTTP client's own time limit is for each read, so a server that sends a byte now and then would never be left.
"""

from __future__ import annotations

import math
import ssl
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

import httpcore2
import httpx2

from engine.schemas.problems import RegistryUnavailable

MOST_BYTES = 8 << 20
_PLAIN = "identity"


class AnswerLimits(threading.local):
    """The time and the bytes that are left to the thread's request."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seconds = self._late_s = math.inf
        self._left_bytes = MOST_BYTES

    def begin(self, seconds: float) -> None:
        """Begin a request, which may take so long."""
        self._seconds, self._late_s = seconds, self._clock() + seconds
        self._left_bytes = MOST_BYTES

    def shorter(self, timeout: float | None) -> float:
        """Return the time limit of a read or write (s). Raises RegistryUnavailable if no time is left."""
        left = self._late_s - self._clock()
        if left <= 0:
            raise RegistryUnavailable(f"the registry did not answer within {self._seconds:g} s")
        return left if timeout is None else min(left, timeout)

    def count(self, data: bytes) -> bytes:
        """Return what was read. Raises RegistryUnavailable if it is too much."""
        self._left_bytes -= len(data)
        if self._left_bytes < 0:
            raise RegistryUnavailable(f"the registry's answer is larger than {MOST_BYTES >> 20} MB")
        return data


def limit(client: httpx2.Client, limits: AnswerLimits) -> None:
    """Hold the connections of a client to the limits. Its answers are not compressed: they could be a thousand times
    as large.
    """
    client.headers["Accept-Encoding"] = _PLAIN
    client.event_hooks = {"response": [_refuse_compressed]}
    # The client has no argument for the network below it, and a transport of our own would know no proxy.
    for transport in (client._transport, *client._mounts.values()):  # noqa: SLF001, httpx has no public way
        if isinstance(transport, httpx2.HTTPTransport):
            transport._pool._network_backend = _AnswerBackend(limits)  # noqa: SLF001, httpx has no public way


def _refuse_compressed(response: httpx2.Response) -> None:
    if response.headers.get("Content-Encoding", _PLAIN) != _PLAIN:
        raise RegistryUnavailable("the registry's answer is compressed, which the request did not allow")


class _AnswerBackend(httpcore2.NetworkBackend):
    def __init__(self, limits: AnswerLimits) -> None:
        self._limits = limits
        self._inner = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        timeout = self._limits.shorter(timeout)
        stream = self._inner.connect_tcp(host, port, timeout, local_address, socket_options)
        return _AnswerStream(stream, self._limits)


class _AnswerStream(httpcore2.NetworkStream):
    def __init__(self, inner: httpcore2.NetworkStream, limits: AnswerLimits) -> None:
        self._inner = inner
        self._limits = limits

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._limits.count(self._inner.read(max_bytes, self._limits.shorter(timeout)))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, self._limits.shorter(timeout))

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        secured = self._inner.start_tls(ssl_context, server_hostname, self._limits.shorter(timeout))
        return _AnswerStream(secured, self._limits)

    def close(self) -> None:
        self._inner.close()

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
