"""How long topics keep their records: asked of the broker for many at once, and kept for a while."""

import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from django.conf import settings

from dlqadmin.broker import topics
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.broker.presence import presence

KEPT_S = 30.0
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Retention:
    """What a topic's config says of when records leave; a negative limit is none."""

    policies: frozenset[str]  # of "delete" and "compact"
    ms: int
    bytes: int


def retentions(names: Sequence[str]) -> Mapping[str, Retention]:
    """The retention of each topic; absent topics are left out. Raises BrokerUnavailable."""
    return _retentions.get(names)


def first_offsets(partitions: Sequence[tuple[str, int]]) -> Mapping[tuple[str, int], int]:
    """The first offset still kept of each partition; unknown ones are left out. Raises BrokerUnavailable."""
    return _first_offsets.get(partitions)


class Kept(Generic[K, V]):
    """The broker's answers, each kept for half a minute; that it has none is an answer too."""

    def __init__(
        self, ask: Callable[[Sequence[K]], Mapping[K, V]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._ask, self._clock = ask, clock
        self._rows: dict[tuple[str, K], tuple[float, V | None]] = {}

    def get(self, wanted: Sequence[K], within_s: float = KEPT_S) -> dict[K, V]:
        """The answers, none older than so many seconds."""
        address, now = settings.KAFKA_BOOTSTRAP_SERVERS, self._clock()
        kept = {key: row for (at, key), row in self._rows.items() if at == address and now - row[0] <= KEPT_S}
        missing = [key for key in dict.fromkeys(wanted) if key not in kept or now - kept[key][0] > within_s]
        if missing:
            found = self._ask(missing)
            kept |= {key: (now, found.get(key)) for key in missing}
            self._rows = {(address, key): row for key, row in kept.items()}
        return {key: value for key in wanted if (value := kept[key][1]) is not None}


def _ask_retentions(names: Sequence[str]) -> Mapping[str, Retention]:
    known = _topics()
    found = topics.configs([name for name in names if name in known])
    return {name: _retention(options) for name, options in found.items()}


def _ask_first_offsets(partitions: Sequence[tuple[str, int]]) -> Mapping[tuple[str, int], int]:
    known = _topics()
    return topics.begins([one for one in partitions if 0 <= one[1] < known.get(one[0], 0)])


def _topics() -> Mapping[str, int]:
    """The partitions of each topic, as they are now: one made a moment ago must not be called absent."""
    if not presence().reachable:  # asked with a short time-out, and remembered
        raise BrokerUnavailable("Kafka does not answer")
    return topics.cluster().topics


def _retention(options: Mapping[str, str]) -> Retention:
    policies = {part.strip() for part in options["cleanup.policy"].split(",")} - {""}
    return Retention(frozenset(policies), int(options["retention.ms"]), int(options["retention.bytes"]))


_retentions = Kept(_ask_retentions)
_first_offsets = Kept(_ask_first_offsets)
