"""Who reads a replay's targets: the engine's connectors as they are now, and how far their dead letters are indexed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import msgspec
from django.conf import settings

from dlqadmin.connectors import queries as connectors
from dlqadmin.deadletters.following import follows
from dlqadmin.deadletters.models import IndexPosition
from dlqadmin.metrics import queries as metrics
from dlqadmin.metrics.models import TaskSnapshot
from dlqadmin.rest.times import from_ms

OTHER_CLUSTER = ("errors.deadletterqueue.producer.bootstrap.servers", "errors.dlq.producer.bootstrap.servers")

Offsets = Mapping[tuple[str, int], int]


class Task(msgspec.Struct, frozen=True):
    """One task as the engine says it is; `partitions` are those it has positions in, as `topic-0`."""

    id: int
    state: str
    partitions: frozenset[str] = frozenset()
    parked_until: datetime | None = None


class Reader(msgspec.Struct, frozen=True):
    """A connector that reads topics; `gone` when the engine no longer has it.

    Its dead letters go to the topic `dead_letters`, on another cluster when `elsewhere`; empty when it writes none.
    """

    name: str
    state: str = "UNASSIGNED"
    topics: tuple[str, ...] = ()
    lag: int | None = None
    dead_letters: str = ""
    elsewhere: bool = False
    value_converter: str = ""  # its class, where the connector's own configuration names one
    tasks: tuple[Task, ...] = ()
    gone: bool = False

    @property
    def group(self) -> str:
        """The consumer group it commits as."""
        return f"connect-{self.name}"

    @property
    def followed(self) -> str:
        """The dead letter topic that can be followed in the index; empty when there is none."""
        return "" if self.unseen else self.dead_letters

    @property
    def unseen(self) -> str:
        """Why its dead letters can't be followed, as a clause; empty when they can, or when it writes none.

        One that writes none hides nothing: it reports what it skips, and stops at what it does not tolerate.
        """
        if self.dead_letters and self.elsewhere:
            return f"dead letters go to {self.dead_letters} on another cluster"
        if self.dead_letters and not follows(self.dead_letters):
            return f"dead letters go to {self.dead_letters}, which is not indexed"
        return ""

    def stopped(self, topic: str, partition: int) -> str:
        """Why nothing reads the partition, as a sentence; empty while it is read, or soon will be."""
        if self.gone:
            return f"{self.name} is no more: nothing reads {topic}"
        if self.state in ("PAUSED", "STOPPED"):
            return f"{self.name} is {self.state.lower()}"
        if self.state == "FAILED":
            return f"{self.name} has failed"
        if self.topics and topic not in self.topics:
            return f"{self.name} does not read {topic}"
        failed = [task for task in self._owners(topic, partition) if task.state == "FAILED"]
        return f"task {self.name}-{failed[0].id} has failed" if failed else ""

    def parked(self, topic: str, partition: int, now: datetime) -> bool:
        """Does the task wait before it tries a record again?"""
        return any(task.parked_until and task.parked_until > now for task in self._owners(topic, partition))

    def _owners(self, topic: str, partition: int) -> list[Task]:
        """The task that has the partition; while none says so, the only one there is."""
        owners = [task for task in self.tasks if f"{topic}-{partition}" in task.partitions]
        return owners or (list(self.tasks) if len(self.tasks) == 1 else [])


class Readers(msgspec.Struct, frozen=True):
    """All connectors, by name, as the engine knows them; `away` says since when it is not heard, empty while it is."""

    by_name: Mapping[str, Reader]
    away: str = ""
    heard: bool = True  # an engine that never answered tells nothing of what it has

    def named(self, name: str) -> Reader:
        """The connector of this name, though it may be no more."""
        return self.by_name.get(name) or Reader(name, gone=self.heard)

    def of(self, topic: str) -> tuple[Reader, ...]:
        """The connectors that read the topic."""
        return tuple(reader for reader in self.by_name.values() if topic in reader.topics)


def look() -> Readers:
    """The connectors as the engine, or its last good answer, knows them."""
    answer = connectors.connectors()
    figures = metrics.snapshots()
    return Readers(
        by_name={row["name"]: _reader(row, figures.get(row["name"], [])) for row in answer["results"]},
        away="" if answer["reachable"] else f"last heard {answer['as_of'] or 'never'}",
        heard=answer["as_of"] is not None,
    )


def behind(indexed: Mapping[str, int], ends: Offsets, begins: Offsets) -> dict[str, int]:
    """How many records of each topic, which has that many partitions, the index has still to read up to these ends."""
    rows = IndexPosition.objects.filter(cluster=settings.CLUSTER, topic__in=indexed)
    positions = {(row.topic, row.partition): row.position for row in rows}
    return {
        topic: sum(left((topic, number), positions, ends, begins) for number in range(count))
        for topic, count in indexed.items()
    }


def left(where: tuple[str, int], positions: Offsets, ends: Offsets, begins: Offsets) -> int:
    """How many records of one partition."""
    return max(0, ends.get(where, 0) - max(positions.get(where, 0), begins.get(where, 0)))


def _reader(row: Mapping[str, Any], figures: Iterable[TaskSnapshot]) -> Reader:
    known = {snapshot.task: snapshot.status for snapshot in figures}
    elsewhere = next((row["config"][name] for name in OTHER_CLUSTER if row["config"].get(name)), "")
    return Reader(
        name=row["name"],
        state=row["state"],
        topics=tuple(row["topics"]),
        lag=row["lag"],
        dead_letters=row["dlq_topic"] or "",
        value_converter=row["config"].get("value.converter") or "",
        elsewhere=elsewhere not in ("", settings.KAFKA_BOOTSTRAP_SERVERS),
        tasks=tuple(_task(task["id"], task["state"], known.get(task["id"], {})) for task in row["tasks"]),
    )


def _task(number: int, state: str, status: Mapping[str, Any]) -> Task:
    positions, parked = status.get("positions"), status.get("parked_until")
    return Task(
        id=number,
        state=state,
        partitions=frozenset(positions) if isinstance(positions, dict) else frozenset(),
        parked_until=from_ms(parked) if isinstance(parked, int) and 0 < parked < 2**47 else None,
    )
