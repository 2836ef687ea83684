"""The Kafka clients of a driver that are made from configurations: its election, its own producer, its fencing."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Protocol

import orjson

from engine.assembly.clients import WRITING, base
from engine.assembly.mirror_clients import mirror_clients
from engine.assembly.plan import validate
from engine.assembly.source_offsets import PATIENT, offsets_place, open_topic, read_brought
from engine.config.worker import WorkerConfig
from engine.errors import BadRequest
from engine.kafka.election import KafkaElection
from engine.kafka.fencing import fence
from engine.kafka.mirror.positions import position_problem
from engine.kafka.offsets import OffsetsTopic
from engine.kafka.offsets_change import change_rows, write_fenced
from engine.kafka.offsets_copier import OffsetsPlace
from engine.kafka.offsets_records import parse_offset
from engine.kafka.settings import (
    QUICK,
    consumer_settings,
    transactional_id,
    transactional_settings,
)
from engine.kafka.transactional import KafkaTransactional
from engine.leases import Delivery
from engine.pipeline.source_commit import Row
from engine.ports import SourcePosition, TransactionalProducer

log = logging.getLogger(__name__)

# A record of a leader that died is in the way of every reader until its transaction ends.
LEADING = {**QUICK, "transaction.timeout.ms": "10000"}


def open_election(worker: WorkerConfig) -> KafkaElection:
    """The membership of this driver in the group of all drivers of the cluster."""
    times = {
        "session.timeout.ms": str(worker.session_timeout_ms),
        "heartbeat.interval.ms": str(max(100, worker.session_timeout_ms // 10)),
        "max.poll.interval.ms": str(max(120_000, 2 * worker.session_timeout_ms)),
    }
    settings = consumer_settings(f"{worker.group_id}-leader", base(worker), worker.consumer, times)
    return KafkaElection(settings, worker.config_topic)


def leader_producer(name: str, worker: WorkerConfig) -> KafkaTransactional:
    """The client that writes to the config topic, with the transactional id `name`; not initialised."""
    if "transactional.id" in worker.producer:
        log.warning("producer.transactional.id is ignored: the leader's is %s", name)
    return KafkaTransactional(transactional_settings(name, base(worker), worker.producer, LEADING))


def task_producer(properties: Mapping[str, str], task: int, worker: WorkerConfig) -> KafkaTransactional:
    """A client with the transactional id of a task; not initialised."""
    return KafkaTransactional(task_settings(properties, task, worker))


def task_settings(properties: Mapping[str, str], task: int, worker: WorkerConfig) -> dict[str, str]:
    """The settings of a task's own client: where it writes, by its own rights."""
    plan = validate(properties, worker)
    if plan.known.opener == "mirror":
        return mirror_clients(plan.config, worker).transactional(task)
    name = transactional_id(worker.group_id, plan.config.name, task)
    return transactional_settings(name, WRITING, base(worker), worker.producer, plan.config.producer)


def fence_tasks(properties: Mapping[str, str], tasks: Sequence[int], worker: WorkerConfig) -> None:
    """The Fence port: shut out the producers of these tasks of the connector."""
    fence(lambda task: task_producer(properties, task, worker), tasks)


class OpenTopic(Protocol):
    """Makes a reader of an offsets topic, with a producer without transactions if it is to write."""

    def __call__(self, place: OffsetsPlace, *, writes: bool) -> OffsetsTopic: ...


class TopicSourceOffsets:
    """The SourceOffsets port: offsets as the sources themselves keep them.

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
        plan = validate(properties, self._worker)
        found: list[tuple[SourcePosition, SourcePosition]] = []
        place = offsets_place(plan.config, self._worker, plan.delivery)
        with closing(self._open_topic(place, writes=False)) as topic:
            read_brought(place, topic, self._worker)
            for key, (name, value) in topic.offsets.items():
                if key.connector != plan.config.name:
                    continue
                try:
                    offset = parse_offset(value)
                except ValueError:  # no task can begin there: it is to be seen, and reset
                    offset = {}
                if offset is not None:
                    found.append((orjson.loads(name)[1], offset))
        return found

    def write(
        self, properties: Mapping[str, str], offsets: Sequence[tuple[SourcePosition, SourcePosition | None]]
    ) -> None:
        """In one transaction with the id of task 0 where the tasks write transactions: a round of fencing passes over a
        task that is the only one, since its successor takes its id over; so does this. No rows fence, too.

        A forgotten offset is forgotten in the worker's topic too, by the driver's copier, as any other change.
        """
        plan = validate(properties, self._worker)
        problems = [position_problem(*row) for row in offsets] if plan.known.opener == "mirror" else []
        if wrong := next(filter(None, problems), None):
            raise BadRequest(wrong)
        place = offsets_place(plan.config, self._worker, plan.delivery)
        is_fenced = plan.delivery is Delivery.EXACTLY_ONCE
        with closing(self._open_topic(place, writes=not is_fenced)) as topic:

            def rows() -> list[Row]:
                read_brought(place, topic, self._worker)
                return change_rows(plan.config.name, offsets, topic)

            if not is_fenced:
                topic.write(rows())
                return
            settings = {**task_settings(properties, 0, self._worker), **PATIENT}
            with closing(self._connect(settings)) as producer:
                write_fenced(producer, place.topic, rows)
