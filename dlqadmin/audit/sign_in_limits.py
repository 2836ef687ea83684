"""Limits on sign-in tries: per account and address, per address, and per account.

Every try is counted before its password is checked, so parallel tries cannot exceed a limit. The counts are
in the shared cache, so all processes share them. Without Redis each process counts separately. Sign-in then
still works, but an attacker gets as many times the tries as there are processes.

An attacker cannot lock out the owner of an account. A limit ends with its window, and tries beyond it do not
prolong it. The limits per address and per account do not apply to addresses that have signed in to the
account within 30 days. Many people may share an address, so a successful sign-in does not count towards
either of these limits.
"""

from __future__ import annotations

import hashlib
import logging
import math
import time
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv6Address, ip_address, ip_network
from typing import TypeVar

from django.conf import settings
from django.core.cache import BaseCache, caches
from django.core.cache.backends.locmem import LocMemCache
from redis.exceptions import RedisError
from rest_framework.exceptions import Throttled

from dlqadmin.rest.text import counted

ADDRESS_FACTOR = 10  # tries from one address for all accounts, as a multiple of the tries for one account
ACCOUNT_FACTOR = 5  # tries for one account from all addresses; by default, a hundred an hour
KNOWN_S = 30 * 24 * 3600
IPV6_PREFIX = 64  # a customer has at least this many addresses to choose from

T = TypeVar("T")
log = logging.getLogger(__name__)
# The counts of this process while Redis is unavailable. The size prevents an attacker from evicting counts by
# inventing names.
_own_counts = LocMemCache("sign-in", {"OPTIONS": {"MAX_ENTRIES": 100_000}})


class TooManyTries(Throttled):
    """A limit is reached. `wait` is in seconds; `first` marks the first refusal in the window."""

    def __init__(self, wait_s: int, *, limit: str, first: bool) -> None:
        super().__init__(detail=f"Too many tries to sign in. Try again in {counted(math.ceil(wait_s / 60), 'minute')}.")
        self.wait, self.limit, self.first = wait_s, limit, first


@dataclass(frozen=True, slots=True)
class _Limit:
    """The number of tries allowed within a window, for one key."""

    name: str
    key: str
    tries: int
    window_s: int

    def take(self, cache: BaseCache) -> None:
        """Count a try. Raises TooManyTries."""
        now = time.time()
        window, passed_s = divmod(now, self.window_s)
        key = self._counter(window)
        cache.add(key, 0, self.window_s + 1)
        count = cache.incr(key)
        if count > self.tries:
            wait_s = math.ceil(self.window_s - passed_s)
            raise TooManyTries(wait_s, limit=self.name, first=count == self.tries + 1)

    def give_back(self, cache: BaseCache) -> None:
        """Subtract one try from the count of this window."""
        key = self._counter(time.time() // self.window_s)
        if cache.get(key):  # the counter is gone after the window's end
            cache.decr(key)

    def clear(self, cache: BaseCache) -> None:
        """Delete the count of this window."""
        cache.delete(self._counter(time.time() // self.window_s))

    def _counter(self, window: float) -> str:
        """Return the cache key of a window.

        The key contains the window, because a counter without expiry would otherwise lock for ever.
        """
        return f"sign-in:{_digest(self.name, self.key)}:{int(window)}"


def take(account: str, address: str | None) -> None:
    """Count a try to sign in to `account`. Raises TooManyTries; then the password must not be checked."""

    def take_all(cache: BaseCache) -> None:
        _pair(account, address).take(cache)  # first, so that its refusals do not count for the account and the address
        if not cache.get(_known(account, address)):
            _address(address).take(cache)
            _account(account).take(cache)

    _counted(take_all)


def succeed(account: str, address: str | None) -> None:
    """Record a success: clear the count of account and address, and remember the address.

    The try is subtracted from the other two counts.
    """

    def note(cache: BaseCache) -> None:
        _pair(account, address).clear(cache)
        if not cache.get(_known(account, address)):
            _address(address).give_back(cache)
            _account(account).give_back(cache)
        cache.set(_known(account, address), 1, KNOWN_S)

    _counted(note)


def forget_own_counts() -> None:
    """Delete the counts that this process made while Redis was unavailable."""
    _own_counts.clear()


def _counted(act: Callable[[BaseCache], T]) -> T:
    try:
        return act(caches["shared"])
    except (RedisError, OSError, ValueError, TypeError) as error:  # the latter two: not a count in the cache
        log.warning("sign-ins are counted by each process alone: %s", error)
        return act(_own_counts)


def _pair(account: str, address: str | None) -> _Limit:
    tries, window_s = settings.SIGN_IN_RATE
    return _Limit("account and address", f"{_folded(account)}\0{_network(address)}", tries, window_s)


def _address(address: str | None) -> _Limit:
    tries, window_s = settings.SIGN_IN_RATE
    return _Limit("address", _network(address), tries * ADDRESS_FACTOR, window_s)


def _account(account: str) -> _Limit:
    tries, window_s = settings.SIGN_IN_RATE
    return _Limit("account", _folded(account), tries * ACCOUNT_FACTOR, window_s)


def _known(account: str, address: str | None) -> str:
    return f"sign-in:known:{_digest(_folded(account), _network(address))}"


def _folded(account: str) -> str:
    """Return one spelling for all names that may mean the same account."""
    return unicodedata.normalize("NFKC", account).casefold()


def _network(address: str | None) -> str:
    """Return the unit that counts as one address: the address, or an IPv6 network."""
    if address is None:
        return ""
    if isinstance(ip_address(address), IPv6Address):
        return str(ip_network((address, IPV6_PREFIX), strict=False))
    return address


def _digest(*parts: str) -> str:
    """Return a short key for names of any length. The hash also hides passwords typed as names."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:32]
