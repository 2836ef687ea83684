"""The engine's connectors and the guarded Spark queries that read a replay's targets.

Also the index's progress on their dead letters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec
from django.conf import settings
from django.utils import timezone

from dlqadmin.broker import clusters
from dlqadmin.connectors import cluster_responses, spark_queries
from dlqadmin.connectors import queries as connectors
from dlqadmin.connectors.cluster_responses import ClusterResponse
from dlqadmin.connectors.documents import ConnectorDocument
from dlqadmin.deadletters.index.followed_topics import FollowedTopics, followed_topics
from dlqadmin.deadletters.models import IndexPosition
from dlqadmin.metrics import queries as metrics
from dlqadmin.metrics.models import TaskSnapshot
from dlqadmin.rest.times import from_ms, iso_or_none
from dlqadmin.teams.reach import EVERYTHING, reaching
from engine.record.query_status import QueryState

OTHER_CLUSTER = ("errors.deadletterqueue.producer.bootstrap.servers", "errors.dlq.producer.bootstrap.servers")

Offsets = Mapping[tuple[str, int], int]


class Task(msgspec.Struct, frozen=True):
    """One task as the engine reports it.

    `partitions` are the partitions with positions, as `topic-0`.
    """

    id: int
    state: str
    partitions: frozenset[str] = frozenset()
    parked_until: datetime | None = None


class Reader(msgspec.Struct, frozen=True):
    """A connector or Spark query that reads topics. `gone` if there is none of this name any more.

    Its dead letters go to the topic `dead_letters`, empty if it writes none. `elsewhere`: the topic is on another
    cluster. A query (`is_query`) commits no offsets to Kafka, so only its reports tell how far it has read.
    """

    name: str
    state: str = "UNASSIGNED"
    topics: tuple[str, ...] = ()
    lag: int | None = None
    dead_letters: str = ""
    elsewhere: bool = False
    is_indexed: bool = True  # the index reads its dead letter topic
    value_converter: str = ""  # its class, if the connector's own configuration names one
    tasks: tuple[Task, ...] = ()
    gone: bool = False
    is_query: bool = False

    @property
    def group(self) -> str:
        """The name of the connector's consumer group, empty for a query."""
        return "" if self.is_query else f"connect-{self.name}"

    @property
    def followed(self) -> str:
        """The dead letter topic that the index can follow, empty if there is none."""
        return "" if self.unseen else self.dead_letters

    @property
    def unseen(self) -> str:
        """The reason why its dead letters can't be followed, as a clause.

        Empty if they can, or if the connector writes none. A connector without a dead letter topic hides nothing: it
        reports skipped records, and stops at errors that it does not tolerate.
        """
        if self.dead_letters and self.elsewhere:
            return f"dead letters go to {self.dead_letters} on another cluster"
        if self.dead_letters and not self.is_indexed:
            return f"dead letters go to {self.dead_letters}, which is not indexed"
        return ""

    def stopped(self, topic: str, partition: int) -> str:
        """Return why nothing reads the partition, as a sentence. Empty if it is read, or soon will be."""
        if self.gone:
            return f"{self.name} no longer exists, so nothing reads {topic}"
        if self.state in ("PAUSED", "STOPPED"):
            return f"{self.name} is {self.state.lower()}"
        if self.state == "FAILED":
            return f"{self.name} has failed"
        if self.state == QueryState.FINISHED:
            return f"{self.name} has finished, so nothing reads {topic} until it runs again"
        if self.state == spark_queries.SILENT:
            return f"{self.name} has stopped reporting"
        if self.topics and topic not in self.topics:
            return f"{self.name} does not read {topic}"
        failed = [task for task in self._owners(topic, partition) if task.state == "FAILED"]
        return f"task {self.name}-{failed[0].id} has failed" if failed else ""

    def parked(self, topic: str, partition: int, now: datetime) -> bool:
        """Return whether the partition's task waits before a retry."""
        return any(task.parked_until and task.parked_until > now for task in self._owners(topic, partition))

    def _owners(self, topic: str, partition: int) -> list[Task]:
        """Return the tasks that own the partition.

        If no task reports it, the connector's only task is the owner.
        """
        owners = [task for task in self.tasks if f"{topic}-{partition}" in task.partitions]
        return owners or (list(self.tasks) if len(self.tasks) == 1 else [])


class Readers(msgspec.Struct, frozen=True):
    """All connectors by name, as the engine knows them, and the Spark queries.

    `away` says when the engine last responded, empty if it responds now.
    """

    by_name: Mapping[str, Reader]
    away: str = ""
    heard: bool = True  # False: the engine never responded, so a missing connector is not known to be gone

    def named(self, name: str) -> Reader:
        """Return the connector of this name, marked as gone if the engine has no such connector."""
        return self.by_name.get(name) or Reader(name, gone=self.heard)

    @property
    def groups(self) -> frozenset[str]:
        """The consumer groups of the engine's connectors. Groups of Kafka Connect have names of the same form."""
        return frozenset(reader.group for reader in self.by_name.values() if not reader.is_query)

    def of(self, topic: str) -> tuple[Reader, ...]:
        """Return the connectors and queries that read the topic.

        A finished query may never run again, so it must not hide the consumer groups that read the topic.
        """
        return tuple(
            reader for reader in self.by_name.values() if topic in reader.topics and reader.state != QueryState.FINISHED
        )


def look() -> Readers:
    """Return the connectors from the engine, or from its last good answer, and the queries by their last reports.

    Those of other Connect clusters report no outcomes to this dashboard: their groups are foreign ones. Connectors of
    all teams may read a target, so those out of reach count too. The engine uses the own Kafka cluster, so topics of
    other clusters have foreign groups only.
    """
    if clusters.current() != settings.CLUSTER:
        return Readers(by_name={})
    with reaching(EVERYTHING):
        return _look()


def behind(indexed: Mapping[str, int], ends: Offsets, begins: Offsets) -> dict[str, int]:
    """Return how many records of each topic the index has still to read up to these ends.

    `indexed` maps topics to their number of partitions.
    """
    rows = IndexPosition._base_manager.filter(cluster=clusters.current(), topic__in=indexed)
    positions = {(row.topic, row.partition): row.position for row in rows}
    return {
        topic: sum(left((topic, number), positions, ends, begins) for number in range(count))
        for topic, count in indexed.items()
    }


def left(where: tuple[str, int], positions: Offsets, ends: Offsets, begins: Offsets) -> int:
    """Return how many records of one partition the index has still to read."""
    return max(0, ends.get(where, 0) - max(positions.get(where, 0), begins.get(where, 0)))


def _look() -> Readers:
    now = timezone.now()
    answer = cluster_responses.of_own_engine(cluster_responses.fetch_connectors(now))
    index = followed_topics()  # once, because it queries the database
    queries = _readers(spark_queries.response(metrics.snapshots(), now), index, now)
    if answer is None:  # no engine is configured, so every other reader is a foreign group
        return Readers(by_name=queries)
    return Readers(
        # Reports tell a query from a connector by the name alone. If both have it, those of the connector count.
        by_name=queries | _readers(answer, index, now),
        away="" if answer.reachable else f"last response {iso_or_none(answer.at) or 'never'}",
        heard=answer.at is not None,
    )


def _readers(answer: ClusterResponse, index: FollowedTopics, now: datetime) -> dict[str, Reader]:
    figures = metrics.snapshots()
    return {
        row.name: _reader(row, figures.get(row.key.reporter, []), index) for row in connectors.documents([answer], now)
    }


def _reader(row: ConnectorDocument, figures: Iterable[TaskSnapshot], index: FollowedTopics) -> Reader:
    known = {snapshot.task: snapshot.status for snapshot in figures}
    elsewhere = next((row.config[name] for name in OTHER_CLUSTER if row.config.get(name)), "")
    return Reader(
        name=row.name,
        state=row.state,
        topics=tuple(row.topics),
        lag=row.lag,
        dead_letters=row.dlq_topic or "",
        value_converter=row.config.get("value.converter") or "",
        is_indexed=index.follows(row.dlq_topic or ""),
        elsewhere=elsewhere not in ("", settings.KAFKA_BOOTSTRAP_SERVERS),
        tasks=tuple(_task(task.id, task.state, known.get(task.id, {})) for task in row.tasks),
        is_query=row.key.is_query,
    )


def _task(number: int, state: str, status: Mapping[str, Any]) -> Task:
    positions, parked = status.get("positions"), status.get("parked_until")
    return Task(
        id=number,
        state=state,
        partitions=frozenset(positions) if isinstance(positions, dict) else frozenset(),
        # 2**47 ms is still within the range of datetime.
        parked_until=from_ms(parked) if isinstance(parked, int) and 0 < parked < 2**47 else None,
    )
