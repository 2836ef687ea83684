"""Connectors that are exactly once, on a real broker: several tasks, generations let in, and rows."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Self
from uuid import uuid4

import msgspec
import pytest
import sqlalchemy as sa

from engine.assembly.lease import run_lease
from engine.config.topic import TaskEntry, commit_record, connector_record, count_record, task_record
from engine.connectors.sql.database import open_engine
from engine.connectors.sql.engine_tables import LETTERS, TaskRows
from engine.exactly_once.buffered import BufferedRecord
from engine.kafka.admin import KafkaAdmin
from engine.kafka.client_options import admin_settings, consumer_settings, transactional_id, transactional_settings
from engine.kafka.consumer import KafkaConsumer
from engine.kafka.transactional import KafkaTransactional
from engine.pipeline.database_positions import OutboxRecord
from engine.record.record import Headers, RawRecord, TopicPartition
from engine.record.replay import ATTEMPT, ID, ITEM
from engine.worker_messages import Lease, TaskConfig, TaskReport
from tests.broker.connector import Connector

REPLAYED = 7
# How often a worker is killed, and how many records each partition has. A series of kills is for soak.
KILLS = [pytest.param(1, 300, id="once"), pytest.param(6, 1200, id="often", marks=pytest.mark.soak)]
RUN = (
    "import sys, msgspec; import tests.broker.exactly_classes; from engine.assembly.lease import run_lease;"
    "from engine.ports import Lease;"
    "run_lease(msgspec.json.decode(sys.stdin.buffer.read(), type=Lease))"
)


class ExactlyOnce(Connector):
    """A connector whose tasks are transactional. `assignment` says which partitions each task has."""

    transactional = True

    def __init__(self, broker: str, props: Mapping[str, str], partitions: int = 1) -> None:
        self.assignment: list[list[int]] = [list(range(partitions))]
        super().__init__(broker, props, partitions)

    def configure(self, generation: int) -> None:
        """Write the tasks of a generation, and let it in, as if the one before were fenced."""
        self.generation = generation
        self.write(connector_record(self.name, self.props))
        for number in range(len(self.assignment)):
            entry = TaskEntry(generation, self.props, self._own(number), exactly_once=self.transactional)
            self.write(task_record(self.name, number, entry))
        self.write(commit_record(self.name, len(self.assignment), generation))
        if self.transactional:
            self.write(count_record(self.name, len(self.assignment)))

    def move_to(self, generation: int, assignment: list[list[int]]) -> None:
        """A new generation with other partitions for its tasks, those before it fenced as the leader does it."""
        for number in range(len(self.assignment)):
            name = transactional_id(self.worker["group.id"], self.name, number)
            producer = KafkaTransactional(transactional_settings(name, self.client))
            producer.init()
            producer.close()
        self.assignment = assignment
        self.configure(generation)

    def lease_of(self, number: int, budget_ms: int = 20_000, **more: Any) -> Lease:
        """A lease of one task."""
        task = TaskConfig(
            self.name,
            number,
            self.generation,
            dict(self.props),
            self._own(number),
            self.restarts,
            exactly_once=self.transactional,
            **more,
        )
        return Lease(f"lease-{uuid4().hex[:8]}", (task,), 1, budget_ms, self.worker)

    def lease(self, budget_ms: int = 20_000, **more: Any) -> Lease:
        return self.lease_of(0, budget_ms, **more)

    def run_all(self, budget_ms: int = 20_000) -> list[TaskReport]:
        """A lease of each task, one after the other, in this process."""
        leases = (self.lease_of(number, budget_ms) for number in range(len(self.assignment)))
        return [report for lease in leases for report in run_lease(lease)]

    def with_dead_letters(self, **more: str) -> Self:
        super().with_dead_letters(**more)
        return self

    def _own(self, number: int) -> tuple[TopicPartition, ...]:
        return tuple(TopicPartition(self.topic, partition) for partition in self.assignment[number])


class Feeder(threading.Thread):
    """Sends records to each partition, a few at a time, so that there are many chunks; each seventh was replayed."""

    def __init__(self, connector: ExactlyOnce, count: int, value: Callable[[int, int], bytes]) -> None:
        super().__init__(daemon=True)
        self.connector = connector
        self.count = count
        self.value = value

    def run(self) -> None:
        producer = self.connector.producer
        for number in range(self.count):
            for topic, partition in self.connector.partitions:
                headers: Headers = ()
                if number % REPLAYED == 0:
                    headers = ((ID, b"r"), (ITEM, b"%d/%d" % (partition, number)), (ATTEMPT, b"1"))
                producer.produce(topic, b"k", self.value(partition, number), headers, None, partition)
            if number % 15 == 0:
                producer.flush()
                time.sleep(0.02)
        producer.flush()


class Table:
    """A table of (partition, number) rows in a database; it may hold a number twice."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.name = f"numbers_{uuid4().hex[:8]}"
        self.engine = open_engine(url, begin="BEGIN IMMEDIATE", root="/")
        with self.engine.begin() as connection:
            order = "INTEGER PRIMARY KEY AUTOINCREMENT" if url.startswith("sqlite") else "BIGSERIAL PRIMARY KEY"
            columns = f"at {order}, part INTEGER NOT NULL, number INTEGER NOT NULL CHECK (number >= 0)"
            connection.execute(sa.text(f"CREATE TABLE {self.name} ({columns})"))

    def options(self, guarantee: str = "exactly_once") -> dict[str, str]:
        """A SqlSink's options."""
        return {
            "connector.class": "SqlSink",
            "connection.url": self.url,
            "table.name": self.name,
            "delivery.guarantee": guarantee,
        }

    def rows(self) -> list[tuple[int, int]]:
        """All, those of each partition in the order in which they were written."""
        return self.ask(f"SELECT part, number FROM {self.name} ORDER BY part, at")

    def letters(self, connector: str) -> list[Any]:
        return self.ask(f"SELECT seq FROM engine_letters WHERE connector = '{connector}'")

    def leave_letter(self, connector: Connector, seq: int) -> None:
        """A letter that nobody has sent, or forgotten."""
        rows = TaskRows(connector.worker["group.id"], connector.name, connector.partitions)
        letter = OutboxRecord(seq, BufferedRecord(connector.dlq, None, b"left %d" % seq, (), None, None))
        with self.engine.begin() as connection:
            connection.execute(sa.insert(LETTERS), rows.letter(connector.partitions[0], letter))

    def ask(self, query: str) -> list[Any]:
        with self.engine.connect() as connection:
            return [tuple(row) for row in connection.execute(sa.text(query))]

    def do(self, statement: str) -> None:
        with self.engine.begin() as connection:
            connection.execute(sa.text(statement))

    def close(self) -> None:
        self.engine.dispose()


def numbered(partition: int, numbers: Sequence[int]) -> list[bytes]:
    """Values of a table's rows."""
    return [b'{"part":%d,"number":%d}' % (partition, number) for number in numbers]


@contextmanager
def child_of(lease: Lease, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process that runs the lease, to be killed or stopped; it does not outlive the block."""
    child = subprocess.Popen([sys.executable, "-c", RUN], stdin=subprocess.PIPE, env={**os.environ, **variables})
    assert child.stdin is not None
    child.stdin.write(msgspec.json.encode(lease))
    child.stdin.close()
    try:
        yield child
    finally:
        child.kill()
        child.wait()


def await_stop(child: subprocess.Popen[bytes]) -> None:
    """Wait until the child has stopped itself."""
    _, status = os.waitpid(child.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status), f"it ended: {status}"


def go_on(child: subprocess.Popen[bytes]) -> None:
    """Wake a stopped child, and wait for its end."""
    child.send_signal(signal.SIGCONT)
    assert child.wait(60) == 0


def read_committed(broker: str, partition: TopicPartition) -> list[RawRecord]:
    """All records of a partition that a read_committed reader sees, once no transaction is open on it."""
    client = {"bootstrap.servers": broker}
    end = KafkaAdmin(admin_settings(client)).end_offsets([partition])[partition]
    consumer = KafkaConsumer(consumer_settings("reader", client))
    consumer.assign({partition: 0})
    found: list[RawRecord] = []
    while consumer.positions()[partition] < end:
        found += consumer.poll(1000, 0.1)
    consumer.close()
    return found
