"""The dead letter topics that the indexer reads, from DLQ_TOPICS."""

from __future__ import annotations

import re
from collections.abc import Sequence

from django.conf import settings

from dlqadmin.broker.topic_patterns import is_name


def subscription(names: Sequence[str]) -> list[str]:
    """Return topics in the client's syntax: names unchanged, all others as regular expressions."""
    return [name if is_name(name) else f"^{name.removeprefix('^')}" for name in names]


def follows(topic: str) -> bool:
    """Return whether the indexer reads this topic."""
    names = subscription(settings.DLQ_TOPICS)
    return any(re.search(name, topic) if name.startswith("^") else name == topic for name in names)
