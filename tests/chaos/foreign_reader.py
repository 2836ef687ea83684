"""An application that is none of the engine's: it reads a topic, and writes a dead letter for one record in ten.

`python -m tests.chaos.foreign_reader <servers> <topic> <dead letter topic> <group> [<late by, in s>]`. It commits only
what it has dead letters of, acknowledged; one that is told to be late commits first, and writes them afterwards.
"""

from __future__ import annotations

import struct
import sys
import time
from collections.abc import Sequence
from contextlib import closing

from confluent_kafka import Consumer, KafkaException, Message, Producer

from engine.record.replay import ITEM

FAILS_EVERY, FAILS_AT = 10, 7
SESSION_MS = 6000  # a member that was killed is missed after that
AGAIN_S = 0.5
QUIET = {"log_level": 0}
Headers = list[tuple[str, bytes]]


def ordinal(message: Message) -> int:
    """Which item of its replay the record says it is."""
    token = dict(message.headers() or ())[ITEM]
    assert isinstance(token, bytes)
    return int(token.rpartition(b"/")[2])


def fails(number: int) -> bool:
    return number % FAILS_EVERY == FAILS_AT


def main(servers: str, topic: str, dead_letters: str, group: str, late_s: float = 0) -> None:
    """Until it is killed; where Kafka troubles it, all is begun anew from what was committed."""
    while True:
        try:
            _read(servers, topic, dead_letters, group, late_s)
        except KafkaException:
            time.sleep(AGAIN_S)


def _read(servers: str, topic: str, dead_letters: str, group: str, late_s: float) -> None:
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True, **QUIET})
    options = {"group.id": group, "enable.auto.commit": False, "auto.offset.reset": "earliest"}
    limits = {"isolation.level": "read_committed", "session.timeout.ms": SESSION_MS}
    with closing(Consumer({"bootstrap.servers": servers, **options, **limits, **QUIET})) as consumer:
        consumer.subscribe([topic])
        owes = False
        while True:
            read = [message for message in consumer.consume(500, 0.5) if message.error() is None]
            failed = [message for message in read if fails(ordinal(message))]
            owes = owes or bool(read)
            if not late_s:
                _write(producer, dead_letters, group, failed)
            owes = owes and not _commit(consumer)
            if late_s and failed:
                time.sleep(late_s)
                _write(producer, dead_letters, group, failed)


def _write(producer: Producer, topic: str, group: str, failed: Sequence[Message]) -> None:
    """All of them are there on return. Raises KafkaException."""
    acknowledged: list[bool] = []
    for message in failed:
        headers = [*(message.headers() or ()), *_context(message, group)]
        producer.produce(
            topic, message.value(), message.key(), headers=headers,
            on_delivery=lambda error, _: acknowledged.append(error is None),
        )  # fmt: skip
    producer.flush()
    if sum(acknowledged) < len(failed):
        raise KafkaException("a dead letter was not taken")


def _commit(consumer: Consumer) -> bool:
    """All that was consumed; one that fails is tried again with the next, or what it was of is read again."""
    try:
        consumer.commit(asynchronous=False)
    except KafkaException:
        return False
    return True


def _context(message: Message, group: str) -> Headers:
    """By turns as Spring's recoverer tells it, and as Kafka Connect does; both name the group."""
    topic, partition, offset = message.topic() or "", message.partition() or 0, message.offset() or 0
    if ordinal(message) // FAILS_EVERY % 2:
        return [
            ("kafka_dlt-original-topic", topic.encode()),
            ("kafka_dlt-original-partition", struct.pack(">i", partition)),
            ("kafka_dlt-original-offset", struct.pack(">q", offset)),
            ("kafka_dlt-original-consumer-group", group.encode()),
            ("kafka_dlt-exception-fqcn", b"billing.Refused"),
            ("kafka_dlt-exception-message", b"no such account"),
        ]
    told = {
        "topic": topic,
        "partition": str(partition),
        "offset": str(offset),
        "connector.name": group,
        "exception.class.name": "billing.Refused",
        "exception.message": "no such account",
    }
    return [(f"__connect.errors.{name}", text.encode()) for name, text in told.items()]


if __name__ == "__main__":
    given = sys.argv[1:]
    main(given[0], given[1], given[2], given[3], *map(float, given[4:5]))
