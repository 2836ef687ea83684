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
        super().__init__(
            detail=f"Too many attempts to sign in. Try again in {counted(math.ceil(wait_s / 60), 'minute')}."
        )
        self.wait, self.limit, self.first = wait_s, limit, first


@dataclass(frozen=True, slots=True)
class _TryLimit:
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
        # One atomic increment before the password check: many tries at once cannot all pass a count read earlier.
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
        _pair_limit(account, address).take(
            cache
        )  # first, so that its refusals do not count for the account and the address
        # A stranger can use up these two limits with the name of another person, so a known address is exempt.
        if not cache.get(_known_address_key(account, address)):
            _address_limit(address).take(cache)
            _account_limit(account).take(cache)

    _with_counts(take_all)


def succeed(account: str, address: str | None) -> None:
    """Record a success: clear the count of account and address, and remember the address.

    The try is subtracted from the other two counts.
    """

    def note(cache: BaseCache) -> None:
        _pair_limit(account, address).clear(cache)
        if not cache.get(_known_address_key(account, address)):
            _address_limit(address).give_back(cache)
            _account_limit(account).give_back(cache)
        cache.set(_known_address_key(account, address), 1, KNOWN_S)

    _with_counts(note)


def forget_own_counts() -> None:
    """Delete the counts that this process made while Redis was unavailable."""
    _own_counts.clear()


def _with_counts(act: Callable[[BaseCache], T]) -> T:
    try:
        return act(caches["shared"])
    except (RedisError, OSError, ValueError, TypeError) as error:  # the latter two: not a count in the cache
        log.warning("sign-in attempts are limited by each process separately, because the cache failed: %s", error)
        return act(_own_counts)


def _pair_limit(account: str, address: str | None) -> _TryLimit:
    tries, window_s = settings.SIGN_IN_RATE
    return _TryLimit("account and address", f"{_fold_account(account)}\0{_network(address)}", tries, window_s)


def _address_limit(address: str | None) -> _TryLimit:
    tries, window_s = settings.SIGN_IN_RATE
    return _TryLimit("address", _network(address), tries * ADDRESS_FACTOR, window_s)


def _account_limit(account: str) -> _TryLimit:
    tries, window_s = settings.SIGN_IN_RATE
    return _TryLimit("account", _fold_account(account), tries * ACCOUNT_FACTOR, window_s)


def _known_address_key(account: str, address: str | None) -> str:
    return f"sign-in:known:{_digest(_fold_account(account), _network(address))}"


def _fold_account(account: str) -> str:
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
