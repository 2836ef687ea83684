"""Kafka clients of a driver that depend on configurations: election, leader's producer, fencing, offsets."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Protocol

import orjson

from engine.assembly.validation import hide_in_problems, plan_of_task
from engine.config.client_names import leader_group
from engine.config.worker import WorkerConfig
from engine.connectors.mirror.client_options import mirror_clients
from engine.connectors.mirror.source_positions import position_problem
from engine.errors import BadRequest, EngineError
from engine.kafka.admin import KafkaAdmin
from engine.kafka.client_options import (
    QUICK,
    admin_settings,
    consumer_settings,
    transactional_id,
    transactional_settings,
)
from engine.kafka.election import KafkaElection
from engine.kafka.fencing import fence
from engine.kafka.offset_changes import change_rows, write_fenced
from engine.kafka.offsets import OffsetsTopic
from engine.kafka.offsets_copier import OffsetsTopicLocation
from engine.kafka.offsets_records import parse_offset
from engine.kafka.transactional import KafkaTransactional
from engine.pipeline.source_commit import Row
from engine.ports import SourcePosition, TransactionalProducer
from engine.tasks.clients import WRITING, base, producing
from engine.tasks.plan import ConnectorPlan
from engine.tasks.source_offsets_topic import PATIENT, offsets_location, open_offsets_file, open_topic, read_checked
from engine.worker_messages import Delivery

log = logging.getLogger(__name__)

LIMIT_AGE_S, LIMIT_TIMEOUT_S = 60.0, 5.0
# An open transaction of a dead leader blocks every reader, so it must time out soon.
LEADING = {**QUICK, "transaction.timeout.ms": "10000"}


class TransactionLimit:
    """The brokers' maximum of `transaction.timeout.ms`, read at most once a minute."""

    def __init__(self, worker: WorkerConfig) -> None:
        self._worker = worker
        self._limit_ms: int | None = None
        self._read_at = -LIMIT_AGE_S

    def __call__(self) -> int | None:
        """Return the limit; None if the brokers do not tell it now."""
        if time.monotonic() - self._read_at >= LIMIT_AGE_S:
            self._read_at = time.monotonic()
            admin = KafkaAdmin(admin_settings(base(self._worker), self._worker.admin), LIMIT_TIMEOUT_S)
            try:
                self._limit_ms = admin.transaction_max_ms()
            except EngineError as error:
                self._limit_ms = None
                log.warning("transaction.timeout.ms is not checked against the brokers' limit: %s", error)
        return self._limit_ms


class ClusterId:
    """The id of the Kafka cluster, asked until the brokers answer once."""

    def __init__(self, worker: WorkerConfig) -> None:
        self._worker = worker
        self._id = ""

    def __call__(self) -> str:
        """Return the id; empty if the brokers do not tell it now."""
        if not self._id:
            admin = KafkaAdmin(admin_settings(base(self._worker), self._worker.admin), LIMIT_TIMEOUT_S)
            try:
                self._id = admin.cluster_id()
            except EngineError as error:
                log.warning("the id of the Kafka cluster can't be read: %s", error)
        return self._id


def open_election(worker: WorkerConfig) -> KafkaElection:
    """Return this driver's membership in the group of all drivers of the cluster."""
    times = {
        "session.timeout.ms": str(worker.session_timeout_ms),
        "heartbeat.interval.ms": str(max(100, worker.session_timeout_ms // 10)),
        # Only a turn of the herder polls the group, and unreachable brokers may block a turn for a minute.
        "max.poll.interval.ms": str(max(120_000, 2 * worker.session_timeout_ms)),
    }
    settings = consumer_settings(leader_group(worker.group_id), base(worker), worker.consumer, times)
    return KafkaElection(settings, worker.config_topic)


def leader_producer(name: str, worker: WorkerConfig) -> KafkaTransactional:
    """Return the leader's uninitialised client, with the transactional id `name`."""
    return KafkaTransactional(transactional_settings(name, base(worker), worker.producer, LEADING))


def task_producer(properties: Mapping[str, str], task: int, worker: WorkerConfig) -> KafkaTransactional:
    """Return an uninitialised client with the transactional id of a task."""
    return KafkaTransactional(task_settings(properties, task, worker))


def task_settings(properties: Mapping[str, str], task: int, worker: WorkerConfig) -> dict[str, str]:
    """Return the settings of a task's producer: the task's cluster, with the connector's credentials."""
    plan, resolved = plan_of_task(properties, worker)
    with hide_in_problems(resolved):
        if plan.known.opener == "mirror":
            return mirror_clients(plan.config, worker).transactional(task)
        name = transactional_id(worker.group_id, plan.config.name, task)
        return transactional_settings(name, WRITING, *producing(worker, plan.config.producer))


def fence_tasks(properties: Mapping[str, str], tasks: Sequence[int], worker: WorkerConfig) -> None:
    """Fence the producers of these tasks of the connector. Implements the Fence port."""
    fence(lambda task: task_producer(properties, task, worker), tasks)


class OpenTopic(Protocol):
    """A factory of readers of an offsets topic; `writes` adds a producer without transactions."""

    def __call__(self, place: OffsetsTopicLocation, *, writes: bool) -> OffsetsTopic: ...


class TopicSourceOffsets:
    """Offsets as the source connectors store them. Implements the SourceOffsets port.

    `open_topic` and `connect` make the clients.
    """

    def __init__(
        self,
        worker: WorkerConfig,
        open_topic: OpenTopic = open_topic,
        connect: Callable[[Mapping[str, str]], TransactionalProducer] = KafkaTransactional,
    ) -> None:
        self._worker = worker
        self._open_topic = open_topic
        self._connect = connect

    def read(self, properties: Mapping[str, str]) -> list[tuple[SourcePosition, SourcePosition]]:
        plan, resolved = plan_of_task(properties, self._worker)
        with hide_in_problems(resolved):
            place = offsets_location(plan.config, self._worker, plan.delivery)
            with closing(self._open_topic(place, writes=False)) as topic:
                read_checked(place, topic, self._worker)
                return offset_rows(plan.config.name, topic)

    def write(
        self, properties: Mapping[str, str], offsets: Sequence[tuple[SourcePosition, SourcePosition | None]]
    ) -> None:
        """Write offsets, in a transaction with the id of task 0 if the tasks use transactions.

        A round of fencing skips the only task of a connector, because its successor takes over its id. This method
        takes the id over too, and so fences that task, even without rows.

        The driver's copier also deletes a deleted offset from the worker's topic, as it copies any other change.
        """
        plan, resolved = plan_of_task(properties, self._worker)
        with hide_in_problems(resolved):
            refuse_positions(plan, offsets)
            place = offsets_location(plan.config, self._worker, plan.delivery)
            # Without transactions there is no id to take over, so a sleeping worker can't be fenced here.
            is_fenced = plan.delivery is Delivery.EXACTLY_ONCE
            with closing(self._open_topic(place, writes=not is_fenced)) as topic:

                def rows() -> list[Row]:
                    read_checked(place, topic, self._worker)
                    return change_rows(plan.config.name, offsets, topic)

                if not is_fenced:
                    topic.write(rows())
                    return
                settings = {**task_settings(properties, 0, self._worker), **PATIENT}
                with closing(self._connect(settings)) as producer:
                    write_fenced(producer, place.topic, rows)


class FileSourceOffsets:
    """Offsets of a standalone worker's source connectors, in its file. Implements the SourceOffsets port."""

    def __init__(self, worker: WorkerConfig) -> None:
        self._worker = worker

    def read(self, properties: Mapping[str, str]) -> list[tuple[SourcePosition, SourcePosition]]:
        with closing(open_offsets_file(self._worker, writes=False)) as topic:
            topic.read_to_end()
            return offset_rows(properties["name"], topic)

    def write(
        self, properties: Mapping[str, str], offsets: Sequence[tuple[SourcePosition, SourcePosition | None]]
    ) -> None:
        plan, resolved = plan_of_task(properties, self._worker)
        with hide_in_problems(resolved), closing(open_offsets_file(self._worker, writes=True)) as topic:
            refuse_positions(plan, offsets)
            topic.read_to_end()
            topic.write(change_rows(plan.config.name, offsets, topic))


def offset_rows(connector: str, topic: OffsetsTopic) -> list[tuple[SourcePosition, SourcePosition]]:
    """Return (partition, offset) rows of the connector. An unreadable offset is empty, so that it can be reset."""
    rows: list[tuple[SourcePosition, SourcePosition]] = []
    for key, (name, value) in topic.offsets.items():
        if key.connector != connector:
            continue
        try:
            offset = parse_offset(value)
        except ValueError:
            offset = {}
        if offset is not None:
            rows.append((orjson.loads(name)[1], offset))
    return rows


def refuse_positions(plan: ConnectorPlan, offsets: Sequence[tuple[SourcePosition, SourcePosition | None]]) -> None:
    """Raise BadRequest for offsets that the connector could not begin at."""
    check = position_problem if plan.known.opener == "mirror" else None
    check = check or getattr(plan.known.factory, "position_problem", None)
    problems = [check(*row) for row in offsets] if check is not None else []
    if problem := next(filter(None, problems), None):
        raise BadRequest(problem)
