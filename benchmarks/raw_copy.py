"""Copy by hand, as fast as Python can.

Usage: `python -m benchmarks.raw_copy bootstrap group source target partition…`.

The loop consumes a chunk, passes it to `produce_batch`, and flushes and commits each second (at
least once), forever. There are no headers, converters, retries or dead letters: only librdkafka and
the broker remain.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import NoReturn

from confluent_kafka import Consumer, Message, Producer, TopicPartition

CHUNK = 2000
COMMIT_S = 1.0
CONSUMER = {
    "fetch.queue.backoff.ms": 2,
    "fetch.min.bytes": 100_000,
    "queued.max.messages.kbytes": 65_536,
    "fetch.message.max.bytes": 10_000_000,
    "auto.offset.reset": "earliest",
    "enable.auto.commit": False,
}
PRODUCER = {"linger.ms": 20, "delivery.report.only.error": True}


def copy(bootstrap: str, group: str, source: str, target: str, partitions: Sequence[int]) -> NoReturn:
    """Copy these partitions until the process is ended."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, **CONSUMER})
    producer = Producer({"bootstrap.servers": bootstrap, **PRODUCER})
    consumer.assign([TopicPartition(source, partition, 0) for partition in partitions])
    due = time.monotonic() + COMMIT_S
    while True:
        messages = consumer.consume(CHUNK, 0.1)
        if messages:
            _produce(producer, target, messages)
        if time.monotonic() > due:
            producer.flush()
            _commit(consumer)
            due = time.monotonic() + COMMIT_S


def _commit(consumer: Consumer) -> None:
    places = [place for place in consumer.position(consumer.assignment()) if place.offset >= 0]
    if places:
        consumer.commit(offsets=places, asynchronous=False)


def _produce(producer: Producer, target: str, messages: Sequence[Message]) -> None:
    batch = [{"key": message.key(), "value": message.value()} for message in messages]
    while batch:
        producer.produce_batch(target, batch)
        batch = [message for message in batch if message.pop("_error", None)]
        producer.poll(0.01 if batch else 0)


if __name__ == "__main__":
    servers, own_group, read, written, *numbers = sys.argv[1:]
    copy(servers, own_group, read, written, list(map(int, numbers)))
