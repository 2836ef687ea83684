"""What a benchmark stands on: a temporary folder, a broker of its own, and topics in it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from demo.broker import Broker

PARTITIONS = 4
# What a run has written is deleted after it, and its place on the disk is free at once.
OVERRIDES = {"log.segment.delete.delay.ms": "100", "log.initial.task.delay.ms": "1000"}
NOT_YET = {  # of a topic that is being made
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
}
BATCH = 5000
RUN = 100  # records one after another in one partition


class Ground:
    """The broker and the folder of one benchmark."""

    def __init__(self, folder: Path, bootstrap: str) -> None:
        self.folder, self.bootstrap = folder, bootstrap
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})

    def create(self, topic: str, partitions: int = PARTITIONS) -> str:
        """Create a topic; its name."""
        self._admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result()
        return topic

    def delete(self, topic: str) -> None:
        self._admin.delete_topics([topic])[topic].result()

    def fill(self, topic: str, values: Sequence[bytes], records: int) -> str:
        """Create the topic and write so many records, the values over and over, keyed by their number; its name."""
        self.create(topic)
        queue = {"linger.ms": 20, "queue.buffering.max.messages": 200_000}
        producer = Producer({"bootstrap.servers": self.bootstrap, **queue})
        for first in range(0, records, BATCH):
            numbers = range(first, min(first + BATCH, records))
            batch = [
                {"key": b"%d" % number, "value": values[number % len(values)], "partition": number // RUN % PARTITIONS}
                for number in numbers
            ]
            while batch:
                producer.produce_batch(topic, batch)
                batch = [message for message in batch if message.pop("_error", None)]
                if batch:  # the queue is full
                    producer.poll(0.05)
        producer.flush()
        written = self.end(topic)
        if written != records:
            raise RuntimeError(f"{topic} has {written} records instead of {records}")
        return topic

    def end(self, topic: str, *, committed: bool = False) -> int:
        """The sum of the topic's end offsets, 0 while the topic is not there yet; `committed`: last stable ones.

        Markers of transactions count, too: see `count`.
        """
        level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        places = {place: OffsetSpec.latest() for place in self.places(topic)}
        if not places:
            return 0
        try:
            return sum(row.result().offset for row in self._admin.list_offsets(places, isolation_level=level).values())
        except KafkaException as error:
            if error.args[0].code() in NOT_YET:
                return 0
            raise

    def count(self, topic: str) -> int:
        """How many records a reader of committed ones finds."""
        options = {"bootstrap.servers": self.bootstrap, "group.id": topic, "enable.partition.eof": True}
        reader = Consumer({**options, "fetch.queue.backoff.ms": 2, "isolation.level": "read_committed"})
        places = self.places(topic)
        reader.assign([TopicPartition(place.topic, place.partition, 0) for place in places])
        ended: set[int | None] = set()
        found = 0
        while len(ended) < len(places):
            for message in reader.consume(10_000, 1):
                if message.error() is None:
                    found += 1
                else:
                    ended.add(message.partition())
        reader.close()
        return found

    def expect_all(self, topic: str, records: int) -> None:
        """Raise RuntimeError when a reader of committed records does not find so many."""
        found = self.count(topic)
        if found < records:
            raise RuntimeError(f"{topic} has {found} of {records} records")

    def places(self, topic: str) -> list[TopicPartition]:
        """The topic's partitions, none while there is no such topic."""
        known = self._admin.list_topics(topic, timeout=10).topics.get(topic)
        return [] if known is None else [TopicPartition(topic, number) for number in known.partitions]


@contextmanager
def ground() -> Iterator[Ground]:
    """A broker that nobody else uses, in a folder that is deleted with all in it."""
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    broker = Broker(folder / "broker", overrides=OVERRIDES)
    try:
        broker.start()
        yield Ground(folder, broker.bootstrap_servers)
    finally:
        broker.stop()
        shutil.rmtree(folder)
