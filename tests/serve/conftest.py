"""The wheel, and a broker with dead letters that Spring, Kafka Streams and Kafka Connect wrote."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from tests.interop.recordings import load
from tests.serve.dashboard import DashboardProcesses
from tests.serve.wheel import build, copy_sources, unpack
from tests.support.broker import lasting_broker

# The recording whose letters each topic has. The last name proves nothing, so its records decide.
LETTERS = {
    "orders.DLT": "spring-listener",
    "earthquakes-streams-dlq": "streams",
    "connect-dead-letter": "connect",
    "error.orders.billing": "spring-cloud-stream",
}


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this clone."""
    return build(copy_sources(tmp_path_factory.mktemp("sources")), tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an installation from the wheel, outside the clone."""
    return unpack(wheel, tmp_path_factory.mktemp("installed"))


@pytest.fixture(scope="session")
def foreign_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Bootstrap servers of a broker with nothing but LETTERS."""
    broker = lasting_broker(tmp_path_factory.mktemp("foreign-broker")).start()
    client = {"bootstrap.servers": broker.bootstrap_servers}
    keep = {"retention.ms": "-1"}  # the records are years old
    topics = [NewTopic(topic, 1, 1, config=keep) for topic in (*LETTERS, "orders")]
    admin = AdminClient(dict(client))
    for made in admin.create_topics(topics).values():
        made.result(20)
    producer = Producer(dict(client))
    for topic, writer in LETTERS.items():
        for letter in load(writer).letters:
            producer.produce(
                topic, letter.value, letter.key, 0, headers=list(letter.headers), timestamp=letter.timestamp or 0
            )
    producer.flush()
    yield broker.bootstrap_servers
    broker.stop()


@pytest.fixture(scope="session")
def dashboard(broker: str, redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DashboardProcesses]:
    """The processes of one dashboard, none of them started, with logs in JSON."""
    made = DashboardProcesses(tmp_path_factory.mktemp("dashboard"), broker, redis_url, LOG_FORMAT="json")
    yield made
    made.end()
