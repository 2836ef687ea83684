"""The client's producer before a cluster that librdkafka itself plays."""

from __future__ import annotations

from typing import Any

import pytest

from engine.connectors.mirror.clients import Offsets, OffsetTrackingProducer
from engine.errors import FailureType, ProduceFailed
from engine.kafka.producer import KafkaProducer
from engine.ports import Row
from engine.record.record import TopicPartition

CLUSTER = {"test.mock.num.brokers": "1", "log_level": "0", "enable.idempotence": "true"}
LARGE = b"x" * 2000

pytestmark = pytest.mark.slow  # librdkafka asks for its producer id after half a second


def rows(*values: Any, partition: int = 0) -> list[Row]:
    return [("t", None, value, (), None, partition) for value in values]


def failure(producer: KafkaProducer) -> ProduceFailed:
    with pytest.raises(ProduceFailed) as caught:
        producer.flush()
    return caught.value


def test_a_queue_that_is_full_part_way_takes_the_rest_when_there_is_room() -> None:
    written: Offsets = {}
    producer = OffsetTrackingProducer({**CLUSTER, "queue.buffering.max.messages": "10"}, written)
    producer.produce_all(rows(*[b"%d" % number for number in range(57)]))
    producer.flush()
    assert written == {TopicPartition("t", 0): (0, 56)}


def test_a_failure_names_its_records_by_their_place_since_the_last_flush() -> None:
    producer = KafkaProducer({**CLUSTER, "message.max.bytes": "1000"})
    producer.produce("t", None, b"a")
    producer.produce_all(rows(b"b", LARGE, b"c"))
    producer.produce("t", None, LARGE, (("h", b"1"),))
    producer.produce_all([*rows(b"d"), *rows(b"e", partition=70)])
    failed = failure(producer)
    assert failed.ordinals == (2, 4, 6)
    assert [why.split(":")[0] for _, why in failed.failures] == [
        "MSG_SIZE_TOO_LARGE", "MSG_SIZE_TOO_LARGE", "_UNKNOWN_PARTITION",
    ]  # fmt: skip
    producer.produce_all(rows(b"f", LARGE))
    assert failure(producer).ordinals == (1,)
    producer.flush()


@pytest.mark.parametrize(
    ("row", "why"),
    [
        (("t", None, b"1", (("h", 5),), None, 0), "expected header value"),
        (("t", None, b"1", (), 2**70, 0), "int too big"),
        (("t\ud800", None, b"1", (), None, 0), "surrogates"),
        ((None, None, b"1", (), None, 0), "must be str"),
    ],
)
def test_a_record_that_no_client_takes_leaves_the_others_alone(row: Any, why: str) -> None:
    written: Offsets = {}
    producer = OffsetTrackingProducer(CLUSTER, written)
    producer.produce_all([*rows(b"1"), row, *rows(b"2")])
    failed = failure(producer)
    assert (failed.ordinals, failed.type) == ((1,), FailureType.MESSAGE_REJECTED)
    assert why in failed.failures[0][1]
    assert written == {TopicPartition("t", 0): (0, 1)}


def test_a_record_that_the_queue_never_has_room_for_leaves_the_others_alone() -> None:
    producer = KafkaProducer({**CLUSTER, "message.max.bytes": "1000000", "queue.buffering.max.kbytes": "1"})
    producer.produce_all(rows(b"1", LARGE, b"2"))
    failed = failure(producer)
    assert (failed.ordinals, failed.type) == ((1,), FailureType.MESSAGE_REJECTED)
    assert "queue.buffering.max.kbytes" in failed.failures[0][1]


def test_what_no_broker_took_in_time_may_be_tried_again() -> None:
    away = {"bootstrap.servers": "127.0.0.1:1", "log_level": "0", "message.timeout.ms": "300"}
    producer = KafkaProducer(away)
    producer.produce_all(rows(b"1", b"2", b"3"))
    failed = failure(producer)
    assert (failed.ordinals, failed.retriable) == ((0, 1, 2), True)


def test_offsets_are_told_of_the_first_and_the_last_record_of_each_partition() -> None:
    written: Offsets = {}
    producer = OffsetTrackingProducer(CLUSTER, written)
    producer.produce_all([*rows(b"1", b"2"), *rows(b"3", partition=1), *rows(b"4", b"5")])
    producer.produce_all(rows(b"6", b"7", b"8", partition=1))
    producer.flush()
    assert written == {TopicPartition("t", 0): (0, 3), TopicPartition("t", 1): (0, 3)}


def test_who_forgets_hears_how_many_failed_and_the_next_flush_knows_of_none() -> None:
    producer = KafkaProducer({**CLUSTER, "message.max.bytes": "1000"})
    producer.produce_all(rows(b"a", LARGE))
    assert [producer.forget(), producer.forget()] == [1, 0]
    producer.produce_all(rows(b"b"))
    producer.flush()
