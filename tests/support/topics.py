"""What stands in a topic, and one more record in it."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple, cast

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

POLL_S = 20
Headers = tuple[tuple[str, bytes | None], ...]


class Record(NamedTuple):
    """One record of a topic."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp: int = -1

    def header(self, name: str) -> bytes | None:
        """The last header of that name."""
        return dict(self.headers).get(name)


def codec(home: Path, topic: str) -> int:
    """Return the compression codec of the first batch of partition 0, from the broker's directory; 0 is none.

    The low three bits of a batch's attributes hold it: https://kafka.apache.org/documentation/#recordbatch
    """
    (segment,) = Path(home, "data", f"{topic}-0").glob("*.log")
    attributes = int.from_bytes(segment.read_bytes()[21:23], "big")
    return attributes & 0b111


def read(bootstrap_servers: str, topic: str) -> list[Record]:
    """Return every committed record of a topic, partition by partition."""
    settings = {"bootstrap.servers": bootstrap_servers, "group.id": "test", "enable.partition.eof": True}
    settings |= {"fetch.wait.max.ms": 10}  # the client reports the end only when a fetch has come back empty
    consumer = Consumer({**settings, "enable.auto.commit": False, "isolation.level": "read_committed"})
    try:
        partitions = consumer.list_topics(topic, timeout=POLL_S).topics[topic].partitions
        consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
        records, open_partitions = [], set(partitions)
        while open_partitions:
            message = consumer.poll(POLL_S)
            if message is None:
                raise TimeoutError(f"{topic} was not read to its end")
            if ended(message):
                open_partitions.discard(message.partition())
            else:
                records.append(record(message))
    finally:
        consumer.close()
    return sorted(records, key=lambda one: (one.partition, one.offset))


def create(bootstrap_servers: str, topic: str) -> None:
    """Create a topic of one partition."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers})
    admin.create_topics([NewTopic(topic, 1, 1)])[topic].result()


def send(bootstrap_servers: str, topic: str, key: bytes, value: bytes, headers: Headers = ()) -> None:
    """Write one record; it is in the topic on return."""
    producer = Producer({"bootstrap.servers": bootstrap_servers, "log_level": 2})
    producer.produce(topic, key=key, value=value, headers=list(headers))
    if producer.flush(POLL_S):
        raise TimeoutError(f"{topic} did not take the record")


def ended(message: Message) -> bool:
    """Tell whether this is the end of a partition; raise what else the client reports."""
    error = message.error()
    if error is not None and error.code() != KafkaError._PARTITION_EOF:
        raise KafkaException(error)
    return error is not None


def record(message: Message) -> Record:
    """Return the client's message as a value."""
    headers = cast("Headers", tuple(message.headers() or ()))  # a consumer tells pairs, whatever its types allow
    at_ms = message.timestamp()[1]
    return Record(message.partition() or 0, message.offset() or 0, message.key(), message.value(), headers, at_ms)
