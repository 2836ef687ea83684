"""Decide from which origin topics the indexer may fetch records for a dead letter topic.

Everyone who can write to a dead letter topic can forge a pointer, and the dashboard reads with its own
rights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

from django.conf import settings

from dlqadmin.broker import internal_topics
from dlqadmin.broker.internal_topics import InternalTopic
from dlqadmin.broker.topic_patterns import matches
from dlqadmin.deadletters.index.followed_topics import FollowedTopics, followed_topics

Pair = tuple[str, str]  # dead letter topic and origin topic


def refusal(dead_letters: str, origin: str) -> str:
    """Return why records of the origin topic may not be fetched, or "" if they may.

    Raises BrokerUnavailable, because Connect's internal topics are recognised by their content.
    """
    return refusals([(dead_letters, origin)])[dead_letters, origin]


def refusals(pairs: Iterable[Pair]) -> dict[Pair, str]:
    """Return the refusal of each pair, or "" if fetching is allowed. Raises BrokerUnavailable."""
    followed = cache(followed_topics)  # one query, and only if a name needs it
    found = _refusals_by_name(pairs, followed)
    # Kafka is not asked about topics whose name is already refused.
    internal = internal_topics.find_now([origin for (_, origin), why in found.items() if not why])
    return {pair: why or _refusal(*pair, internal.get(pair[1]), followed) for pair, why in found.items()}


def refusal_by_name(dead_letters: str, origin: str) -> str:
    """Return the refusal that names and settings imply, or "". Does not ask Kafka."""
    return refusals_by_name([(dead_letters, origin)])[dead_letters, origin]


def refusals_by_name(pairs: Iterable[Pair]) -> dict[Pair, str]:
    """Return the refusals of all pairs that names and settings imply, from at most one query."""
    return _refusals_by_name(pairs, cache(followed_topics))


def is_listed(dead_letters: str, origin: str) -> bool:
    """Return whether POINTER_TOPICS lists the origin topic for the dead letter topic."""
    return matches(_listed(dead_letters), origin)


def _refusals_by_name(pairs: Iterable[Pair], followed: Callable[[], FollowedTopics]) -> dict[Pair, str]:
    return {pair: _refusal(*pair, internal_topics.by_name(pair[1]), followed) for pair in dict.fromkeys(pairs)}


def _refusal(
    dead_letters: str, origin: str, internal: InternalTopic | None, followed: Callable[[], FollowedTopics]
) -> str:
    lists = _lists_for(dead_letters)
    listed = _listed(dead_letters)
    is_named = origin in listed
    if internal is not None and not (is_named and internal.is_liftable):
        return f"{origin} {internal.why}"
    if followed().is_dead_letter_topic(origin) and not is_named:
        return f"{origin} is a dead letter topic"
    if lists and not matches(listed, origin):
        return f"POINTER_TOPICS does not list {origin} for {dead_letters}"
    return ""


def _lists_for(dead_letters: str) -> list[list[str]]:
    return [allowed for topic, allowed in settings.POINTER_TOPICS.items() if matches([topic], dead_letters)]


def _listed(dead_letters: str) -> list[str]:
    return [pattern for allowed in _lists_for(dead_letters) for pattern in allowed]
