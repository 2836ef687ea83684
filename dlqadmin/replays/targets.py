"""What stands where a replay writes to: the topics, their limits, and the connectors that read them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import msgspec

from dlqadmin.broker import topics
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.broker.topics import ClusterView
from dlqadmin.connectors import queries as connectors
from dlqadmin.deadletters.following import follows
from dlqadmin.replays.readers import behind


class Cluster(Protocol):
    """What is asked of Kafka; `dlqadmin.broker.topics` answers. All raise BrokerUnavailable."""

    def cluster(self) -> ClusterView: ...
    def max_message_bytes(self, topic: str) -> int | None: ...
    def ends(self, wanted: list[tuple[str, int]]) -> dict[tuple[str, int], int]: ...
    def begins(self, wanted: list[tuple[str, int]]) -> dict[tuple[str, int], int]: ...


class Reader(msgspec.Struct, frozen=True):
    """A connector that reads a target. `behind`: what the index has not read of its dead letters; None: not indexed."""

    name: str
    state: str
    lag: int | None
    dead_letters: str
    behind: int | None

    @property
    def provable(self) -> str:
        """Why its outcomes would not be known, as a sentence's end; empty when they can be."""
        if self.state != "RUNNING":
            return f"is {self.state.lower()}: unknown(group_empty) until it runs"
        if not self.dead_letters:
            return "has no dead letter topic: a failure may end its task unseen, unknown(no_dead_letter_path)"
        if self.behind is None:
            return f"writes dead letters to {self.dead_letters}, which is not indexed: unknown(no_dead_letter_path)"
        return ""


class Target(msgspec.Struct, frozen=True):
    """One topic that a replay writes to; `partitions` is None where there is no such topic."""

    topic: str
    partitions: int | None = None
    limit_bytes: int | None = None
    readers: tuple[Reader, ...] = ()


class Targets(msgspec.Struct, frozen=True):
    """All targets; `kafka` and `engine` say why they could not be asked, and are empty when they could."""

    by_name: Mapping[str, Target]
    kafka: str = ""
    engine: str = ""

    def watched(self, topic: str, connector: str) -> str:
        """The connector whose outcome counts there: the one the record failed in, else the first; empty for none."""
        names = [reader.name for reader in self.by_name[topic].readers] if topic in self.by_name else []
        return connector if connector in names else next(iter(names), "")


def look(names: Iterable[str], cluster: Cluster = topics) -> Targets:
    """The targets as they are now; whoever is away is named in the answer."""
    wanted = sorted({name for name in names if name})
    answer = connectors.connectors()
    engine = "" if answer["reachable"] else f"last heard {answer['as_of'] or 'never'}"
    try:
        known = cluster.cluster().topics
        readers = {name: _readers(name, answer["results"], known, cluster) for name in wanted}
        found = {
            name: Target(
                name, known.get(name), cluster.max_message_bytes(name) if name in known else None, readers[name]
            )
            for name in wanted
        }
    except BrokerUnavailable as error:
        return Targets({name: Target(name) for name in wanted}, kafka=str(error) or "no answer", engine=engine)
    return Targets(found, engine=engine)


def _readers(
    topic: str, rows: Iterable[Mapping[str, Any]], known: Mapping[str, int], cluster: Cluster
) -> tuple[Reader, ...]:
    return tuple(
        Reader(
            name=row["name"],
            state=row["state"],
            lag=row["lag"],
            dead_letters=row["dlq_topic"] or "",
            behind=_behind(row["dlq_topic"], known, cluster),
        )
        for row in rows
        if topic in row["topics"]
    )


def _behind(topic: str | None, known: Mapping[str, int], cluster: Cluster) -> int | None:
    if not topic or not follows(topic):
        return None
    where = [(topic, number) for number in range(known.get(topic, 0))]
    return behind({topic: len(where)}, cluster.ends(where), cluster.begins(where))[topic]
