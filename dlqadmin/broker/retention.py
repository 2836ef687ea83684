"""The retention of topics, requested from the broker in batches and cached."""

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from dlqadmin.broker import clusters, topics
from dlqadmin.broker.availability import availability
from dlqadmin.broker.messages import BrokerUnavailable

KEPT_S = 30.0
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class TopicRetention:
    """A topic's retention options. A negative limit means no limit."""

    policies: frozenset[str]  # "delete", "compact" or both
    ms: int
    bytes: int


def retentions(names: Sequence[str]) -> Mapping[str, TopicRetention]:
    """Return the retention of each topic, without missing topics. Raises BrokerUnavailable."""
    return _retentions.get(names)


def first_offsets(partitions: Sequence[tuple[str, int]]) -> Mapping[tuple[str, int], int]:
    """Return the first offset of each partition, without unknown ones. Raises BrokerUnavailable."""
    return _first_offsets.get(partitions)


class RetentionCache(Generic[K, V]):
    """A cache of the broker's answers for half a minute. Missing values are cached too."""

    def __init__(
        self, ask: Callable[[Sequence[K]], Mapping[K, V]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._ask, self._clock = ask, clock
        self._rows: dict[tuple[str, K], tuple[float, V | None]] = {}

    def get(self, wanted: Sequence[K], within_s: float = KEPT_S) -> dict[K, V]:
        """Return the answers, at most `within_s` seconds old."""
        address, now = clusters.address(), self._clock()
        valid = {key: row for key, row in self._rows.items() if now - row[0] <= KEPT_S}
        kept = {key: row for (at, key), row in valid.items() if at == address}
        missing = [key for key in dict.fromkeys(wanted) if key not in kept or now - kept[key][0] > within_s]
        if missing:
            found = self._ask(missing)
            kept |= {key: (now, found.get(key)) for key in missing}
            self._rows = valid | {(address, key): row for key, row in kept.items()}
        return {key: value for key in wanted if (value := kept[key][1]) is not None}


def _ask_retentions(names: Sequence[str]) -> Mapping[str, TopicRetention]:
    known = _topics()
    found = topics.configs([name for name in names if name in known])
    return {name: _retention(options) for name, options in found.items()}


def _ask_first_offsets(partitions: Sequence[tuple[str, int]]) -> Mapping[tuple[str, int], int]:
    known = _topics()
    return topics.begins([one for one in partitions if 0 <= one[1] < known.get(one[0], 0)])


def _topics() -> Mapping[str, int]:
    """Return the partitions of each topic. Not cached: a topic created a moment ago must not seem missing."""
    if not availability().reachable:  # this check has a short time-out and a cache
        raise BrokerUnavailable("Kafka does not respond")
    return topics.cluster().topics


def _retention(options: Mapping[str, str]) -> TopicRetention:
    policies = {part.strip() for part in options["cleanup.policy"].split(",")} - {""}
    return TopicRetention(frozenset(policies), int(options["retention.ms"]), int(options["retention.bytes"]))


_retentions = RetentionCache(_ask_retentions)
_first_offsets = RetentionCache(_ask_first_offsets)
