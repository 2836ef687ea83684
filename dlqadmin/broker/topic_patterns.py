"""Lists of topics in settings: names, and regular expressions that match a whole name."""

from __future__ import annotations

import re
from collections.abc import Iterable

NAME = re.compile(r"[A-Za-z0-9._-]+")


def is_name(pattern: str) -> bool:
    """Return whether the pattern is a topic's name; anything else is a regular expression."""
    return NAME.fullmatch(pattern) is not None


def matches(patterns: Iterable[str], topic: str) -> bool:
    """Return whether one of the patterns matches the whole name. Raises re.error for a broken expression."""
    return any(pattern == topic if is_name(pattern) else re.fullmatch(pattern, topic) for pattern in patterns)
