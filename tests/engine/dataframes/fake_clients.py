"""Clients of the in-memory Kafka for the data source, which note what is read."""

from __future__ import annotations

from collections.abc import Sequence

from engine.dataframes.deadletters_options import SourceSettings, read_options
from engine.ports import Consumer
from engine.record.record import RawRecord
from tests.support.fake_kafka import FakeAdmin, FakeConsumer, FakeKafka

FIRST_MS = 1_700_000_000_000


class ReadingConsumer(FakeConsumer):
    """A consumer that notes the topic, partition and offset of each record that it returns."""

    def __init__(self, kafka: FakeKafka, polled: list[tuple[str, int, int]]) -> None:
        super().__init__(kafka, "test", committed=True)
        self._polled = polled

    def poll(self, max_records: int, timeout_s: float) -> list[RawRecord]:
        found = super().poll(max_records, timeout_s)
        self._polled += [(one.topic, one.partition, one.offset) for one in found]
        return found


class FakeClients:
    """The port SourceClients."""

    def __init__(self, kafka: FakeKafka) -> None:
        self.kafka = kafka
        self.polled: list[tuple[str, int, int]] = []

    def topics(self) -> FakeAdmin:
        return self.kafka.admin()

    def consumer(self) -> Consumer:
        return ReadingConsumer(self.kafka, self.polled)


def send(kafka: FakeKafka, topic: str, offsets: Sequence[int], partition: int = 0) -> None:
    """Write a record for each of these offsets: its key is the offset, its time that many seconds after the first."""
    producer = kafka.producer()
    for at in offsets:
        producer.produce(topic, b"%d" % at, b"value", (), FIRST_MS + at * 1000, partition)
    producer.flush()


def settings(**options: str) -> SourceSettings:
    """Return settings for `orders.dlq`, with these options beside those that are required."""
    chosen = {} if "subscribePattern" in options else {"subscribe": "orders.dlq"}
    return read_options({"kafka.bootstrap.servers": "fake:9092", **chosen, **options})
