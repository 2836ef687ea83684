"""Is the broker there? Asked often, so the answer is kept for a few seconds."""

import time
from dataclasses import dataclass

from dlqadmin.broker import topics
from dlqadmin.broker.messages import BrokerUnavailable

KEPT_S = 5.0


@dataclass(frozen=True, slots=True)
class Presence:
    """Whether Kafka answered, with how many brokers and which topics."""

    reachable: bool
    brokers: int
    topics: dict[str, int]


_last: tuple[float, Presence] | None = None


def presence() -> Presence:
    """The cluster as of at most five seconds ago; an unreachable one is an answer, not an error."""
    global _last
    if _last is None or time.monotonic() - _last[0] > KEPT_S:
        try:
            view = topics.cluster(timeout_s=1.5)
            found = Presence(True, view.brokers, dict(view.topics))
        except BrokerUnavailable:
            found = Presence(False, 0, {})
        _last = (time.monotonic(), found)
    return _last[1]


def describe_cluster() -> str | None:
    """The cluster in a few words for the banner; None when it does not answer."""
    found = presence()
    if not found.reachable:
        return None
    return f"Kafka, {found.brokers} broker{'' if found.brokers == 1 else 's'}"
