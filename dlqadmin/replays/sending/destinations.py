"""Checks of a replay's target topics before each chunk.

A topic must exist, be allowed, and be the same topic as when sending began. Its end offsets are read too.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping

import msgspec

from dlqadmin.broker import internal_topics, topics
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.broker.transactions import TopicNotWritable
from dlqadmin.replays.items.forbidden_topics import forbidden
from dlqadmin.replays.models import Replay

FRESH_S = 1.0  # older ends stay correct, but a recovery that starts from them reads more
SHADOW_KEPT_MS = 7 * 24 * 3600 * 1000
Ends = Mapping[str, Mapping[str, int]]  # topic → partition → offset, as a chunk stores them


class DestinationFacts(msgspec.Struct, frozen=True):
    """The ids and end offsets of topics."""

    ids: Mapping[str, str]
    ends: Ends


class Destinations:
    """A sender's cache of its replay's target topics, refreshed every second."""

    def __init__(self, replay: Replay, clock: Callable[[], float] = time.monotonic) -> None:
        self._replay = replay
        self._clock = clock
        self._seen: dict[str, tuple[float, str, dict[str, int]]] = {}
        self._allowed: set[str] = set()

    def look(self, names: Collection[str]) -> DestinationFacts:
        """Return the ids and ends of these topics, at most FRESH_S old.

        Raises TopicNotWritable if a topic is missing, forbidden or was recreated. Raises BrokerUnavailable if
        partitions have no leader.
        """
        now = self._clock()
        old = [name for name in sorted(names) if name not in self._seen or now - self._seen[name][0] > FRESH_S]
        if old:
            self._ask(old, now)
        return DestinationFacts(
            {**self._replay.topic_ids, **{name: self._seen[name][1] for name in names}},
            {name: self._seen[name][2] for name in names},
        )

    def _ask(self, names: Collection[str], now: float) -> None:
        replay, known = self._replay, topics.cluster().topics
        new = set(names) - self._allowed
        internal = internal_topics.find_now(new)
        for name in sorted(new):
            if why := forbidden(name, internal.get(name)):
                raise TopicNotWritable(f"{name} {why}")
        self._allowed |= new
        for name in names:
            if replay.shadow and name not in known:
                known = {**known, name: make_shadow(replay, name, known)}
        wanted = [(name, number) for name in names for number in range(known.get(name, 0))]
        ends = topics.ends(wanted)
        if missing := [name for name in names if name not in known]:
            raise TopicNotWritable(f"topic {missing[0]} does not exist")
        ids = topics.topic_ids(list(names))
        if anew := [name for name in names if replay.topic_ids.get(name, ids.get(name)) != ids.get(name)]:
            raise TopicNotWritable(f"topic {anew[0]} was deleted and recreated since the replay began")
        if len(ends) < len(wanted):
            raise BrokerUnavailable(f"{len(wanted) - len(ends)} of {len(wanted)} target partitions have no leader")
        for name in names:
            self._seen[name] = (now, ids[name], {str(number): ends[name, number] for number in range(known[name])})


def make_shadow(replay: Replay, name: str, known: Mapping[str, int]) -> int:
    """Create a shadow topic and return its number of partitions.

    It gets as many partitions as the widest of its origin topics, and a retention of one week. Raises TopicNotWritable
    if none of the origin topics exists.
    """
    rows = replay.items.filter(target_topic=name).order_by()
    origins = rows.values_list("dead_letter__origin_topic", flat=True).distinct()
    count = max((known[origin] for origin in origins if origin in known), default=0)
    if not count:
        raise TopicNotWritable(f"none of the origin topics of the shadow topic {name} exists")
    topics.create(name, count, {"retention.ms": str(SHADOW_KEPT_MS)})
    return count
