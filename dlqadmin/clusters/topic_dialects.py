"""The dialects of topics' newest dead letters, as the index read them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from django.core.cache import cache
from django.db import connection

from dlqadmin.broker import clusters
from dlqadmin.clusters.documents import TopicReading
from dlqadmin.deadletters.models import DeadLetter
from engine import dialects

NEWEST = 200
KEPT_S = 60.0  # every open screen asks again after seconds
TOPICS_PER_QUERY = 100  # SQLite joins at most 500 queries


def readings(topics: Sequence[str]) -> dict[str, TopicReading]:
    """Return how the newest dead letters of each topic were read, at most a minute ago.

    Topics without dead letters in the index are left out.
    """
    key, now = f"topic_dialects:{clusters.current()}", time.monotonic()
    kept: dict[str, tuple[float, TopicReading]] = cache.get(key, {})
    kept = {topic: row for topic, row in kept.items() if now - row[0] < KEPT_S}
    missing = [topic for topic in topics if topic not in kept]
    if found := dict(_read(missing)):
        kept |= {topic: (now, reading) for topic, reading in found.items()}
        cache.set(key, kept, KEPT_S)
    return {topic: kept[topic][1] for topic in topics if topic in kept}


def _read(topics: Sequence[str]) -> Iterator[tuple[str, TopicReading]]:
    for start in range(0, len(topics), TOPICS_PER_QUERY):
        by_topic: dict[str, list[tuple[str, bool]]] = {}
        for topic, dialect, is_readable in _newest(topics[start : start + TOPICS_PER_QUERY]):
            by_topic.setdefault(topic, []).append((dialect, is_readable))
        yield from ((topic, _reading(rows)) for topic, rows in by_topic.items())


def _newest(topics: Iterable[str]) -> list[tuple[str, str, bool]]:
    """Return topic, dialect and readability of each topic's newest dead letters, in one statement.

    A window function would number all dead letters of the topics. Django refuses limits in a UNION on SQLite.
    """
    parts: list[str] = []
    parameters: list[Any] = []
    for topic in topics:
        rows = DeadLetter.objects.filter(cluster=clusters.current(), topic=topic).order_by("-failed_at", "-id")
        sql, values = rows.values_list("topic", "dialect", "readable")[:NEWEST].query.sql_with_params()
        parts.append(f"SELECT * FROM ({sql}) AS newest")  # noqa: S608, the ORM's
        parameters += values
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(parts), parameters)
        found: list[tuple[str, str, bool]] = cursor.fetchall()
    return found


def _reading(rows: list[tuple[str, bool]]) -> TopicReading:
    readable = Counter(name for name, is_readable in rows if is_readable)
    ((dialect, _),) = readable.most_common(1) or [("unreadable", 0)]
    return TopicReading(dialect=dialects.title(dialect), of=len(rows), unreadable=len(rows) - readable.total())
