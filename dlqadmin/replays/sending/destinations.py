"""The topics that a replay writes to, asked about before its chunks: there, allowed, still the same, and their ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping

import msgspec

from dlqadmin.broker import topics
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.broker.producing import Hopeless
from dlqadmin.replays.models import Replay
from dlqadmin.replays.sending.forbidden import forbidden

FRESH_S = 1.0  # older ends are true as well, but a recovery that starts there has more to read
SHADOW_KEPT_MS = 7 * 24 * 3600 * 1000
Ends = Mapping[str, Mapping[str, int]]  # topic → partition → offset, as a chunk keeps them


class Known(msgspec.Struct, frozen=True):
    """What was seen of topics: their ids, and where they ended."""

    ids: Mapping[str, str]
    ends: Ends


class Destinations:
    """What one sender knows of its replay's topics, asked anew every second."""

    def __init__(self, replay: Replay, clock: Callable[[], float] = time.monotonic) -> None:
        self._replay = replay
        self._clock = clock
        self._seen: dict[str, tuple[float, str, dict[str, int]]] = {}
        self._allowed: set[str] = set()

    def look(self, names: Collection[str]) -> Known:
        """These topics as they were less than a second ago. Raises Hopeless and BrokerUnavailable."""
        now = self._clock()
        old = [name for name in sorted(names) if name not in self._seen or now - self._seen[name][0] > FRESH_S]
        if old:
            self._ask(old, now)
        return Known(
            {**self._replay.topic_ids, **{name: self._seen[name][1] for name in names}},
            {name: self._seen[name][2] for name in names},
        )

    def _ask(self, names: Collection[str], now: float) -> None:
        replay, known = self._replay, topics.cluster().topics
        for name in names:
            if replay.shadow and name not in known:
                known = {**known, name: make_shadow(replay, name, known)}
        wanted = [(name, number) for name in names for number in range(known.get(name, 0))]
        ends = topics.ends(wanted)
        if missing := [name for name in names if name not in known]:
            raise Hopeless(f"there is no topic {missing[0]}")
        for name in set(names) - self._allowed:
            if why := "" if replay.target_cluster else forbidden(name):
                raise Hopeless(f"{name} {why}")
            self._allowed.add(name)
        ids = topics.topic_ids(list(names))
        if anew := [name for name in names if replay.topic_ids.get(name, ids.get(name)) != ids.get(name)]:
            raise Hopeless(f"topic {anew[0]} was deleted and made anew since the replay began")
        if len(ends) < len(wanted):
            raise BrokerUnavailable(f"{len(wanted) - len(ends)} of {len(wanted)} target partitions have no leader")
        for name in names:
            self._seen[name] = (now, ids[name], {str(number): ends[name, number] for number in range(known[name])})


def make_shadow(replay: Replay, name: str, known: Mapping[str, int]) -> int:
    """Make a shadow topic as wide as the widest of its origins, kept for a week; its partitions. Raises Hopeless."""
    rows = replay.items.filter(target_topic=name).order_by()
    origins = rows.values_list("dead_letter__origin_topic", flat=True).distinct()
    count = max((known[origin] for origin in origins if origin in known), default=0)
    if not count:
        raise Hopeless(f"none of the topics is there that {name} would be the shadow of")
    topics.create(name, count, {"retention.ms": str(SHADOW_KEPT_MS)})
    return count
