"""A network whose packets are delayed, lost or kept back, between this machine and a network namespace.

The kernel's own means (`tc qdisc add … netem`) is a module that many kernels lack. Here a thread carries each packet
from one TUN device to the other, so TCP itself meets the delay, the loss and the silence.
"""

from __future__ import annotations

import fcntl
import heapq
import os
import random
import select
import shutil
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from typing import Self

TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000  # linux/if_tun.h
IPV4, TCP = 4, 6
MOST_BYTES = 65_536
IDLE_S = 0.2


def can_be_impaired() -> bool:
    """Return whether this process may make namespaces and TUN devices."""
    return os.geteuid() == 0 and shutil.which("ip") is not None and os.access("/dev/net/tun", os.R_OK | os.W_OK)


class ImpairedNetwork:
    """Two hosts: this machine, and a namespace. Nothing else is reachable from there.

    `delay_s` is the one-way delay, `loss` the share of packets that are dropped. Packets of TCP connections to or from
    a port of `blocked` are dropped, too: both ends then hear nothing.
    """

    def __init__(self) -> None:
        self.name = f"far{os.getpid()}"
        net = f"10.{random.randrange(128, 192)}.{random.randrange(256)}"
        self.here, self.there = f"{net}.1", f"{net}.2"
        self.prefix = ("ip", "netns", "exec", self.name)  # begins the command of a process over there
        self.delay_s, self.loss = 0.0, 0.0
        self.blocked: frozenset[int] = frozenset()
        self.carried = self.dropped = 0  # packets
        self._chance = random.Random(7)
        self._closed = threading.Event()

    def open(self) -> Self:
        """Make both hosts, and begin to carry packets."""
        _ip("netns", "add", self.name)
        near, far = f"{self.name}n", f"{self.name}f"
        self._near, self._far = _tun(near), _tun(far)
        _ip("link", "set", far, "netns", self.name)
        _ip("address", "add", f"{self.here}/24", "dev", near)
        _ip("link", "set", near, "up")
        _ip("-n", self.name, "link", "set", "lo", "up")
        _ip("-n", self.name, "address", "add", f"{self.there}/24", "dev", far)
        _ip("-n", self.name, "link", "set", far, "up")
        self._carrier = threading.Thread(target=self._carry, daemon=True)
        self._carrier.start()
        return self

    @contextmanager
    def without(self, port: int) -> Iterator[None]:
        """Drop all packets of a service within the block."""
        self.blocked |= {port}
        try:
            yield
        finally:
            self.blocked -= {port}

    def close(self) -> None:
        """Delete the namespace and both devices."""
        self._closed.set()
        self._carrier.join()
        os.close(self._near)
        os.close(self._far)
        with suppress(subprocess.CalledProcessError):
            _ip("netns", "delete", self.name)

    def _carry(self) -> None:
        other = {self._near: self._far, self._far: self._near}
        order, waiting = count(), list[tuple[float, int, int, bytes]]()
        while not self._closed.is_set():
            pause_s = min(IDLE_S, max(0.0, waiting[0][0] - time.monotonic())) if waiting else IDLE_S
            for device in select.select([*other], [], [], pause_s)[0]:
                packet = os.read(device, MOST_BYTES)
                if self._is_dropped(packet):
                    self.dropped += 1
                else:
                    heapq.heappush(waiting, (time.monotonic() + self.delay_s, next(order), other[device], packet))
            while waiting and waiting[0][0] <= time.monotonic():
                _, _, device, packet = heapq.heappop(waiting)
                with suppress(OSError):  # a packet that the device does not take is one that is lost
                    os.write(device, packet)
                self.carried += 1

    def _is_dropped(self, packet: bytes) -> bool:
        return self._chance.random() < self.loss or not self.blocked.isdisjoint(tcp_ports(packet))


def tcp_ports(packet: bytes) -> tuple[int, ...]:
    """Return the source and the target port of an IPv4 packet of TCP; nothing of another one."""
    if len(packet) < 24 or packet[0] >> 4 != IPV4 or packet[9] != TCP:
        return ()
    begin = (packet[0] & 0x0F) * 4
    return struct.unpack("!HH", packet[begin : begin + 4])


def _tun(name: str) -> int:
    """Return the descriptor of a new TUN device."""
    device = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
    fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH", name.encode(), IFF_TUN | IFF_NO_PI))
    return device


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)
