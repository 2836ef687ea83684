"""A compacted topic of one partition as a log: replay it, follow its tail, append to it."""

from __future__ import annotations

from collections.abc import Iterable

from engine.config.topic import KeyValue
from engine.errors import EngineError, RetriableError
from engine.ports import Consumer, Producer
from engine.record.record import TopicPartition

POLL_S = 0.1
IDLE_TIMEOUT_S = 10
Row = tuple[bytes | None, bytes | None]


class TopicLog:
    """Reads and writes one topic; reading starts at its beginning."""

    def __init__(self, topic: str, consumer: Consumer, producer: Producer) -> None:
        self._at = TopicPartition(topic, 0)
        self._consumer = consumer
        self._producer = producer
        self._reading = False

    def read_to_end(self) -> list[Row]:
        """Every row not read yet, up to the end as it is now; after trouble, from the beginning again."""
        if not self._reading:
            self._consumer.assign(self._consumer.begin_offsets([self._at]))
            self._reading = True
        end = self._consumer.end_offsets([self._at])[self._at]
        rows: list[Row] = []
        idle = 0
        while self._consumer.positions().get(self._at, 0) < end:
            fetched = self._poll(POLL_S)
            rows += fetched
            idle = 0 if fetched else idle + 1
            if idle * POLL_S > IDLE_TIMEOUT_S:
                self._reading = False
                raise RetriableError(f"topic {self._at.topic} could not be read to its end at {end}")
        return rows

    def tail(self) -> list[Row]:
        """What has arrived since, without waiting."""
        return self._poll(0) if self._reading else self.read_to_end()

    def stop_reading(self) -> None:
        """Only appending from here on."""
        self._consumer.assign({})
        self._reading = False

    def append(self, rows: Iterable[KeyValue]) -> None:
        """Write the rows in order; they are durable on return."""
        for key, value in rows:
            self._producer.produce(self._at.topic, key, value, partition=0)
        self._producer.flush()

    def close(self) -> None:
        self._consumer.close()
        self._producer.close()

    def _poll(self, timeout_s: float) -> list[Row]:
        try:
            return [(record.key, record.value) for record in self._consumer.poll(1000, timeout_s)]
        except EngineError:
            # Rows may have been fetched and not returned: nothing read so far can be trusted to be whole.
            self._reading = False
            raise
