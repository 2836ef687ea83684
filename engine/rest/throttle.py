"""A limit on wrong credentials: failures per minute for each address."""

from __future__ import annotations

import ipaddress
import threading
from collections import OrderedDict, deque
from collections.abc import Callable

MOST_FAILURES = 10
WINDOW_S = 60.0
MOST_ADDRESSES = 10_000  # the address with the oldest failure is dropped first


class Throttle:
    """A sliding window of failures for each address. Thread-safe: every listener has its own thread."""

    def __init__(self, now: Callable[[], float], most: int = MOST_FAILURES, window_s: float = WINDOW_S) -> None:
        self._now, self._most, self._window_s = now, most, window_s
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()
        self._lock = threading.Lock()

    def reserve(self, address: str) -> float:
        """Count an attempt as a failure until `take_back`, or return the remaining lock-out (s).

        A locked-out attempt is not counted. Attempts are counted before they fail. Otherwise simultaneous attempts
        would all be allowed.
        """
        network = _network(address)
        with self._lock:
            times = self._failures.setdefault(network, deque(maxlen=self._most))
            wait_s = times[0] + self._window_s - self._now() if len(times) == self._most else 0.0
            if wait_s > 0:
                return wait_s
            times.append(self._now())
            self._failures.move_to_end(network)
            while len(self._failures) > MOST_ADDRESSES:
                self._failures.popitem(last=False)
            return 0.0

    def take_back(self, address: str) -> None:
        """Remove the latest failure, because the attempt did not fail."""
        network = _network(address)
        with self._lock:
            times = self._failures.get(network)
            if times:
                times.pop()
            if not times:
                self._failures.pop(network, None)


def _network(address: str) -> str:
    """Return the network to throttle. An IPv6 client owns a whole /64 network."""
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address
    if parsed.version == 4 or parsed.ipv4_mapped:
        return address
    return str(ipaddress.ip_network((parsed, 64), strict=False))
