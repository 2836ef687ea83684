from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from uuid import uuid4

import confluent_kafka as ck
import pytest

from engine.errors import OffsetsMissing, ProduceFailed
from engine.kafka.admin import KafkaAdmin
from engine.kafka.client_options import admin_settings, consumer_settings, producer_settings
from engine.kafka.consumer import KafkaConsumer
from engine.kafka.producer import KafkaProducer
from engine.ports import Committed, Row
from engine.record.record import RawRecord, TopicPartition

Read = Callable[[KafkaConsumer, int], list[RawRecord]]


@pytest.fixture
def topic(broker: str) -> str:
    name = f"clients-{uuid4().hex[:8]}"
    KafkaAdmin(admin_settings({"bootstrap.servers": broker})).create_topic(
        name, 1, 3, {"max.message.bytes": "20000000"}
    )
    return name


@pytest.fixture
def consumer(broker: str, topic: str) -> Iterator[KafkaConsumer]:
    opened = KafkaConsumer(consumer_settings(f"group-{topic}", {"bootstrap.servers": broker}))
    opened.assign({TopicPartition(topic, 0): 0})
    yield opened
    opened.close()


@pytest.fixture
def producer(broker: str) -> Iterator[KafkaProducer]:
    opened = KafkaProducer(producer_settings({"bootstrap.servers": broker}, {"message.max.bytes": "20000000"}))
    yield opened
    opened.close()


def read(consumer: KafkaConsumer, count: int) -> list[RawRecord]:
    found: list[RawRecord] = []
    for _ in range(200):
        found += consumer.poll(1000, 0.1)
        if len(found) >= count:
            return found
    raise TimeoutError(f"{len(found)} of {count} records")


def ended(admin: KafkaAdmin, partition: TopicPartition, end: int) -> None:
    """Wait for the marker of the last transaction: it is written after the client was told of the end."""
    for _ in range(200):
        if admin.end_offsets([partition]) == {partition: end}:
            return
        time.sleep(0.05)
    raise TimeoutError(f"{partition} does not end at {end}")


def until_end(consumer: KafkaConsumer) -> None:
    for _ in range(200):
        consumer.poll(1000, 0.05)
        if consumer.positions() == consumer.ends():
            return
    raise TimeoutError(str((consumer.positions(), consumer.ends())))


def test_key_value_and_headers_come_back_byte_for_byte(
    topic: str, consumer: KafkaConsumer, producer: KafkaProducer
) -> None:
    headers = (("a", b"1"), ("b", None), ("a", b""), ("ü", b"\xff"))
    producer.produce(topic, None, None, headers, timestamp=123)
    producer.produce(topic, b"", b"", ())
    producer.produce(topic, b"\x00\xff", b"v" * 10_000_000)
    producer.flush()
    first, second, third = read(consumer, 3)
    assert (first.key, first.value, first.headers, first.timestamp) == (None, None, headers, 123)
    assert (second.key, second.value, second.headers, second.timestamp_type) == (b"", b"", (), "CREATE_TIME")
    assert (third.key, len(third.value or b"")) == (b"\x00\xff", 10_000_000)


def test_records_of_all_kinds_keep_their_order_and_time(
    topic: str, consumer: KafkaConsumer, producer: KafkaProducer
) -> None:
    stamps = [1_700_000_000_000 + number for number in range(500)]
    rows: list[Row] = [
        (topic, None if number % 3 else b"k", b"%d" % number, (("h", b"1"),) if number % 7 == 0 else (), stamp, 0)
        for number, stamp in enumerate(stamps)
    ]
    producer.produce_all(rows[:200])
    producer.produce(*rows[200])
    producer.produce_all(rows[201:])
    producer.flush()
    found = read(consumer, 500)
    assert [(topic, one.key, one.value, one.headers, one.timestamp, one.partition) for one in found] == rows


def test_a_flush_names_the_records_that_were_refused(topic: str, consumer: KafkaConsumer, broker: str) -> None:
    small = KafkaProducer(producer_settings({"bootstrap.servers": broker}, {"message.max.bytes": "2000"}))
    for size in (10, 5000, 20):
        small.produce(topic, None, b"x" * size)
    with pytest.raises(ProduceFailed) as raised:
        small.flush()
    assert raised.value.ordinals == (1,)
    assert [len(one.value or b"") for one in read(consumer, 2)] == [10, 20]
    small.flush()
    small.close()


def test_the_position_passes_control_records_and_aborted_ones(topic: str, consumer: KafkaConsumer, broker: str) -> None:
    client = ck.Producer({"bootstrap.servers": broker, "transactional.id": topic})
    client.init_transactions()
    for value, end in ((b"kept", client.commit_transaction), (b"gone", client.abort_transaction)):
        client.begin_transaction()
        client.produce(topic, value)
        client.flush()
        end()
    partition = TopicPartition(topic, 0)
    admin = KafkaAdmin(admin_settings({"bootstrap.servers": broker}))
    ended(admin, partition, 4)
    values = [one.value for one in read(consumer, 1)]
    until_end(consumer)
    assert values == [b"kept"]
    assert consumer.positions() == admin.end_offsets([partition]) == {partition: 4}


def test_an_empty_topic_is_at_its_end(consumer: KafkaConsumer, topic: str) -> None:
    until_end(consumer)
    assert consumer.positions() == {TopicPartition(topic, 0): 0}


def test_metadata_is_committed_with_its_offset(consumer: KafkaConsumer, topic: str, broker: str) -> None:
    partition = TopicPartition(topic, 0)
    assert consumer.committed([partition]) == {partition: None}
    committed = {partition: Committed(0, '{"v":1,"text":"ü"}')}
    consumer.commit(committed)
    assert consumer.committed([partition]) == committed
    admin = KafkaAdmin(admin_settings({"bootstrap.servers": broker}))
    assert admin.committed(f"group-{topic}", [partition]) == committed
    assert admin.committed(f"other-{topic}", [partition]) == {partition: None}


def test_an_offset_that_the_topic_does_not_hold_is_an_error_and_no_reset(consumer: KafkaConsumer, topic: str) -> None:
    consumer.assign({TopicPartition(topic, 0): 99})
    with pytest.raises(OffsetsMissing):
        read(consumer, 1)


def test_topics_are_created_once_with_replicas_capped_to_the_brokers(broker: str, topic: str) -> None:
    admin = KafkaAdmin(admin_settings({"bootstrap.servers": broker}))
    admin.create_topic(topic, 9, 3)
    assert (admin.partitions(topic), admin.partitions("absent"), topic in admin.topics()) == (1, None, True)
    assert admin.max_message_bytes(topic) == 20_000_000


def test_ends_that_nobody_can_tell_are_left_out(broker: str, topic: str, producer: KafkaProducer) -> None:
    producer.produce(topic, None, b"1")  # a topic that is new may have no leader yet
    producer.flush()
    there, missing = TopicPartition(topic, 0), TopicPartition(topic, 7)
    admin = KafkaAdmin(admin_settings({"bootstrap.servers": broker}))
    assert admin.end_offsets([there, missing]) == {there: 1}
