"""Patterns of the names that a team owns: `orders.*`, or `eu/orders.*` for one cluster."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

MOST_PATTERNS = 200  # of one team and kind
MAX_LENGTH = 320
_VALID = re.compile(r"([\w.*-]+/)?[\w.*-]+", re.ASCII)  # the characters of Kafka's topic names, and `*`


@lru_cache(4096)
def _expression(pattern: str) -> re.Pattern[str]:
    first, *middle = [re.escape(part) for part in pattern.split("*")]
    if not middle:
        return re.compile(first)
    last = middle.pop()
    # An atomic group takes the first match of a part and never another, so many `*` cost no exponential time.
    return re.compile("".join((first, *(f"(?>.*?{part})" for part in middle), ".*", last)), re.DOTALL)


def is_pattern(text: str) -> bool:
    """Return whether the text has the characters of topic names, `*`, and at most one `/` after a cluster."""
    return len(text) <= MAX_LENGTH and _VALID.fullmatch(text) is not None


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
