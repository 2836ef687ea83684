"""The dialects of a topic's newest dead letters, as the index read them."""

from __future__ import annotations

from collections import Counter

from django.conf import settings

from dlqadmin.clusters.documents import TopicReading
from dlqadmin.deadletters.models import DeadLetter
from engine import dialects

NEWEST = 200


def reading(topic: str) -> TopicReading | None:
    """Return how the newest dead letters of a topic were read, None if the index has none of them."""
    rows = DeadLetter.objects.filter(cluster=settings.CLUSTER, topic=topic).order_by("-failed_at", "-id")
    found = list(rows.values_list("dialect", "readable")[:NEWEST])
    if not found:
        return None
    readable = Counter(name for name, is_readable in found if is_readable)
    ((dialect, _),) = readable.most_common(1) or [("unreadable", 0)]
    return TopicReading(dialect=dialects.title(dialect), of=len(found), unreadable=len(found) - readable.total())
