"""Patterns of the names that a team owns: `orders.*`, or `eu/orders.*` for one cluster."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

MOST_PATTERNS = 200  # of one team and kind
MAX_LENGTH = 320


@lru_cache(4096)
def _expression(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(re.escape(part) for part in pattern.split("*")), re.DOTALL)


def is_match(pattern: str, name: str) -> bool:
    """Return whether the pattern matches the whole name. `*` stands for any text."""
    return _expression(pattern).fullmatch(name) is not None


def owns(patterns: Iterable[str], cluster: str, name: str) -> bool:
    """Return whether one of the patterns matches this name of this cluster.

    An empty name is the name of nothing, so even `*` does not match it.
    """
    return bool(name) and any(_matches(pattern, cluster, name) for pattern in patterns)


def owns_all_beginning(patterns: Iterable[str], cluster: str, beginning: str) -> bool:
    """Return whether one pattern matches every name of this cluster with this beginning."""
    return owns((pattern for pattern in patterns if pattern.endswith("*")), cluster, beginning)


def _matches(pattern: str, cluster: str, name: str) -> bool:
    wanted, slash, rest = pattern.partition("/")
    if slash:
        return is_match(wanted, cluster) and is_match(rest, name)
    return is_match(pattern, name)
