"""Decide to which addresses messages may go.

Loopback, private and reserved addresses are refused, unless ALERT_PRIVATE_HOSTS lists the host or the network.
Link-local, multicast, unspecified and metadata addresses are always refused.
"""

from __future__ import annotations

import ipaddress
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from django.conf import settings

from engine.http_rules import is_refused, real_address

_sending = threading.local()


class ForbiddenAddress(OSError):
    """A message may not go to this host or address. An OSError, so that HTTP libraries treat it as a failed connect."""


def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a host, all of them allowed. Raises ForbiddenAddress, and OSError for an unknown name."""
    try:
        rows = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError:
        raise OSError("the host name is not valid") from None
    found = list(dict.fromkeys(str(row[4][0]) for row in rows))
    for address in found:
        require_allowed(host, address)
    return found


def require_allowed(host: str, address: str) -> None:
    """Raise ForbiddenAddress if no message may go to this address of a host."""
    ip = real_address(address)
    if is_refused(address):
        raise ForbiddenAddress(f"{host} is a link-local, multicast or metadata address, which is never allowed")
    if ip.is_global or is_listed(host):
        return
    networks = [ipaddress.ip_network(one) for one in settings.ALERT_PRIVATE_HOSTS if "/" in one]
    if not any(ip in network for network in networks if network.version == ip.version):
        raise ForbiddenAddress(f"{host} is a private address; add the host to ALERT_PRIVATE_HOSTS to allow it")


def is_listed(host: str) -> bool:
    """Return whether ALERT_PRIVATE_HOSTS names this host."""
    return host.lower().rstrip(".") in settings.ALERT_PRIVATE_HOSTS


@contextmanager
def checked_connections(host: str) -> Iterator[None]:
    """Refuse the connections of this thread to forbidden addresses.

    This is for libraries that resolve names themselves: the address is checked as they connect, so a name that is
    resolved twice can't change in between. The private addresses of `host` are allowed if it is listed. Raises
    ForbiddenAddress at the end if a connection was refused.
    """
    _install_hook()
    _sending.host, _sending.refusal = host, None
    try:
        yield
    finally:
        refusal, _sending.host = _sending.refusal, None
    if refusal is not None:
        raise refusal


@cache  # a hook can't be removed
def _install_hook() -> None:
    sys.addaudithook(_check_connect)


def _check_connect(event: str, args: tuple[Any, ...]) -> None:
    if event != "socket.connect" or (host := getattr(_sending, "host", None)) is None:
        return
    address = args[1]
    try:
        if not isinstance(address, tuple):
            raise ForbiddenAddress("a local socket is not allowed")
        require_allowed(host, str(address[0]))
    except ForbiddenAddress as error:
        _sending.refusal = error
        raise
