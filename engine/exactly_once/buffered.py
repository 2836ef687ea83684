"""Records as they are given to a producer, kept until they are to be written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from engine.ports import Producer, Row
from engine.record.record import Headers


class Written(NamedTuple):
    """A Row of the producer's, its parts named."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp: int | None
    partition: int | None


class Keeping(Producer):
    """The first half of a producer: what is produced waits, in order, until somebody takes it."""

    def __init__(self) -> None:
        self._waiting: list[Written] = []

    def produce_all(self, rows: Sequence[Row]) -> None:
        self._waiting += map(Written._make, rows)

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
        if not self._waiting:
            return
        self._producer.produce_all(self._waiting)
        self.take()  # not before: a transaction may refuse to begin
        self._producer.flush()

    def clear(self) -> None:
        """Forget what waits."""
        self.take()

    def close(self) -> None:
        """The producer is somebody else's."""
