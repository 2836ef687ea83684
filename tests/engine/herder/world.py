"""A herder in a world in memory: topics, groups, leases that end when the test says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

import orjson

from engine.config.client_names import leader_id
from engine.config.topic import ConfigState, KeyValue, fold_all
from engine.errors import AbortableError, ConfigError, EngineError, GenerationFenced, RetriableError
from engine.herder.config_topic import Connectors
from engine.herder.herder import Herder
from engine.herder.leadership import LeaderProducer, Leadership
from engine.herder.positions import GroupOffsets
from engine.herder.snapshot import ConnectorFacts
from engine.herder.state import HerderSettings
from engine.herder.status import StatusTopic
from engine.herder.topic_log import TopicLog
from engine.ports import Committed, Producer, SourcePosition
from engine.record.record import RawRecord, TopicPartition
from engine.record.stage import Stage, StageType
from engine.worker_messages import ConnectorKind, Delivery, Lease, LeaseEnd, TaskReport
from tests import fakes

T = TypeVar("T")
SETTINGS = HerderSettings(slots=2, poll_ms=0, trouble_ms=0, heartbeat_ms=3000, graceful_ms=1000, recommit_ms=60_000)


class LogProducer(fakes.Producer):
    """Writes to the log that a fake consumer reads."""

    def __init__(self, log: fakes.Consumer) -> None:
        super().__init__()
        self._log = log

    def flush(self) -> None:
        super().flush()
        for topic, key, value, _, _ in self.records:
            at = TopicPartition(topic, 0)
            offset = self._log.end_offsets([at])[at]
            self._log.append(RawRecord(topic, 0, offset, 0, "CREATE_TIME", key, value))
        self.records = []


class Transactional(fakes.Producer):
    """A transactional client over a producer's log: `owners` says who took each id over last."""

    def __init__(self, world: World, name: str, log: LogProducer | None = None) -> None:
        super().__init__()
        self._world = world
        self._name = name
        self._log = log
        self._offsets: list[tuple[str, dict[TopicPartition, Committed]]] = []

    def init(self) -> None:
        if self._world.unfenceable:
            raise self._world.unfenceable
        self._world.owners[self._name] = self

    def begin(self) -> None:
        self._check()

    def flush(self) -> None:
        self._check()

    def send_offsets(self, offsets: Mapping[TopicPartition, Committed], group: str) -> None:
        self._check()
        self._offsets.append((group, dict(offsets)))

    def commit(self) -> None:
        self._check()
        if self._log is not None:
            if self._world.unwritable is not None:
                raise self._world.unwritable
            self._world.written += 1
            self._world.interrupt -= 1
            if self._world.interrupt == 0:
                raise AbortableError("lost")
            for topic, key, value, headers, timestamp in self.queue:
                self._log.produce(topic, key, value, headers, timestamp)
            self._log.flush()
        for group, offsets in self._offsets:
            self._world.recommitted.append(f"{group} as {self._name}")
            self._world.groups.setdefault(group, {}).update(offsets)
        self._forget()

    def abort(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self.queue, self._offsets = [], []

    def _check(self) -> None:
        if self._world.owners.get(self._name) is not self:
            raise GenerationFenced(f"{self._name} belongs to another")


class Election:
    """Won by whoever the test says."""

    def __init__(self) -> None:
        self.won = True
        self.confirmed: bool | None = None  # None: as `won`
        self.closed = False

    def is_elected(self) -> bool:
        return self.won

    def confirms(self) -> bool:
        return self.won if self.confirmed is None else self.confirmed

    def close(self) -> None:
        self.closed = True


class World:
    """Implements the Admin and TaskRunner ports; `herder` makes a driver in it."""

    slots = 2

    def __init__(self) -> None:
        self.now = 1_000_000
        self.ends: dict[TopicPartition, int] = {}
        self.groups: dict[str, dict[TopicPartition, Committed]] = {}
        self.leases: dict[str, tuple[Lease, Future[tuple[TaskReport, ...]]]] = {}
        self.cancelled: list[str] = []
        self.has_core = True  # for each lease, at once
        self.trouble: EngineError | None = None
        self.recommitted: list[str] = []
        self.config_log = fakes.Consumer()
        self.status_log = fakes.Consumer()
        self.owners: dict[str, Transactional] = {}
        self.unfenceable: EngineError | None = None
        self.unwritable: EngineError | None = None  # what every write of a leader meets
        self.written = 0  # transactions of the leader
        self.interrupt = 0  # the leader's commit of this number, counted from now, is not made
        self.fenced: list[tuple[str, tuple[int, ...]]] = []
        self.fencing: EngineError | None = None  # what a round of fencing meets
        self.source_offsets: dict[str, dict[str, SourcePosition]] = {}

    def write_config(self, *rows: KeyValue) -> None:
        """Append to the config topic, as another leader or an older engine does."""
        at = TopicPartition("configs", 0)
        for row in rows:
            end = self.config_log.end_offsets([at])[at]
            self.config_log.append(RawRecord("configs", 0, end, 0, "CREATE_TIME", *row))

    def producer(self, properties: Mapping[str, str], task: int) -> Transactional:
        """A client with the task's id."""
        return Transactional(self, f"g-{properties['name']}-{task}")

    def fence(self, properties: Mapping[str, str], tasks: Sequence[int]) -> None:
        """The Fence port."""
        self.fenced.append((properties["name"], tuple(tasks)))
        if self.fencing is not None:
            raise self.fencing

    def read(self, properties: Mapping[str, str]) -> list[tuple[SourcePosition, SourcePosition]]:
        """The SourceOffsets port."""
        rows = self.source_offsets.get(properties["name"], {})
        return [(orjson.loads(partition), offset) for partition, offset in rows.items()]

    def write(
        self, properties: Mapping[str, str], offsets: Sequence[tuple[SourcePosition, SourcePosition | None]]
    ) -> None:
        rows = self.source_offsets.setdefault(properties["name"], {})
        for partition, offset in offsets:
            key = orjson.dumps(partition).decode()
            if offset is None:
                rows.pop(key, None)
            else:
                rows[key] = offset

    def started(self, election: Election | None = None, worker_id: str = "w:1", **changes: Any) -> Herder:
        """Return a herder that has made its first turn."""
        made = self.herder(election, worker_id, **changes)
        turn(made)
        return made

    def herder(self, election: Election | None = None, worker_id: str = "w:1", **changes: Any) -> Herder:
        def consumers(group: str) -> fakes.Consumer:
            self.recommitted.append(group)
            return fakes.Consumer(group=self.groups[group])

        def log(topic: str, records: fakes.Consumer, producer: Producer) -> TopicLog:
            reader = fakes.Consumer()
            reader.log = records.log
            return TopicLog(topic, reader, producer)

        leader = LeaderProducer(lambda: Transactional(self, leader_id("g"), LogProducer(self.config_log)))
        connectors = Connectors(log("configs", self.config_log, leader), worker_id, f"http://{worker_id}")
        given: dict[str, Any] = {
            "connectors": connectors,
            "leadership": Leadership(election or Election(), leader, connectors, SETTINGS.silent_ms),
            "status": StatusTopic(log("status", self.status_log, LogProducer(self.status_log))),
            "offsets": GroupOffsets(self, consumers, self.producer),
            "sources": self,
            "admin": self,
            "runner": self,
            "examine": examine,
            "fence": self.fence,
            "settings": SETTINGS,
            "worker_id": worker_id,
            "now_ms": lambda: self.now,
            "prepare": lambda: None,
        }
        return Herder(**{**given, **changes})

    def statuses(self) -> dict[str, Any]:
        """What the status topic says now."""
        rows = self.status_log.log.get(TopicPartition("status", 0), [])
        last = {(row.key or b"").decode(): row.value for row in rows}
        return {key: orjson.loads(value) for key, value in last.items() if value is not None}

    def config(self) -> ConfigState:
        """What the config topic says now."""
        rows = self.config_log.log.get(TopicPartition("configs", 0), [])
        return fold_all(ConfigState(), [(row.key, row.value) for row in rows])

    def end(self, end: LeaseEnd = LeaseEnd.CAUGHT_UP, **more: Any) -> None:
        """Every running lease ends, each task at the end of its partitions."""
        for lease, future in list(self.leases.values()):
            reports = []
            for task in lease.tasks:
                ends = {f"{at.topic}-{at.partition}": self.ends[at] for at in task.partitions}
                metrics = {"records-consumed": sum(ends.values())}
                base = (task.connector, task.task, task.generation, end, ends, ends, metrics)
                reports.append(TaskReport(*base, {}, {}, {}, True, **more))
            del self.leases[lease.lease_id]
            future.set_result(tuple(reports))

    def lose(self, error: Exception) -> None:
        """Every running lease ends with this error."""
        leases, self.leases = self.leases, {}
        for _, future in leases.values():
            future.set_exception(error)

    # the ports
    def topics(self) -> list[str]:
        return sorted({topic for topic, _ in self.ends})

    def partitions(self, topic: str) -> int | None:
        return sum(1 for name, _ in self.ends if name == topic) or None

    def partition_counts(self) -> dict[str, int]:
        return {topic: self.partitions(topic) or 0 for topic in self.topics()}

    def create_topic(
        self, name: str, partitions: int, replication_factor: int, config: Mapping[str, str] | None = None
    ) -> None:
        self.ends.update({TopicPartition(name, number): 0 for number in range(partitions)})

    def end_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        if self.trouble:
            raise self.trouble
        if gone := [partition for partition in partitions if partition not in self.ends]:
            raise RetriableError(f"unknown: {gone}")
        return {partition: self.ends[partition] for partition in partitions}

    def begin_offsets(self, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        return dict.fromkeys(partitions, 0)

    def committed(self, group: str, partitions: Sequence[TopicPartition]) -> dict[TopicPartition, Committed | None]:
        return {partition: self.groups.get(group, {}).get(partition) for partition in partitions}

    def submit(self, lease: Lease) -> Future[tuple[TaskReport, ...]]:
        future: Future[tuple[TaskReport, ...]] = Future()
        self.leases[lease.lease_id] = (lease, future)
        return future

    def is_waiting(self, lease_id: str) -> bool:
        return not self.has_core

    def cancel(self, lease_id: str) -> None:
        self.cancelled.append(lease_id)

    def close(self) -> None:
        """Nothing runs by itself."""


def examine(properties: Mapping[str, str]) -> ConnectorFacts:
    if properties.get("tasks.max") == "many":
        raise ConfigError((("tasks.max", "many", "is no number"),))
    kind = ConnectorKind(properties.get("kind", ConnectorKind.SINK))
    configs = ({"number": "0"}, {"number": "1"}) if kind is ConnectorKind.SOURCE else ()
    delivery = Delivery(properties.get("delivery", Delivery.AT_LEAST_ONCE))
    stages = (Stage(StageType.TASK_PUT, "FileStreamSink"),)
    return ConnectorFacts(kind=kind, delivery=delivery, stages=stages, task_configs=configs)


def turn(herder: Herder, times: int = 1) -> None:
    """Let the herder's loop go round."""
    for _ in range(times):
        herder.turn()
        herder.serve(0)


def ask(herder: Herder, request: Callable[[], Future[T]]) -> T:
    """Make a request and let the herder answer it."""
    future = request()
    herder.serve(0)
    return future.result(0)
