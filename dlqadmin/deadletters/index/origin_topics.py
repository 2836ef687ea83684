"""Decide from which origin topics the indexer may fetch records for a dead letter topic.

Everyone who can write to a dead letter topic can forge a pointer, and the dashboard reads with its own
rights.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.conf import settings

from dlqadmin.broker import internal_topics
from dlqadmin.broker.internal_topics import InternalTopic
from dlqadmin.broker.topic_patterns import matches
from dlqadmin.deadletters.index.followed_topics import is_dead_letter_topic

Pair = tuple[str, str]  # dead letter topic and origin topic


def refusal(dead_letters: str, origin: str) -> str:
    """Return why records of the origin topic may not be fetched, or "" if they may.

    Raises BrokerUnavailable, because Connect's internal topics are recognised by their content.
    """
    return refusals([(dead_letters, origin)])[dead_letters, origin]


def refusals(pairs: Iterable[Pair]) -> dict[Pair, str]:
    """Return the refusal of each pair, or "" if fetching is allowed. Raises BrokerUnavailable."""
    wanted = list(dict.fromkeys(pairs))
    found = {pair: refusal_by_name(*pair) for pair in wanted}
    # Kafka is not asked about topics whose name is already refused.
    internal = internal_topics.find_now([origin for (_, origin), why in found.items() if not why])
    return {pair: why or _refusal(*pair, internal.get(pair[1])) for pair, why in found.items()}


def refusal_by_name(dead_letters: str, origin: str) -> str:
    """Return the refusal that names and settings imply, or "". Does not ask Kafka."""
    return _refusal(dead_letters, origin, internal_topics.by_name(origin))


def _refusal(dead_letters: str, origin: str, internal: InternalTopic | None) -> str:
    lists = [allowed for topic, allowed in settings.POINTER_TOPICS.items() if matches([topic], dead_letters)]
    listed = [pattern for allowed in lists for pattern in allowed]
    is_named = origin in listed
    if internal is not None and not (is_named and internal.is_liftable):
        return f"{origin} {internal.why}"
    if is_dead_letter_topic(origin) and not is_named:
        return f"{origin} is a dead letter topic"
    if lists and not matches(listed, origin):
        return f"POINTER_TOPICS does not list {origin} for {dead_letters}"
    return ""
