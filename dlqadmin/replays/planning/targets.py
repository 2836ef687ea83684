"""What stands where a replay writes to: the topics, their limits, and who reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

import msgspec

from dlqadmin.broker import topics
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.broker.topics import ClusterView
from dlqadmin.replays.outcome import readers
from dlqadmin.replays.outcome.readers import Reader
from dlqadmin.replays.sending.forbidden import dead_letter_topics, forbidden


class Cluster(Protocol):
    """What is asked of Kafka; `dlqadmin.broker.topics` answers. All raise BrokerUnavailable."""

    def cluster(self) -> ClusterView: ...
    def max_message_bytes(self, topic: str) -> int | None: ...
    def ends(self, wanted: list[tuple[str, int]]) -> dict[tuple[str, int], int]: ...
    def begins(self, wanted: list[tuple[str, int]]) -> dict[tuple[str, int], int]: ...


class Target(msgspec.Struct, frozen=True):
    """One topic that a replay writes to; `partitions` is None where there is no such topic.

    `forbidden` is the clause that says why no replay may write there; empty when it may.
    """

    topic: str
    partitions: int | None = None
    limit_bytes: int | None = None
    readers: tuple[Reader, ...] = ()
    forbidden: str = ""

    def stopped(self, reader: Reader) -> str:
        """Why the connector does not read all of the topic, as a sentence; empty while it does, or soon will."""
        reasons = (reader.stopped(self.topic, number) for number in range(self.partitions or 1))
        return next((reason for reason in reasons if reason), "")


class Targets(msgspec.Struct, frozen=True):
    """All targets; `kafka` and `engine` say why they could not be asked, and are empty when they could.

    `behind` counts what the index has still to read of each dead letter topic that can be followed.
    """

    by_name: Mapping[str, Target]
    behind: Mapping[str, int] = {}
    kafka: str = ""
    engine: str = ""

    def watched(self, topic: str, connector: str) -> str:
        """The connector whose outcome counts there: the one the record failed in, else the first; empty for none."""
        names = [reader.name for reader in self.by_name[topic].readers] if topic in self.by_name else []
        return connector if connector in names else next(iter(names), "")


def look(names: Iterable[str], cluster: Cluster = topics) -> Targets:
    """The targets as they are now; whoever is away is named in the answer."""
    known = readers.look()
    dead = dead_letter_topics()
    found = {
        name: Target(name, readers=known.of(name), forbidden=forbidden(name, dead) or "")
        for name in sorted({name for name in names if name})
    }
    try:
        there = cluster.cluster().topics
        asked = {name: _asked(target, there, cluster) for name, target in found.items()}
        return Targets(asked, behind=_behind(found.values(), there, cluster), engine=known.away)
    except BrokerUnavailable as error:
        return Targets(found, kafka=str(error) or "no answer", engine=known.away)


def _asked(target: Target, there: Mapping[str, int], cluster: Cluster) -> Target:
    if target.topic not in there:
        return target
    limit = cluster.max_message_bytes(target.topic)
    return msgspec.structs.replace(target, partitions=there[target.topic], limit_bytes=limit)


def _behind(targets: Iterable[Target], there: Mapping[str, int], cluster: Cluster) -> dict[str, int]:
    followed = {reader.followed for target in targets for reader in target.readers if reader.followed}
    indexed = {name: there.get(name, 0) for name in sorted(followed)}
    where = [(name, number) for name, count in indexed.items() for number in range(count)]
    return readers.behind(indexed, cluster.ends(where), cluster.begins(where))
