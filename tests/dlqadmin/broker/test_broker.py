"""Against a real broker."""

import uuid
from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pytest_django import Settings

from dlqadmin.broker import availability, retention, topics
from dlqadmin.broker.consumer import GroupConsumer
from dlqadmin.broker.messages import BrokerUnavailable
from dlqadmin.host.network import wait_until
from dlqadmin.metrics import collector
from dlqadmin.metrics.models import TaskSnapshot
from engine.record.record import RawRecord


@pytest.fixture
def topic(broker: str, settings: Settings) -> Iterator[str]:
    settings.KAFKA_BOOTSTRAP_SERVERS, settings.KAFKA_TIMEOUT_S = broker, 20.0
    name = f"t-{uuid.uuid4().hex}"
    admin = AdminClient({"bootstrap.servers": broker})
    admin.create_topics([NewTopic(name, 2, 1)])[name].result(20)
    yield name
    admin.delete_topics([name])[name].result(20)


def write(broker: str, topic: str, rows: list[dict[str, Any]], *, transactional: bool = False) -> None:
    extra = {"transactional.id": uuid.uuid4().hex} if transactional else {}
    producer = Producer({"bootstrap.servers": broker, **extra})
    if transactional:
        producer.init_transactions(20)
        producer.begin_transaction()
    for row in rows:
        producer.produce(topic, partition=0, **row)
    if transactional:
        producer.commit_transaction(20)
    producer.flush(20)


def read_all(consumer: GroupConsumer, count: int) -> list[RawRecord]:
    found: list[RawRecord] = []
    for _ in range(100):
        found += consumer.poll(100, 0.2)
        if len(found) >= count:
            return found
    raise AssertionError(f"{len(found)} of {count} records came")


def test_bytes_headers_and_nulls_come_as_they_are(broker: str, topic: str) -> None:
    headers = [("a", b"1"), ("b", None), ("a", b"\xff")]
    write(broker, topic, [{"key": b"k", "value": b"\x00\xff", "headers": headers}, {"key": None, "value": None}])
    first, second = topics.read_range(topic, 0, 0, 10)
    assert (first.key, first.value, first.headers) == (b"k", b"\x00\xff", tuple(headers))
    assert (second.key, second.value, second.headers, second.timestamp_type) == (None, None, (), "CREATE_TIME")


def test_a_range_begins_and_ends_where_it_is_told(broker: str, topic: str) -> None:
    write(broker, topic, [{"value": str(n).encode()} for n in range(10)])
    assert [record.offset for record in topics.read_range(topic, 0, 3, 4)] == [3, 4, 5, 6]
    assert topics.read_range(topic, 1, 0, 4) == []
    assert topics.ends([(topic, 0), (topic, 1), ("nowhere", 0)]) == {(topic, 0): 10, (topic, 1): 0}
    assert topics.partitions(topic) == 2
    assert topics.partitions("nowhere") is None


def test_a_topics_retention_is_what_its_config_says(broker: str, topic: str) -> None:
    kept = retention.retentions([topic, "nowhere", "not a/name"])
    assert kept == {topic: retention.TopicRetention(frozenset({"delete"}), 7 * 86_400_000, -1)}
    assert retention.first_offsets([(topic, 0), (topic, 9), (topic, -1), ("nowhere", 0)]) == {(topic, 0): 0}
    options = topics.configs([topic, "nowhere"])
    assert {name: found["max.message.bytes"] for name, found in options.items()} == {topic: "1048588"}


def test_a_reader_of_transactions_reaches_the_end_past_control_records(broker: str, topic: str) -> None:
    write(broker, topic, [{"value": b"1"}], transactional=True)
    # The coordinator writes the commit marker after it has answered the producer.
    wait_until(lambda: topics.ends([(topic, 0)]) == {(topic, 0): 2}, "record and marker committed", 20)
    assert [record.value for record in topics.read_to_end(topic, 0, 0)] == [b"1"]


def test_a_group_goes_on_where_it_committed(broker: str, topic: str) -> None:
    write(broker, topic, [{"value": str(n).encode()} for n in range(5)])
    group = uuid.uuid4().hex
    with GroupConsumer(group, [f"^{topic}$"]) as consumer:
        assert len(read_all(consumer, 5)) == 5
        consumer.commit({(topic, 0): 3})
    with GroupConsumer(group, [topic]) as consumer:
        assert [record.offset for record in read_all(consumer, 2)] == [3, 4]
        assert consumer.positions()[(topic, 0)] == 5
    assert topics.committed(group, [(topic, 0), (topic, 1)]) == {(topic, 0): 3}
    assert topics.lag(group, [topic]) == 2


def test_a_broker_that_is_away_is_said_to_be(settings: Settings) -> None:
    settings.KAFKA_BOOTSTRAP_SERVERS = "127.0.0.1:1"
    with pytest.raises(BrokerUnavailable):
        topics.cluster(timeout_s=0.05)
    assert availability.describe_cluster() is None


def test_a_broker_that_is_there_is_described(broker: str, topic: str) -> None:
    assert availability.describe_cluster() == "Kafka, 1 broker"


def test_the_status_topic_is_collected_from_the_broker(broker: str, topic: str, settings: Settings, db: None) -> None:
    settings.STATUS_TOPIC = topic
    status = {"state": "RUNNING", "time": 1_795_230_750_000, "metrics": {"records-consumed": 7}}
    write(broker, topic, [{"key": b"status-task-c-0", "value": orjson.dumps(status)}])
    assert collector.collect() == 1
    assert collector.collect() == 0
    assert TaskSnapshot.objects.get().metrics == {"records-consumed": 7}
