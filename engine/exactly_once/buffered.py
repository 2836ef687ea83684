"""Records as they are given to a producer, kept until they are to be written."""

from __future__ import annotations

import msgspec

from engine.ports import Producer
from engine.record.record import Headers


class Written(msgspec.Struct, frozen=True, gc=False):
    """A record as it was given to the producer."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp: int | None
    partition: int | None


class Buffered:
    """A producer that keeps what it is given until `flush`: those who share a transaction don't mix their ordinals."""

    def __init__(self, producer: Producer) -> None:
        self._producer = producer
        self._waiting: list[Written] = []

    def produce(
        self,
        topic: str,
        key: bytes | None,
        value: bytes | None,
        headers: Headers = (),
        timestamp: int | None = None,
        partition: int | None = None,
    ) -> None:
        self._waiting.append(Written(topic, key, value, headers, timestamp, partition))

    def flush(self) -> None:
        waiting = self._waiting
        for one in waiting:
            self._producer.produce(one.topic, one.key, one.value, one.headers, one.timestamp, one.partition)
        self._waiting = []  # not before: a transaction may refuse to begin
        if waiting:
            self._producer.flush()

    def clear(self) -> None:
        """Forget what waits."""
        self._waiting = []

    def close(self) -> None:
        """The producer is somebody else's."""
