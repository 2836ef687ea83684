"""A compacted topic with one partition as a log: replay it, follow its tail, append to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from engine.config.topic import KeyValue
from engine.errors import EngineError, RetriableError
from engine.ports import Consumer, Producer
from engine.record.record import TopicPartition

POLL_S = 0.1
POLL_ROWS = 1000
MOST_POLLS = 100  # polls per look: a writer that is faster than this reader must not block it
IDLE_TIMEOUT_S = 10
Row = tuple[bytes | None, bytes | None]


class TopicLog:
    """A reader and writer of one topic. Reading starts at the beginning."""

    def __init__(self, topic: str, consumer: Consumer, producer: Producer) -> None:
        self._at = TopicPartition(topic, 0)
        self._consumer = consumer
        self._producer = producer
        self._reading = False

    def read_to_end(self) -> list[Row]:
        """Return every unread row up to the current end. After an error, read from the beginning again."""
        if not self._reading:
            self._consumer.assign(self._consumer.begin_offsets([self._at]))
            self._reading = True
        end = self._consumer.end_offsets([self._at])[self._at]
        return self._read_until(
            lambda _: self._consumer.positions().get(self._at, 0) >= end, [], f"its end at offset {end}"
        )

    def read_back(self, written: KeyValue) -> list[Row]:
        """Return every unread row up to the end, including this row, which was appended.

        A transaction may be committed before its marker is in the log. Until then the end does not pass its record.
        """
        return self._read_until(lambda rows: written in rows, self.read_to_end(), "the record written last")

    def rewind(self) -> None:
        """Read from the beginning next time."""
        self._reading = False

    def tail(self) -> list[Row]:
        """Return the rows that have arrived since, without waiting."""
        return self._poll(0) if self._reading else self.read_to_end()

    def read_new(self) -> Iterator[Row]:
        """Yield the rows that have arrived since. Rows may be missed: after an error it goes on at its position.

        Most rows of the status topic were written by the reader itself. Other writers' rows come after them.
        """
        for _ in range(MOST_POLLS):
            rows = self._fetch(0)
            yield from rows
            if len(rows) < POLL_ROWS:
                return

    def append(self, rows: Iterable[KeyValue]) -> None:
        """Write the rows in order. They are durable on return."""
        for key, value in rows:
            self._producer.produce(self._at.topic, key, value, partition=0)
        self._producer.flush()

    def close(self) -> None:
        self._consumer.close()
        self._producer.close()

    def _read_until(self, done: Callable[[list[Row]], bool], rows: list[Row], goal: str) -> list[Row]:
        idle = 0
        while not done(rows):
            fetched = self._poll(POLL_S)
            rows += fetched
            idle = 0 if fetched else idle + 1
            if idle * POLL_S > IDLE_TIMEOUT_S:
                # The caller never gets the rows read so far, so the next read begins at the first row again.
                self._reading = False
                raise RetriableError(
                    f"topic {self._at.topic} could not be read to {goal}: no record arrived for {IDLE_TIMEOUT_S} s"
                )
        return rows

    def _poll(self, timeout_s: float) -> list[Row]:
        try:
            return self._fetch(timeout_s)
        except EngineError:
            # Rows may have been fetched but not returned, so the rows read so far may be incomplete.
            self._reading = False
            raise

    def _fetch(self, timeout_s: float) -> list[Row]:
        return [(record.key, record.value) for record in self._consumer.poll(POLL_ROWS, timeout_s)]
