"""Topics of a benchmark, on a real broker."""

from pathlib import Path
from uuid import uuid4

import pytest
from confluent_kafka import Producer

from benchmarks.ground import PARTITIONS, BenchmarkSetup


@pytest.fixture
def where(tmp_path: Path, broker: str) -> BenchmarkSetup:
    return BenchmarkSetup(tmp_path, broker)


@pytest.fixture
def topic() -> str:
    return f"bench-{uuid4().hex[:8]}"


def test_a_topic_is_filled_evenly_and_counted(where: BenchmarkSetup, topic: str) -> None:
    where.fill(topic, [b"a", b"b", b"c"], 12_000)
    assert (where.end(topic), where.count(topic), len(where.places(topic))) == (12_000, 12_000, PARTITIONS)
    where.expect_all(topic, 12_000)
    with pytest.raises(RuntimeError, match="12000 of 12001"):
        where.expect_all(topic, 12_001)


def test_a_topic_that_is_not_there_ends_at_nothing(where: BenchmarkSetup, topic: str) -> None:
    assert where.end(topic) == 0
    where.create(topic)
    where.delete(topic)


def test_markers_and_open_transactions_are_no_records(where: BenchmarkSetup, topic: str) -> None:
    where.create(topic, 1)
    producer = Producer({"bootstrap.servers": where.bootstrap, "transactional.id": topic})
    producer.init_transactions()
    for ends in (producer.commit_transaction, producer.abort_transaction, producer.flush):
        producer.begin_transaction()
        producer.produce(topic, b"one")
        producer.flush()
        ends()
    assert (where.end(topic), where.end(topic, committed=True), where.count(topic)) == (5, 4, 1)
    producer.abort_transaction()
