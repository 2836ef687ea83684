"""The topics that no replay writes to; asked when it is planned, and again before anything is sent."""

from __future__ import annotations

from collections.abc import Collection

from django.conf import settings

from dlqadmin.connectors import queries as connectors
from dlqadmin.deadletters.following import follows
from dlqadmin.deadletters.models import IndexPosition


def forbidden(topic: str, dead: Collection[str] | None = None) -> str | None:
    """Why no replay may write to the topic, as a clause; None when it may. Asks the database only."""
    if topic.startswith("__"):
        return "is Kafka's own"
    if topic in (settings.CONFIG_TOPIC, settings.STATUS_TOPIC, settings.OFFSET_TOPIC, settings.OUTCOME_TOPIC):
        return "is the engine's own"
    known = dead_letter_topics() if dead is None else dead
    return "is a dead letter topic" if topic in known or follows(topic) else None


def dead_letter_topics() -> set[str]:
    """Those that are indexed, and those that connectors write to, as far as it is known without asking."""
    indexed = IndexPosition.objects.filter(cluster=settings.CLUSTER).values_list("topic", flat=True)
    return {*indexed.distinct(), *connectors.dead_letter_topics()}
