"""Decide which topics people may browse."""

from __future__ import annotations

from django.conf import settings

from dlqadmin.broker import internal_topics
from dlqadmin.broker.topic_patterns import matches


def refusal(topic: str) -> str | None:
    """Return why nobody may read the records of the topic, or None if payload readers may.

    Raises BrokerUnavailable, because Connect's internal topics are recognised by their content.
    """
    internal = internal_topics.find_now([topic]).get(topic)
    if internal is not None and not (internal.is_liftable and topic in settings.BROWSE_TOPICS):
        return f"{topic} {internal.why}"
    if settings.BROWSE_TOPICS and not matches(settings.BROWSE_TOPICS, topic):
        return f"BROWSE_TOPICS does not list {topic}"
    return None
