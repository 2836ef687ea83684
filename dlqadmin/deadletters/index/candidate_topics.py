"""Index topics whose names may be those of dead letter topics, once their newest records are dead letters.

A name such as `orders-errors` is no proof: the topic may hold an application's log. So the records decide.
"""

from __future__ import annotations

import logging
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import datetime

import msgspec
from django.conf import settings
from django.core.cache import caches
from django.db import transaction
from redis.exceptions import RedisError

from dlqadmin.audit.entries import record
from dlqadmin.broker import clusters, internal_topics, topics
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.broker.topic_patterns import matches
from dlqadmin.deadletters.index.followed_topics import FollowedTopics, followed_topics
from dlqadmin.deadletters.models import TopicRule
from engine import dialects
from engine.record.record import RawRecord

ACTOR = "indexer"
ADDED = "add topic"  # in the audit trail
NEWEST = 20  # records of each topic
LEAST_SHARE = 0.5  # of them that a dialect must read
MOST_TOPICS = 50  # looked into in one run
RETRY_TOPIC = re.compile(r".*[._-]retry([._-].*)?", re.IGNORECASE)

log = logging.getLogger(__name__)


class Sample(msgspec.Struct, frozen=True):
    """The newest records of a topic: their number, the number that a dialect reads, and the most frequent dialect."""

    records: int
    readable: int
    dialect: str

    @property
    def are_dead_letters(self) -> bool:
        """Return whether at least half of the records are dead letters."""
        return self.records > 0 and self.readable >= LEAST_SHARE * self.records

    @property
    def words(self) -> str:
        """The sample as a sentence."""
        noun = "record" if self.records == 1 else f"{self.records} records"
        return f"{self.readable} of the newest {noun} are dead letters of {dialects.title(self.dialect)}"


def add_recognised(now: datetime) -> list[str]:
    """Add the candidates whose newest records are dead letters to the index; return their names.

    Look into MOST_TOPICS candidates. The next call continues with the candidates after them.
    A topic about which a rule exists is left alone, so an administrator's decision stays. Raises BrokerUnavailable.
    """
    there = topics.cluster().topics
    names = _next_names(candidates(there, followed_topics()))
    internal = internal_topics.find_now(names) if names else {}
    added = []
    for name in names:
        if name in internal:
            continue
        try:
            sample = sample_of(newest_records(name, there[name], NEWEST))
        except BrokerUnavailable as error:
            log.warning("the candidate topic %s can't be read: %s", name, error)
            continue
        if sample.are_dead_letters and _add(name, sample, now):
            log.info("the topic %s is indexed from now on: %s", name, sample.words)
            added.append(name)
    return added


def candidates(there: Iterable[str], followed: FollowedTopics) -> list[str]:
    """Return the topics that only DLQ_TOPIC_CANDIDATES names, without retry topics and those that a rule is about."""
    own = {settings.STATUS_TOPIC, settings.OUTCOME_TOPIC, settings.CONFIG_TOPIC, settings.OFFSET_TOPIC}
    return sorted(
        name
        for name in there
        if matches(settings.DLQ_TOPIC_CANDIDATES, name)
        and not RETRY_TOPIC.fullmatch(name)
        and not name.startswith("__")
        and name not in own
        if not followed.is_dead_letter_topic(name) and name not in followed.excluded
    )


def window(names: Sequence[str], last: str, count: int) -> list[str]:
    """Return `count` of these sorted names: those after `last`, then those from the start. Pure."""
    after = bisect_right(names, last)
    return [*names[after:], *names[:after]][:count]


def sample_of(records: Iterable[RawRecord]) -> Sample:
    """Return how many of these records a dialect reads."""
    count: dict[str, int] = {}
    total = 0
    for one in records:
        total += 1
        facts = dialects.read(one)
        if facts.readable:
            count[facts.dialect] = count.get(facts.dialect, 0) + 1
    return Sample(total, sum(count.values()), max(count, key=lambda name: count[name], default="unreadable"))


def newest_records(topic: str, partitions: int, count: int) -> Sequence[RawRecord]:
    """Return the newest records of each partition, at most `count` in all. Raises BrokerUnavailable."""
    places = [(topic, number) for number in range(partitions)]
    begins, ends = topics.begins(places), topics.ends(places)
    held = [place for place in places if begins.get(place, 0) < ends.get(place, 0)]
    each = max(1, count // max(1, len(held)))
    found: list[RawRecord] = []
    for place in held[:count]:
        start = max(begins[place], ends[place] - each)
        found += topics.read_range(*place, start, each)
    return found


def _next_names(names: Sequence[str]) -> list[str]:
    """Return the names of this run, and store the last one. Without the cache, start with the first name."""
    key, cache = f"candidate_topics:{clusters.current()}:last", caches["shared"]
    try:
        found = window(names, cache.get(key) or "", MOST_TOPICS)
        # Stored before the topics are read: a topic whose records kill the worker must not hold up those after it.
        cache.set(key, found[-1] if found else "", timeout=None)
    except (RedisError, OSError):
        return window(names, "", MOST_TOPICS)
    return found


def _add(topic: str, sample: Sample, now: datetime) -> bool:
    """Add the rule, unless somebody has decided about the topic meanwhile."""
    with transaction.atomic():
        _, is_new = TopicRule.objects.get_or_create(
            cluster=clusters.current(),
            topic=topic,
            defaults={"is_excluded": False, "actor": ACTOR, "reason": sample.words, "at": now},
        )
        if is_new:
            record(ACTOR, ADDED, "topic", topic, {"reason": sample.words, "before": "default", "after": "added"})
    return is_new
