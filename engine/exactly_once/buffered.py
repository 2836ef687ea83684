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

    def to(self, producer: Producer) -> None:
        """Give it to a producer."""
        producer.produce(self.topic, self.key, self.value, self.headers, self.timestamp, self.partition)


class Keeping:
    """The first half of a producer: what is produced waits, in order, until somebody takes it."""

    def __init__(self) -> None:
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

    def take(self) -> list[Written]:
        """What waits, from now on somebody else's."""
        waiting, self._waiting = self._waiting, []
        return waiting


class Buffered(Keeping):
    """A producer that keeps what it is given until `flush`: those who share a transaction don't mix their ordinals."""

    def __init__(self, producer: Producer) -> None:
        super().__init__()
        self._producer = producer

    def flush(self) -> None:
        for one in self._waiting:
            one.to(self._producer)
        if self.take():  # not before: a transaction may refuse to begin
            self._producer.flush()

    def clear(self) -> None:
        """Forget what waits."""
        self.take()

    def close(self) -> None:
        """The producer is somebody else's."""
