"""Queries of topics: the list, one topic's partitions, and the offsets written over time."""

from __future__ import annotations

from datetime import datetime
from itertools import pairwise

from django.http import Http404
from django.utils import timezone

from dlqadmin.broker import clusters, internal_topics, topics
from dlqadmin.deadletters.index.followed_topics import FollowedTopics, followed_topics, follows
from dlqadmin.deadletters.search.histogram import MS, bucket_ms
from dlqadmin.rest.times import from_ms, iso
from dlqadmin.teams.reach import current_reach
from dlqadmin.topics.documents import TopicDetail, TopicList, TopicPartitionRange, TopicRates, TopicRow
from dlqadmin.topics.readable_topics import refusal

MOST_TOPICS = 500
MOST_PARTITIONS = 5_000  # whose offsets one list asks for
SMALLEST_MS = 60_000
PARTITIONS_OF_FULL_RATES = 100  # above it, columns are wider: each costs the broker a search in every partition

Places = list[tuple[str, int]]


def topic_list(text: str) -> TopicList:
    """Return the topics in reach whose name contains the text. Raises BrokerUnavailable."""
    there = topics.cluster().topics
    reach = current_reach()
    names = sorted(name for name in there if text.lower() in name.lower() and reach.has_topic(name, clusters.current()))
    shown = names[:MOST_TOPICS]
    places = [(name, partition) for name in shown for partition in range(there[name])]
    kept: dict[str, int] = {}
    if len(places) <= MOST_PARTITIONS:
        begins, ends = topics.begins(places), topics.ends(places)
        for place, end in ends.items():
            kept[place[0]] = kept.get(place[0], 0) + max(0, end - begins.get(place, end))
    followed = followed_topics()  # once, because it queries the database
    return TopicList(results=[_row(name, there[name], kept.get(name), followed) for name in shown], count=len(names))


def topic_detail(name: str) -> TopicDetail:
    """Return a topic with its partitions. Raises Http404 and BrokerUnavailable."""
    places = places_of(name)
    begins, ends = topics.begins(places), topics.ends(places)
    known = [p for _, p in places if (name, p) in begins.keys() & ends.keys()]
    ranges = [TopicPartitionRange(partition=p, begin=begins[name, p], end=ends[name, p]) for p in known]
    return TopicDetail(name=name, is_dead_letter_topic=follows(name), refusal=refusal(name), partitions=ranges)


def places_of(name: str) -> Places:
    """Return the partitions of a topic in reach. Raises Http404 and BrokerUnavailable."""
    count = topics.partitions(name) if current_reach().has_topic(name, clusters.current()) else None
    if count is None:
        raise Http404(f"There is no topic {name}.")
    return [(name, partition) for partition in range(count)]


def topic_rates(name: str, start: datetime, end: datetime) -> TopicRates:
    """Return the offsets written in each column of [start, end), by the times of the records.

    A column begins at the first record of its time or a later one. Raises Http404 and BrokerUnavailable.
    """
    places = places_of(name)
    span_ms = (end - start) // MS
    width = bucket_ms(span_ms * max(1, -(-len(places) // PARTITIONS_OF_FULL_RATES)), SMALLEST_MS)
    first = (start - from_ms(0)) // MS // width * width
    size = -(-((end - from_ms(0)) // MS - first) // width)
    edges = [first + column * width for column in range(size + 1)]
    now_ms = (timezone.now() - from_ms(0)) // MS
    ends = topics.ends(places)
    found = topics.offsets_at(places, [edge for edge in edges if edge <= now_ms])
    offsets = [sum(at.get(place, last) for place, last in ends.items()) for at in found]
    offsets += [sum(ends.values())] * (len(edges) - len(offsets))
    points = [max(0, after - before) for before, after in pairwise(offsets)]
    return TopicRates(start=iso(from_ms(first)), to=iso(end), bucket_ms=width, points=points, total=sum(points))


def _row(name: str, partitions: int, offsets: int | None, followed: FollowedTopics) -> TopicRow:
    internal = internal_topics.by_name(name)
    return TopicRow(
        name=name,
        partitions=partitions,
        offsets=offsets,
        is_dead_letter_topic=followed.follows(name),
        internal=internal.why if internal else None,
    )
