"""Addresses on this machine: free ports, ports in use, waiting for an answer."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

HOST = "127.0.0.1"


def free_ports(count: int) -> list[int]:
    """Return so many different ports that nobody listens on now."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind((HOST, 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def answers(host: str, port: int) -> bool:
    """Tell whether somebody accepts connections there."""
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex((host, port)) == 0


def wait_until(ready: Callable[[], bool], what: str, timeout_s: float, every_s: float = 0.1) -> None:
    """Return when `ready` says so; raise TimeoutError, naming `what`, when it never does."""
    deadline = time.monotonic() + timeout_s
    while not ready():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not answer within {timeout_s:g} s")
        time.sleep(every_s)
