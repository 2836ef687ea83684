"""An indexer whose only broker is killed and comes back: it goes on by itself, and misses and doubles nothing."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer

from demo.broker import LocalBroker
from tests.broker.test_indexing_kills import ROWS, Indexers
from tests.broker.test_replay_kills import new_database

log = logging.getLogger(__name__)
KILLS = [pytest.param(1, id="once"), pytest.param(5, id="often", marks=pytest.mark.soak)]  # a series is for soak


@pytest.fixture
def indexers(own_broker: LocalBroker, postgres_url: str, tmp_path: Path) -> Iterator[Indexers]:
    made = Indexers(own_broker.bootstrap_servers, new_database(postgres_url), tmp_path)
    yield made
    made.stop()


@pytest.mark.parametrize("kills", KILLS)
def test_an_indexer_goes_on_when_its_broker_is_back(indexers: Indexers, own_broker: LocalBroker, kills: int) -> None:
    process = indexers.start()
    written = send(own_broker, indexers.topic, 0)
    indexers.until(ROWS, written)
    for number in range(kills):
        own_broker.kill()
        time.sleep(3 * number)  # for longer and longer, as back-offs grow
        own_broker.start()
        back = time.monotonic()
        written = send(own_broker, indexers.topic, written)
        indexers.until(ROWS, written)
        log.info("read %.1f s after the broker was back", time.monotonic() - back)
    assert process.poll() is None
    assert indexers.one(ROWS) == (written, written)


def send(broker: LocalBroker, topic: str, first: int) -> int:
    """Write a record to each of the four partitions; return how many the topic has then."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "linger.ms": 0})
    for partition in range(4):
        producer.produce(topic, b"number %d" % (first + partition), partition=partition)
    assert producer.flush(60) == 0
    return first + 4
