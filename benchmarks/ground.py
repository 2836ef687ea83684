"""The environment of a benchmark: a temporary folder, a broker and its topics."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import OffsetSpec
from confluent_kafka.cimpl import NewTopic

from demo.broker import LocalBroker

PARTITIONS = 4
# A run's topics are deleted after it, and must free their disk space at once.
OVERRIDES = {"log.segment.delete.delay.ms": "100", "log.initial.task.delay.ms": "1000"}
NOT_YET = {  # errors while a topic is being created
    KafkaError.UNKNOWN_TOPIC_OR_PART,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
}
BATCH = 5000
RUN = 100  # consecutive records in one partition


class BenchmarkSetup:
    """The broker and the folder of one benchmark."""

    def __init__(self, folder: Path, bootstrap: str) -> None:
        self.folder, self.bootstrap = folder, bootstrap
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})

    def create(self, topic: str, partitions: int = PARTITIONS) -> str:
        """Create a topic and return its name."""
        self._admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result()
        return topic

    def delete(self, topic: str) -> None:
        self._admin.delete_topics([topic])[topic].result()

    def fill(self, topic: str, values: Sequence[bytes], records: int, partitions: int = PARTITIONS) -> str:
        """Create a topic, write `records` records into it and return its name.

        The values repeat; the keys are the records' numbers.
        """
        self.create(topic, partitions)
        queue = {"linger.ms": 20, "queue.buffering.max.messages": 200_000}
        producer = Producer({"bootstrap.servers": self.bootstrap, **queue})
        for first in range(0, records, BATCH):
            numbers = range(first, min(first + BATCH, records))
            batch = [
                {"key": b"%d" % number, "value": values[number % len(values)], "partition": number // RUN % partitions}
                for number in numbers
            ]
            while batch:
                producer.produce_batch(topic, batch)
                batch = [message for message in batch if message.pop("_error", None)]
                if batch:  # the producer's queue is full
                    producer.poll(0.05)
        producer.flush()
        written = self.end(topic)
        if written != records:
            raise RuntimeError(f"{topic} has {written} records instead of {records}")
        return topic

    def end(self, topic: str, *, committed: bool = False) -> int:
        """Return the sum of the topic's end offsets; 0 while the topic does not exist.

        `committed` sums the last stable offsets. Transaction markers count too; use `count` for the number
        of records.
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
        """Return the number of records that a read_committed consumer finds."""
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
        """Raise RuntimeError if a read_committed consumer finds fewer records."""
        found = self.count(topic)
        if found < records:
            raise RuntimeError(f"{topic} has {found} of {records} records")

    def places(self, topic: str) -> list[TopicPartition]:
        """Return the topic's partitions; none while the topic does not exist."""
        known = self._admin.list_topics(topic, timeout=10).topics.get(topic)
        return [] if known is None else [TopicPartition(topic, number) for number in known.partitions]


@contextmanager
def ground() -> Iterator[BenchmarkSetup]:
    """Start a broker for this benchmark only, in a temporary folder that is deleted at the end."""
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    broker = LocalBroker(folder / "broker", overrides=OVERRIDES)
    try:
        broker.start()
        yield BenchmarkSetup(folder, broker.bootstrap_servers)
    finally:
        broker.stop()
        shutil.rmtree(folder)
