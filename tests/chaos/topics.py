"""Topics of a run: numbered records into one, and what a read_committed reader finds in another."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from contextlib import closing

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

QUIET = {"log_level": 0}
READ_TIMEOUT_S = 60
CREATE_TIMEOUT_S = 60
WRITE_TIMEOUT_S = 120
BAD_EVERY, BIG_EVERY = 37, 211
MAX_BYTES = 10_000  # of a record in a topic that is written to; a big one is larger
PAD = random.Random(0).randbytes(2 * MAX_BYTES).hex()  # no compression makes it small

Lanes = dict[int, list[Message]]


def create(bootstrap_servers: str, name: str, partitions: int = 1, config: Mapping[str, str] | None = None) -> None:
    """Create a topic, however often the broker goes away meanwhile."""
    admin = AdminClient({"bootstrap.servers": bootstrap_servers, **QUIET})
    deadline = time.monotonic() + CREATE_TIMEOUT_S
    while True:
        try:
            admin.create_topics([NewTopic(name, partitions, -1, config=dict(config or {}))])[name].result(10)
        except KafkaException as error:
            if error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS:
                return
            if time.monotonic() > deadline:
                raise
        else:
            return


class Input:
    """A topic with numbered records: `{"p": partition, "n": number}`, some bad JSON, some too big to be written on."""

    def __init__(self, bootstrap_servers: str, topic: str, partitions: int) -> None:
        self.topic = topic
        self.counts = [0] * partitions
        self._producer = Producer(
            {"bootstrap.servers": bootstrap_servers, "enable.idempotence": True, "batch.num.messages": 20, **QUIET}
        )
        create(bootstrap_servers, topic, partitions)

    def write(self, count: int, *, with_bad: bool = False, with_big: bool = False) -> None:
        """So many more into each partition; all are there on return."""
        for partition, first in enumerate(self.counts):
            for number in range(first, first + count):
                value = numbered(partition, number)
                if with_bad and is_bad(number):
                    value = value[:-1]
                elif with_big and is_big(number):
                    value = value[:-1] + f',"pad":"{PAD}"}}'.encode()
                self._producer.produce(self.topic, value, key=str(partition), partition=partition)
            self.counts[partition] += count
        if self._producer.flush(WRITE_TIMEOUT_S):
            raise TimeoutError(f"{self.topic} did not take its input within {WRITE_TIMEOUT_S} s")


def numbered(partition: int, number: int) -> bytes:
    return b'{"p":%d,"n":%d}' % (partition, number)


def is_bad(number: int) -> bool:
    return number % BAD_EVERY == 5


def is_big(number: int) -> bool:
    return number % BIG_EVERY == 100


class Reader:
    """What is committed in a topic; each `read` adds what has arrived since."""

    def __init__(self, bootstrap_servers: str, topic: str, isolation: str = "read_committed") -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap_servers,
                "group.id": "chaos-reader",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
                "isolation.level": isolation,
                "fetch.wait.max.ms": 50,
                **QUIET,
            }
        )
        self._topic = topic
        self._lanes: Lanes = {}

    def read(self) -> Lanes:
        """Every record by partition, up to its end as a read_committed reader sees it."""
        self._assign()
        open_partitions = set(self._lanes)
        deadline = time.monotonic() + READ_TIMEOUT_S
        while open_partitions:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self._topic} was not read to its end within {READ_TIMEOUT_S} s")
            for message in self._consumer.consume(1000, 0.2):
                error = message.error()
                if error is None:
                    self._lanes[message.partition() or 0].append(message)
                elif error.code() == KafkaError._PARTITION_EOF:
                    open_partitions.discard(message.partition() or 0)
        return self._lanes

    def close(self) -> None:
        self._consumer.close()

    def _assign(self) -> None:
        """Go on behind what is read; an end of a partition is told once only after each assignment."""
        found = self._consumer.list_topics(self._topic, READ_TIMEOUT_S).topics[self._topic].partitions
        for partition in found:
            self._lanes.setdefault(partition, [])
        self._consumer.assign([TopicPartition(self._topic, at, _next(lane)) for at, lane in self._lanes.items()])


def read_once(bootstrap_servers: str, topic: str) -> Lanes:
    """All that is committed, by a reader of its own."""
    with closing(Reader(bootstrap_servers, topic)) as reader:
        return reader.read()


def end_offset(bootstrap_servers: str, topic: str) -> int:
    """The sum of the ends of a topic's partitions, open transactions included; −1 when nobody answers."""
    consumer = Consumer({"bootstrap.servers": bootstrap_servers, "group.id": "chaos-ends", **QUIET})
    try:
        partitions = consumer.list_topics(topic, 2).topics[topic].partitions
        return sum(consumer.get_watermark_offsets(TopicPartition(topic, one), 2)[1] for one in partitions)
    except KafkaException:
        return -1
    finally:
        consumer.close()


def _next(lane: list[Message]) -> int:
    return (lane[-1].offset() or 0) + 1 if lane else 0
