"""Retry topics, recognised by their names as Spring's `@RetryableTopic` makes them.

The retry topics of `orders` are `orders-retry`, `orders-retry-0`, `orders-retry-1000`, and so on. The group that reads
one has the same suffix: `billing-retry-0`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

import msgspec

LEAST_DELAY_MS = 100  # a smaller number at the end of a retry topic's name counts topics, not milliseconds
_RETRY_TOPIC = re.compile(r"(?P<origin>.+?)(?P<suffix>[-._]retry([-._].+)?)")


class RetryTopic(msgspec.Struct, frozen=True):
    """The name of a retry topic, split into its origin topic and the suffix."""

    origin: str
    suffix: str

    def group_of_origin(self, group: str) -> str:
        """Return the group that reads the origin topic, by the name of a group that reads this one.

        "" if the group's name does not have the topic's suffix.
        """
        return group.removesuffix(self.suffix) if group.endswith(self.suffix) else ""


def parse(topic: str, there: Collection[str]) -> RetryTopic | None:
    """Return the parts of a retry topic's name, None for other topics. `there` are all topics."""
    found = _RETRY_TOPIC.fullmatch(topic)
    return RetryTopic(found["origin"], found["suffix"]) if found and found["origin"] in there else None


def retry_topics(topic: str, there: Iterable[str]) -> list[str]:
    """Return the retry topics of this topic, in the order of retries."""
    pattern = re.compile(rf"{re.escape(topic)}[-._]retry([-._].+)?")
    return sorted((name for name in there if pattern.fullmatch(name)), key=lambda name: (_number(name), name))


def onward(topic: str, there: Collection[str]) -> list[str]:
    """Return the retry topics in which a record of this topic may wait, in the order of retries.

    If the topic is a retry topic, these are itself and the later ones: a listener may reuse one for all its retries.
    """
    own = parse(topic, there)
    if own is None or topic not in there:  # it may have been deleted since a record was sent
        return retry_topics(topic, there)
    all_of_origin = retry_topics(own.origin, there)
    return all_of_origin[all_of_origin.index(topic) :]


def delay_s(name: str) -> float:
    """Return the delay in a retry topic's name in seconds, 0 if it names none."""
    return _number(name) / 1000 if _number(name) >= LEAST_DELAY_MS else 0.0


def _number(name: str) -> int:
    found = re.search(r"(\d{1,9})$", name)
    return int(found[1]) if found else 0
