"""Indexers of one group that are killed at work: every dead letter is listed, counted and searchable once."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from dlqadmin.host.network import wait_until
from tests.broker.test_replay_kills import new_database
from tests.support import schema_template

ROOT = Path(__file__).parents[2]
MANY = 12_000
ROWS = 'SELECT count(*), count(DISTINCT ("partition", "offset")) FROM deadletters_deadletter'
BODIES = "SELECT count(*) FROM deadletters_deadletterbody"
COUNTED = "SELECT (SELECT sum(n) FROM deadletters_counthour), (SELECT sum(n) FROM deadletters_countday)"
TEXTS = "SELECT (SELECT count(*) FROM deadletters_deadlettertext), (SELECT count(*) FROM deadletters_textbatch)"


class Indexers:
    """Processes of one group on a PostgreSQL database of their own."""

    def __init__(self, broker: str, database: str, home: Path) -> None:
        name = uuid.uuid4().hex
        self.topic, self.group = f"{name}.dlq", f"index-{name}"
        admin = AdminClient({"bootstrap.servers": broker, "log_level": 0})
        admin.create_topics([NewTopic(self.topic, 4, -1)])[self.topic].result(20)
        self.env = {
            **os.environ,
            "KAFKA_BOOTSTRAP_SERVERS": broker,
            "DATABASE_URL": database,
            "DLQ_TOPICS": self.topic,
            "LOCAL_DIR": str(home),
        }
        self.connection = psycopg.connect(database, autocommit=True)
        self.processes: list[subprocess.Popen[bytes]] = []
        self.log = (home / "indexers.log").open("ab")
        schema_template.migrate(self.env)

    def start(self, *options: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "manage.py", "index_deadletters", "--group", self.group, *options]
        self.processes.append(subprocess.Popen(command, cwd=ROOT, env=self.env, stdout=self.log, stderr=self.log))
        return self.processes[-1]

    def one(self, sql: str) -> tuple[Any, ...]:
        return tuple(self.connection.execute(sql.encode()).fetchone() or ())

    def until(self, sql: str, least: int) -> None:
        wait_until(lambda: (self.one(sql)[0] or 0) >= least, f"Number {least} of {sql}", 120, 0.05)

    def stop(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()
        self.connection.close()
        self.log.close()


@pytest.fixture
def indexers(broker: str, postgres_url: str, tmp_path: Path) -> Iterator[Indexers]:
    made = Indexers(broker, new_database(postgres_url), tmp_path)
    yield made
    made.stop()


# A series of kills of several processes, and session time-outs of 45 s. The short case is in test_indexing.py.
@pytest.mark.soak
def test_indexers_that_are_killed_lose_and_double_nothing(indexers: Indexers) -> None:
    producer = Producer({"bootstrap.servers": indexers.env["KAFKA_BOOTSTRAP_SERVERS"], "linger.ms": 5})
    for number in range(MANY):
        producer.produce(indexers.topic, b"no context, number %d" % number, partition=number % 4)
        producer.poll(0)
    assert producer.flush(60) == 0
    indexers.start()
    victim = indexers.start()
    for mark in (1, MANY // 3, MANY // 2):
        indexers.until(ROWS, mark)
        victim.kill()
        victim.wait()
        victim = indexers.start()
    indexers.until(ROWS, MANY)
    indexers.until(TEXTS, 1)
    indexers.processes[0].kill()
    indexers.until(TEXTS, MANY)
    assert (indexers.one(ROWS), indexers.one(BODIES)) == ((MANY, MANY), (MANY,))
    assert (indexers.one(COUNTED), indexers.one(TEXTS)) == ((MANY, MANY), (MANY, 0))
