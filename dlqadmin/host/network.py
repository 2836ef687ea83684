"""Network helpers for this machine: free ports, ports in use, waiting for a service."""

from __future__ import annotations

import random
import re
import socket
import time
from collections.abc import Callable

HOST = "127.0.0.1"
LOWEST_PORT, HIGHEST_PORT = 20_000, 32_000


def free_ports(count: int) -> list[int]:
    """Return `count` consecutive free ports, below the range of outgoing connections."""
    while True:
        first = random.randrange(LOWEST_PORT, HIGHEST_PORT - count)
        ports = list(range(first, first + count))
        if all(map(_is_free, ports)):
            return ports


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
    return True


def is_answering(host: str, port: int) -> bool:
    """Return whether a server accepts connections at this address."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((host, port)) == 0


def port_of(address: str) -> int:
    """Return the port of `host:port` or of a URL. Raises ValueError if there is none."""
    match = re.search(r":(\d+)(?:/|$)", address)
    if match is None:
        raise ValueError(f"{address!r} has no port; write host:port")
    return int(match[1])


def wait_until(ready: Callable[[], bool], what: str, timeout_s: float, every_s: float = 0.1) -> None:
    """Return when `ready` returns true. Raises TimeoutError, naming `what`, after the timeout."""
    deadline = time.monotonic() + timeout_s
    while not ready():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not respond within {timeout_s:g} s")
        time.sleep(every_s)
