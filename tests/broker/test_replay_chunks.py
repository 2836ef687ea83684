"""A chunk and its one transaction: what is refused is told apart from a broker that is away."""

from __future__ import annotations

import os
import uuid
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from dlqadmin.broker import topics
from dlqadmin.broker.transactions import ChunkProducer, OutboundRecord, ProgressCommit, RecordsRejected
from tests.broker.test_replay_bytes import Target


@pytest.mark.django_db
@pytest.mark.parametrize("at", [0, 10, 100])
def test_a_record_refused_while_others_are_still_handed_over_is_named(broker: str, settings: Any, at: int) -> None:
    settings.KAFKA_BOOTSTRAP_SERVERS = broker
    target = Target(broker, {"max.message.bytes": "20000", "compression.type": "uncompressed"})
    big, small = os.urandom(3_000_000), os.urandom(8000)
    records = [OutboundRecord(target.name, 0, b"k", big if n == at else small, ()) for n in range(500)]
    for _ in range(4):
        name = uuid.uuid4().hex
        with ChunkProducer(name) as producer:
            producer.fence()
            with pytest.raises(RecordsRejected) as refused:
                producer.write(records, ProgressCommit(name, target.name, 500))
        assert refused.value.records
    assert target.records() == []


def test_a_first_chunk_and_a_second_leave_their_progress(broker: str, settings: Any) -> None:
    settings.KAFKA_BOOTSTRAP_SERVERS = broker
    target, name = Target(broker), uuid.uuid4().hex
    seen = []
    with ChunkProducer(name) as producer:
        producer.fence()
        for after in (1, 2):
            producer.write([OutboundRecord(target.name, 0, b"k", b"v", ())], ProgressCommit(name, target.name, after))
            seen.append(topics.committed(name, [(target.name, 0)]))
    assert seen == [{(target.name, 0): 1}, {(target.name, 0): 2}]


def test_a_coordinator_that_is_being_moved_is_asked_again() -> None:
    answers: list[KafkaException | str] = [KafkaException(KafkaError(KafkaError.NOT_COORDINATOR)), "there"]
    waited: list[float] = []

    def ask() -> str:
        answer = answers.pop(0)
        if isinstance(answer, KafkaException):
            raise answer
        return answer

    assert (topics.patiently(ask, wait=waited.append), waited) == ("there", [topics.MOVED_WAIT_S])


def test_another_trouble_is_not_asked_again() -> None:
    def ask() -> None:
        raise KafkaException(KafkaError(KafkaError.GROUP_AUTHORIZATION_FAILED))

    with pytest.raises(KafkaException):
        topics.patiently(ask)
