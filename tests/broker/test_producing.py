from __future__ import annotations

from typing import Any
from uuid import uuid4

from demo.broker import LocalBroker
from engine.kafka.admin import KafkaAdmin
from engine.kafka.client_options import admin_settings, producer_settings
from engine.kafka.producer import KafkaProducer
from engine.pipeline.outcome import PendingError
from engine.pipeline.produce_stage import WRITTEN, OutputRecord, RecordWriter
from engine.record.record import Record, TopicPartition
from tests.broker.connector import read_all
from tests.engine.pipeline.test_produce_stage import guard
from tests.fakes import raw
from tests.support.topics import codec


def test_of_a_hundred_records_the_broker_loses_only_the_one_that_is_too_large(broker: str) -> None:
    client, topic = {"bootstrap.servers": broker}, f"small-{uuid4().hex[:8]}"
    KafkaAdmin(admin_settings(client)).create_topic(topic, 1, 1, {"max.message.bytes": "3000"})
    values = [b"%d" % number for number in range(100)]
    values[41] = b"x" * 20_000
    records = [
        OutputRecord(topic, 0, None, None, value, (), raw(place), Record(topic, None, None, None, value))
        for place, value in enumerate(values)
    ]
    producer = KafkaProducer(producer_settings(client, {"compression.type": "none"}))
    answers = RecordWriter(producer, guard(), 1).write(records)
    producer.close()
    errors = [answer for answer in answers if isinstance(answer, PendingError)]
    assert [error.origin for error in errors] == [raw(41)]
    assert "MSG_SIZE_TOO_LARGE" in errors[0].context.message
    assert answers.count(WRITTEN) == 99
    written = [record.value for record in read_all(broker, TopicPartition(topic, 0))]
    assert written == values[:41] + values[42:]


def test_records_are_written_without_compression_unless_an_option_asks_for_it(own_broker: LocalBroker) -> None:
    client = {"bootstrap.servers": own_broker.bootstrap_servers}
    topics = {name: f"t-{uuid4().hex}" for name in ("", "gzip")}
    for name, topic in topics.items():
        KafkaAdmin(admin_settings(client)).create_topic(topic, 1, 1)
        producer = KafkaProducer(producer_settings(client, {"compression.type": name} if name else {}))
        producer.produce(topic, None, b"x" * 5000)
        producer.flush()
        producer.close()
    assert [codec(own_broker.home, topic) for topic in topics.values()] == [0, 1]


def test_a_record_that_the_client_itself_refuses_is_the_only_one_that_is_not_written(broker: str) -> None:
    client, topic = {"bootstrap.servers": broker}, f"odd-{uuid4().hex[:8]}"
    KafkaAdmin(admin_settings(client)).create_topic(topic, 1, 1)
    given = Record(topic, None, None, None, None)
    odd: list[Any] = [(None, 0, ()), (topic, 0, (("h", 1),)), ("", 0, ()), (topic, "p", ())]
    good = (topic, 0, (("h", None),))
    records = [
        OutputRecord(name, partition, None, None, b"%d" % place, headers, raw(place), given)
        for place, (name, partition, headers) in enumerate([good, *odd, good])
    ]
    producer = KafkaProducer(producer_settings(client))
    answers = RecordWriter(producer, guard(), 1).write(records)
    producer.close()
    assert [type(answer).__name__ for answer in answers] == ["Delivered", *["PendingError"] * len(odd), "Delivered"]
    assert [record.value for record in read_all(broker, TopicPartition(topic, 0))] == [b"0", b"5"]
