"""Rules of HTTP clients that the engine and the dashboard share: forbidden addresses, and pauses of Retry-After."""

from __future__ import annotations

import ipaddress
import time
from email.utils import parsedate_to_datetime

MAX_PAUSE_MS = 3_600_000
# Metadata services outside the link-local ranges: AWS over IPv6, Alibaba Cloud, Azure.
METADATA = frozenset(map(ipaddress.ip_address, ("fd00:ec2::254", "100.100.100.200", "168.63.129.16")))
# IPv6 networks whose last 32 bits are an IPv4 address: NAT64, and the obsolete IPv4-compatible addresses.
EMBEDDING = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("::/96"))

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def real_address(text: str) -> Address:
    """Return the address that a connection reaches: an IPv4 address may be written in an IPv6 address."""
    ip = ipaddress.ip_address(text.partition("%")[0])
    if not isinstance(ip, ipaddress.IPv6Address) or ip.is_loopback or ip.is_unspecified:
        return ip
    if any(ip in network for network in EMBEDDING):
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour or ip


def is_refused(address: str) -> bool:
    """Return whether nobody may connect to the address: link-local, multicast, unspecified or metadata."""
    ip = real_address(address)
    return ip.is_link_local or ip.is_multicast or ip.is_unspecified or ip in METADATA


def retry_after_ms(header: str) -> int:
    """Return the pause of the header Retry-After, in seconds or as a date (RFC 9110, 10.2.3); 0 if there is none."""
    text = header.strip()
    if text.isascii() and text.isdigit():
        return min(int(text[:9]) * 1000, MAX_PAUSE_MS)
    try:
        left_ms = round((parsedate_to_datetime(text).timestamp() - time.time()) * 1000)
    except (TypeError, ValueError):
        return 0
    return min(max(left_ms, 0), MAX_PAUSE_MS)
